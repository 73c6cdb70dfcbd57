"""People to test with: added and signed in through the real services and pages."""

from collections.abc import Callable
from typing import Final

from django.test import Client

from accounts import services
from accounts.models import Person
from accounts.services import LinkIssued
from runtime.access import Role

PASSWORD: Final = "correct horse battery"
type AddPerson = Callable[..., Person]


def add_person(sign_name: str, role: Role = Role.VIEWER, display_name: str = "") -> Person:
    """Add somebody who has set `PASSWORD` by their link."""
    secret = secret_of(services.add_person(sign_name, display_name or sign_name, role, by="x"))
    person = services.redeem_link(secret, PASSWORD)
    assert isinstance(person, Person)
    return person


def signed_in(person: Person) -> Client:
    """A browser of this person's, through the real sign-in page."""
    client = Client()
    answer = client.post("/sign-in/", {"username": person.sign_name, "password": PASSWORD})
    assert answer.status_code == 302
    return client


def secret_of(issued: object) -> str:
    """The secret of a link."""
    assert isinstance(issued, LinkIssued)
    return issued.path.removeprefix("/welcome/").removesuffix("/")
