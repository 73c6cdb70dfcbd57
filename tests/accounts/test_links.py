"""One-time links: 24 hours, redeemed once, and only their hash is kept."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.changes import Because, IssueLink, NewLink, Refused
from accounts.minting import hash_of, mint_id
from accounts.models import Person, SignInLink
from accounts.people_writer import apply
from accounts.services import OpenLink, PasswordRefused
from runtime.access import Role
from tests.support.people import PASSWORD, secret_of

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.urls("tests.accounts.urls"),
]
NEW = "a password of its own"


def add() -> str:
    return secret_of(services.add_person("nia", "Nia", Role.VIEWER, by="ada"))


def expire(person: Person, secret: str) -> None:
    now = timezone.now()
    link = NewLink(
        link_id=mint_id(), secret_hash=hash_of(secret), expires_at=now - timedelta(seconds=1)
    )
    apply(IssueLink(person_id=person.pk, link=link, at=now, by="ada"))


def test_a_link_sets_the_password_and_signs_in() -> None:
    client = Client()
    answer = client.post(f"/welcome/{add()}/", {"password": NEW, "again": NEW})
    assert (answer.status_code, answer["Location"]) == (302, "/fleet/")
    assert client.get("/people/").status_code == 200


def test_a_replayed_link_is_gone_and_changes_nothing() -> None:
    secret = add()
    Client().post(f"/welcome/{secret}/", {"password": NEW, "again": NEW})
    before = Person.objects.get(sign_name="nia").password
    for answer in (
        Client().get(f"/welcome/{secret}/"),
        Client().post(f"/welcome/{secret}/", {"password": PASSWORD, "again": PASSWORD}),
    ):
        assert answer.status_code == 410
        assert "was used already" in answer.content.decode()
    assert Person.objects.get(sign_name="nia").password == before


def test_an_expired_link_is_gone(viewer: Person) -> None:
    expire(viewer, "expired-secret")
    assert services.redeem_link("expired-secret", NEW) == Refused(because=Because.LINK_EXPIRED)
    assert "has expired" in Client().get("/welcome/expired-secret/").content.decode()


def test_a_link_is_good_for_a_day() -> None:
    secret = add()
    link = services.look_at_link(secret)
    assert isinstance(link, OpenLink)
    left = link.expires_at - timezone.now()
    assert timedelta(hours=23, minutes=59) < left <= timedelta(hours=24)


def test_a_newer_link_ends_the_one_before_it() -> None:
    first = add()
    second = secret_of(services.reset_person("nia", by="ada"))
    assert services.redeem_link(first, NEW) == Refused(because=Because.LINK_SUPERSEDED)
    assert isinstance(services.redeem_link(second, NEW), Person)


def test_looking_at_a_link_does_not_use_it_up() -> None:
    secret = add()
    for _ in range(3):
        assert Client().get(f"/welcome/{secret}/").status_code == 200
    assert isinstance(services.redeem_link(secret, NEW), Person)


def test_a_link_of_a_removed_person_is_no_link(admin: Person) -> None:
    secret = add()
    services.remove_person("nia", by="ada")
    assert services.redeem_link(secret, NEW) == Refused(because=Because.NO_SUCH_LINK)
    assert Client().get(f"/welcome/{secret}/").status_code == 404


@pytest.mark.parametrize("secret", ["x", "a" * 1_000, "%00", "ü", "..%2f"])
def test_a_made_up_link_is_no_link(secret: str) -> None:
    assert Client().get(f"/welcome/{secret}/").status_code == 404


@pytest.mark.parametrize("password", ["short", "password1234", "123456789012345"])
def test_a_weak_password_is_refused_with_words_and_the_link_stays_good(password: str) -> None:
    secret = add()
    answer = Client().post(f"/welcome/{secret}/", {"password": password, "again": password})
    assert answer.status_code == 422
    assert isinstance(services.redeem_link(secret, password), PasswordRefused)
    assert isinstance(services.redeem_link(secret, NEW), Person)


def test_two_different_passwords_are_refused_and_the_link_stays_good() -> None:
    secret = add()
    answer = Client().post(f"/welcome/{secret}/", {"password": NEW, "again": PASSWORD})
    assert "The two passwords differ." in answer.content.decode()
    assert isinstance(services.look_at_link(secret), OpenLink)


def test_only_the_hash_of_a_link_is_kept() -> None:
    secret = add()
    row = SignInLink.objects.values().get()
    assert secret not in str(row)
    assert row["secret_hash"] == hash_of(secret)


@pytest.mark.django_db(transaction=True, databases=["default", "estate"])
def test_of_redemptions_at_once_exactly_one_wins() -> None:
    secret, racers = add(), 8
    ready = Barrier(racers)

    def redeem(number: int) -> bool:
        try:
            ready.wait()
            return isinstance(services.redeem_link(secret, f"{NEW} {number}"), Person)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(racers) as pool:
        won = list(pool.map(redeem, range(racers)))
    person = Person.objects.get(sign_name="nia")
    assert won.count(True) == 1
    assert person.check_password(f"{NEW} {won.index(True)}")
    assert person.session_epoch == 2
