"""What holds for every answer, whoever asked and whatever went wrong."""

import logging
import re
from pathlib import Path

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from accounts import services
from accounts.services import LinkIssued, OpenLink
from accounts.tokens import make_token
from crewlet_site.home import Home
from fleet.services import left
from runtime.access import Role
from tests.support import people

pytestmark = pytest.mark.django_db(databases=["default", "estate"])


@pytest.fixture(autouse=True)
def _nobody_remembers_who_left(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its thread would outlive the test and write into the database of another.
    monkeypatch.setattr(left.recorder, "ensure_started", lambda: None)


@pytest.fixture
def stopping(settings: Settings, tmp_path: Path) -> None:
    settings.HOME = Home(tmp_path)
    settings.HOME.run.mkdir()
    settings.HOME.draining.touch()


@pytest.fixture
def reader() -> Client:
    return people.signed_in(people.add_person("vic", Role.VIEWER))


def bearer() -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token('t', Role.ADMIN, by='test', replaces=True)}"}


@pytest.mark.parametrize("path", ["/sign-in/", "/health", "/api/openapi.json"])
def test_a_head_is_answered_wherever_a_get_is(path: str) -> None:
    assert Client().head(path, headers=bearer()).status_code == 200


def test_a_head_of_a_one_time_link_does_not_use_it_up() -> None:
    issued = services.add_person("ada", "Ada", Role.VIEWER, by="test")
    assert isinstance(issued, LinkIssued)
    assert Client().head(issued.path).status_code == 200
    assert isinstance(services.look_at_link(issued.path.split("/")[2]), OpenLink)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/people/", 200), ("/settings/me/", 200), ("/people", 301), ("/nowhere/", 404)],
)
def test_no_cache_keeps_what_one_reader_may_see(reader: Client, path: str, status: int) -> None:
    response = reader.get(path)
    assert response.status_code == status
    assert {"no-store", "private"} <= set(response["Cache-Control"].split(", "))
    assert response["X-Frame-Options"] == "DENY"


def test_no_cache_keeps_an_answer_of_the_api() -> None:
    response = Client().get("/api/people", headers=bearer())
    assert "no-store" in response["Cache-Control"]


def test_a_host_that_is_not_ours_is_refused_in_our_look(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["crewlet.example.org"]
    page = Client().get("/sign-in/", headers={"Host": "evil.example"})
    assert page.status_code == 400
    assert "css/app" in page.content.decode()
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
    told = Client().get("/api/people", headers={"Host": "evil.example"})
    assert (told.status_code, told.json()["error"]) == (400, "bad_request")


def test_a_form_of_too_many_fields_is_refused_in_our_look() -> None:
    answer = Client().post("/sign-in/", {f"a{number}": "1" for number in range(1_001)})
    assert answer.status_code == 400
    assert "cannot be read" in answer.content.decode()


def test_an_address_of_a_form_says_so_to_a_reader(reader: Client) -> None:
    answer = reader.get("/settings/me/sign-out-everywhere/")
    assert answer.status_code == 405
    assert answer["Allow"] == "POST"
    assert "no page to read" in answer.content.decode()
    assert reader.get("/settings/me/").status_code == 200, "nothing was changed"


@pytest.mark.usefixtures("stopping")
def test_a_node_that_stops_takes_no_forms(reader: Client) -> None:
    answer = reader.post("/settings/me/", {"theme": "dark"})
    assert answer.status_code == 503
    assert answer["Retry-After"] == "30"
    assert "nothing was changed" in answer.content.decode()
    assert "theme" not in reader.cookies
    assert reader.get("/settings/me/").status_code == 200


@pytest.mark.usefixtures("stopping")
def test_a_node_that_stops_first_asks_who_sends_a_form() -> None:
    answer = Client().post("/settings/me/", {"theme": "dark"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/")


@pytest.mark.usefixtures("stopping")
def test_a_node_that_stops_lets_people_sign_out(reader: Client) -> None:
    assert reader.post("/sign-out/")["Location"] == "/sign-in/"


def test_a_fault_of_ours_has_a_reference_that_the_log_has_too(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ROOT_URLCONF = "tests.site.unguarded_urls"
    caplog.set_level(logging.ERROR, logger="crewlet_site")
    answer = Client(raise_request_exception=False).get("/broken/")
    assert answer.status_code == 500
    found = re.search(r'id="reference">(\w+)<', answer.content.decode())
    assert found
    assert found[1] in caplog.text
    assert "ZeroDivisionError" not in answer.content.decode()


def test_a_full_disk_is_said_and_not_called_a_fault(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        message = "database or disk is full"
        raise OperationalError(message)

    monkeypatch.setattr(services, "end_sessions", full)
    monkeypatch.setattr(services, "list_people", full)
    reader.raise_request_exception = False
    page = reader.post("/settings/me/sign-out-everywhere/")
    assert page.status_code == 503
    assert "its disk is full" in page.content.decode()
    told = Client().get("/api/people", headers=bearer())
    assert (told.status_code, told.json()["error"]) == (503, "unavailable")
    assert told["Retry-After"]
