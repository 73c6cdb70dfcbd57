"""What ends a session, and how soon."""

import pytest
from django.test import Client

from accounts import services
from accounts.models import Person
from runtime.access import Role
from tests.support.people import secret_of, signed_in

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.urls("tests.accounts.urls"),
]


def is_in(client: Client) -> bool:
    return client.get("/people/").status_code == 200


def test_a_removed_person_s_session_dies_with_the_next_request(
    admin: Person, viewer: Person
) -> None:
    client = signed_in(viewer)
    assert is_in(client)
    services.remove_person("vic", by="ada")
    assert not is_in(client)
    answer = client.post("/sign-in/", {"username": "vic", "password": "correct horse battery"})
    assert answer.status_code == 422


def test_signing_out_everywhere_ends_every_browser_and_nobody_else_s(
    admin: Person, viewer: Person
) -> None:
    here, there, other = signed_in(viewer), signed_in(viewer), signed_in(admin)
    assert here.post("/settings/me/sign-out-everywhere/").status_code == 302
    assert [is_in(here), is_in(there), is_in(other)] == [False, False, True]


def test_a_new_password_ends_the_sessions_of_the_old_one(viewer: Person) -> None:
    client = signed_in(viewer)
    secret = secret_of(services.reset_person("vic", by="ada"))
    assert is_in(client)
    services.redeem_link(secret, "another long password")
    assert not is_in(client)


def test_a_changed_role_holds_from_the_next_request_on(admin: Person, viewer: Person) -> None:
    client = signed_in(viewer)
    assert client.get("/people/add/").status_code == 403
    services.change_role("vic", Role.ADMIN, by="ada")
    assert client.get("/people/add/").status_code == 200


def test_somebody_of_the_same_name_does_not_inherit_a_session(
    admin: Person, viewer: Person
) -> None:
    client = signed_in(viewer)
    services.remove_person("vic", by="ada")
    services.add_person("vic", "Another Vic", Role.ADMIN, by="ada")
    assert not is_in(client)


def test_a_session_cookie_cannot_be_made_up(viewer: Person) -> None:
    client = signed_in(viewer)
    name = "crewlet_session"
    client.cookies[name] = client.cookies[name].value[:-3] + "abc"
    assert not is_in(client)


def test_a_session_is_meant_for_twelve_hours(viewer: Person) -> None:
    assert signed_in(viewer).cookies["crewlet_session"]["max-age"] == 43_200
