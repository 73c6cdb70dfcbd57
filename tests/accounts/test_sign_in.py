"""Signing in: what it says, what it never says, and where it leads."""

import re
from datetime import UTC, datetime, timedelta
from typing import override
from urllib.parse import parse_qs, urlsplit

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import MD5PasswordHasher
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Person
from accounts.views import UNTIL_COOKIE
from tests.support.people import PASSWORD, AddPerson, signed_in

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.urls("tests.accounts.urls"),
]


class CountingHasher(MD5PasswordHasher):
    """Counts how often a password is hashed."""

    algorithm = "md5"
    count = 0

    @override
    def encode(self, password: str, salt: str) -> str:
        type(self).count += 1
        return super().encode(password, salt)


def attempt(client: Client, name: str, password: str = "wrong", **more: str) -> tuple[int, str]:
    answer = client.post("/sign-in/", {"username": name, "password": password} | more)
    return answer.status_code, answer.content.decode()


def _without_tokens(page: str) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", page)


def test_the_right_pair_leads_to_the_page_that_was_asked_for(viewer: Person) -> None:
    answer = Client().post(
        "/sign-in/", {"username": " VIC ", "password": PASSWORD, "next": "/seats/?kind=agent"}
    )
    assert (answer.status_code, answer["Location"]) == (302, "/seats/?kind=agent")


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(viewer: Person) -> None:
    known = attempt(Client(), "vic")
    unknown = attempt(Client(), "nobody")
    assert known[0] == unknown[0] == 422
    assert "do not fit together" in known[1]
    assert _without_tokens(known[1]) == _without_tokens(unknown[1]).replace("nobody", "vic")


def test_an_unknown_name_costs_as_much_hashing_as_a_wrong_password(
    viewer: Person, settings: Settings
) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    CountingHasher.count = 0
    attempt(Client(), "vic")
    for_known = CountingHasher.count
    CountingHasher.count = 0
    attempt(Client(), "nobody")
    assert CountingHasher.count == for_known == 1


@pytest.mark.parametrize("name", ["vic", "nobody"])
def test_five_wrong_attempts_lock_the_name_whether_or_not_somebody_has_it(
    viewer: Person, name: str
) -> None:
    client = Client()
    statuses = [attempt(client, name)[0] for _ in range(5)]
    assert statuses == [422, 422, 422, 422, 429]
    status, page = attempt(client, name, PASSWORD)
    assert status == 429
    assert "Locked for 15 min" in page
    assert "do not fit" not in page


def test_the_attempt_that_turns_the_lock_says_for_how_long(viewer: Person) -> None:
    client = Client()
    pages = [attempt(client, "Vic")[1] for _ in range(5)]
    assert "Locked for 15 min" in pages[-1]


def test_the_lock_counts_down_while_somebody_keeps_trying(viewer: Person) -> None:
    client = Client()
    for _ in range(5):
        attempt(client, "vic")
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=9, seconds=30))
    assert "Locked for 6 min" in attempt(client, "vic")[1]
    assert "Locked for 6 min" in attempt(client, "vic")[1]


def test_spelling_a_name_differently_gives_no_further_attempts(viewer: Person) -> None:
    statuses = [attempt(Client(), name)[0] for name in ("vic", "Vic", "VIC", " vic", "vIc")]
    assert statuses[-1] == 429


def test_a_lock_on_one_name_leaves_another_open(viewer: Person, admin: Person) -> None:
    client = Client()
    for _ in range(6):
        attempt(client, "vic")
    assert attempt(client, "ada", PASSWORD)[0] == 302


def test_a_success_forgets_the_failures_before_it(viewer: Person) -> None:
    client = Client()
    for _ in range(2):
        assert [attempt(client, "vic")[0] for _ in range(4)] == [422] * 4
        assert attempt(client, "vic", PASSWORD)[0] == 302


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example/",
        "https://evil.example/seats/",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        " //evil.example",
        "///evil.example",
        "http:///evil.example",
        "/sign-in/?next=/sign-in/",
        "\t//evil.example",
    ],
)
def test_an_address_elsewhere_is_never_followed(viewer: Person, address: str) -> None:
    answer = Client().post("/sign-in/", {"username": "vic", "password": PASSWORD, "next": address})
    assert answer.status_code == 302
    where = urlsplit(answer["Location"])
    assert (where.scheme, where.netloc) == ("", "")
    assert where.path.startswith("/")
    assert not answer["Location"].startswith(("//", "/\\"))
    assert where.path != "/sign-in/"


@pytest.mark.parametrize("name", ["", "a" * 5_000, "vic\x00", "ünïcødé", "<script>", "' or 1=1 --"])
def test_odd_names_are_a_wrong_pair_and_shown_as_text(viewer: Person, name: str) -> None:
    status, page = attempt(Client(), name, PASSWORD)
    assert status == 422
    assert "do not fit together" in page
    assert "<script>" not in page


def test_a_sign_in_without_the_page_s_own_token_is_refused(viewer: Person) -> None:
    client = Client(enforce_csrf_checks=True)
    status, page = attempt(client, "vic", PASSWORD)
    assert status == 403
    assert "This form did not come from a page of this site" in page


def test_a_page_lets_its_own_forms_say_where_they_come_from(viewer: Person) -> None:
    # Under `no-referrer` a browser sends `Origin: null`, and every form here would be refused.
    assert Client().get("/sign-in/").headers["Referrer-Policy"] == "same-origin"
    for origin, status in (("http://testserver", 302), ("null", 403), ("http://evil.example", 403)):
        client = Client(enforce_csrf_checks=True)
        page = client.get("/sign-in/").content.decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None
        typed = {"username": "vic", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        answer = client.post("/sign-in/", typed, headers={"Origin": origin})
        assert answer.status_code == status


def test_a_session_ended_before_its_time_is_said_to_be(viewer: Person) -> None:
    client, elsewhere = signed_in(viewer), signed_in(viewer)
    elsewhere.post("/settings/me/sign-out-everywhere/")
    page = client.get("/sign-in/").content.decode()
    assert "The session was ended before its time." in page


def test_a_session_that_ran_out_says_when(viewer: Person) -> None:
    client = Client()
    ran_out = datetime.now(UTC) - timedelta(minutes=3)
    earlier = HttpResponse()
    earlier.set_signed_cookie(UNTIL_COOKIE, str(int(ran_out.timestamp())))
    client.cookies = earlier.cookies
    page = client.get("/sign-in/?next=/seats/").content.decode()
    assert f"{ran_out:%H:%M:%S}" in page
    assert "The session had ended. You return to Seats." in page


@pytest.mark.parametrize("cookie", ["", "1:x", "99999999999999999999:abc", "\x00"])
def test_an_odd_cookie_about_the_session_says_nothing(cookie: str) -> None:
    client = Client()
    client.cookies[UNTIL_COOKIE] = cookie
    page = client.get("/sign-in/")
    assert page.status_code == 200
    assert "signed out" not in page.content.decode()


def test_somebody_who_signed_out_is_told_nothing_about_ended_sessions(viewer: Person) -> None:
    client = signed_in(viewer)
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert "signed out" not in client.get("/sign-in/").content.decode()


def test_a_get_of_sign_out_asks_and_signs_nobody_out(viewer: Person) -> None:
    client = signed_in(viewer)
    assert "Stay signed in" in client.get("/sign-out/").content.decode()
    assert client.get("/people/").status_code == 200


def test_what_was_typed_into_a_form_comes_back_after_sign_in(add_person: AddPerson) -> None:
    add_person("olga", "operator")
    client = Client()
    typed = {"reason": "vendor incident", "csrfmiddlewaretoken": "x", "password": "secret"}
    sent_away = client.post("/seats/pause/?handle=ada-pm", typed)
    address = parse_qs(urlsplit(sent_away["Location"]).query)["next"][0]
    page = client.get(sent_away["Location"]).content.decode()
    assert "You continue to Seats, and what you typed is kept." in page
    answer = client.post(
        "/sign-in/", {"username": "olga", "password": PASSWORD, "next": address}, follow=True
    )
    assert answer.content.decode() == "reason: vendor incident"
    assert "secret" not in sent_away["Location"]
    assert "csrf" not in sent_away["Location"]


def test_htmx_is_sent_to_sign_in_by_a_header_not_by_a_swapped_page() -> None:
    answer = Client().get(
        "/people/", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/people/"}
    )
    assert answer.status_code == 401
    assert answer["HX-Redirect"].startswith("/sign-in/?next=")


def test_a_sign_in_writes_no_row_about_the_person(viewer: Person) -> None:
    before = Person.objects.filter(pk=viewer.pk).values().get()
    signed_in(viewer)
    assert Person.objects.filter(pk=viewer.pk).values().get() == before


def test_the_page_of_a_signed_in_reader_leads_on(as_viewer: Client) -> None:
    assert as_viewer.get("/sign-in/?next=/people/")["Location"] == "/people/"
