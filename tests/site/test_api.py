"""What holds for every route of the API: who may call, and the shape of each no."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.http import JsonResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from accounts.tokens import make_token
from crewlet_site.api import _wrapped
from crewlet_site.home import Home
from crewlet_site.limits import BODY_LIMIT_BYTES
from runtime.access import Role

pytestmark = pytest.mark.django_db(databases=["default", "estate"])


@pytest.fixture(autouse=True)
def home(settings: Settings, tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.run.mkdir()
    settings.HOME = home
    return home


def ask(
    method: str, path: str, *, role: Role | None = Role.ADMIN, body: object = None, **headers: str
) -> Any:
    if role is not None:
        token = make_token(f"a {role} token", role, by="test", replaces=True)
        headers["Authorization"] = f"Bearer {token}"
    data = "" if body is None else json.dumps(body)
    kind = headers.pop("content_type", "application/json")
    return Client().generic(method, path, data, content_type=kind, headers=headers)


def no(response: Any) -> tuple[int, str]:
    """Status and code of a refusal, whose detail must be a sentence."""
    body = json.loads(response.content)
    assert body["detail"].endswith(".") or body["error"] in ("invalid", "unreadable_body"), body
    return response.status_code, body["error"]


def test_a_stranger_gets_401_and_how_to_prove_who_they_are() -> None:
    response = ask("GET", "/api/people", role=None)
    assert no(response) == (401, "invalid_token")
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_a_wrong_token_gets_401_even_where_a_session_would_do() -> None:
    response = ask("GET", "/api/people", role=None, Authorization="Bearer crewlet_00_x")
    assert no(response) == (401, "invalid_token")


def test_a_role_that_may_not_is_told_which_may() -> None:
    response = ask("POST", "/api/people", role=Role.VIEWER, body={"name": "ada"})
    assert no(response) == (403, "forbidden")
    assert response.json()["role_needed"] == "admin"


def test_an_address_that_nothing_serves_is_no_route() -> None:
    assert no(ask("GET", "/api/nothing")) == (404, "no_route")


@pytest.mark.parametrize("path", ["/api/nothing", "/api/", "/api/seats/a%2Fb/pause"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_address_that_nothing_serves_is_no_route_to_a_session_and_any_method(
    method: str, path: str
) -> None:
    client = Client(enforce_csrf_checks=True)
    assert no(client.generic(method, path)) == (404, "no_route")


@pytest.mark.parametrize("path", ["/api/docs", "/api/openapi.json"])
def test_the_documentation_is_only_read(path: str) -> None:
    assert no(ask("POST", path)) == (405, "method_not_allowed")


def test_a_wrong_method_is_told_the_right_ones() -> None:
    response = ask("PUT", "/api/people")
    assert no(response) == (405, "method_not_allowed")
    assert set(response.headers["Allow"].split(", ")) == {"GET", "POST"}


def test_a_body_that_is_too_large_is_refused_unread() -> None:
    assert no(ask("POST", "/api/people", body="x" * 1_200_000)) == (413, "body_too_large")


def test_a_body_that_is_not_json_is_refused() -> None:
    form = ask("POST", "/api/people", body={}, content_type="application/x-www-form-urlencoded")
    assert no(form) == (415, "unsupported_media_type")
    broken = Client().post(
        "/api/people",
        "{",
        content_type="application/json",
        headers={"Authorization": f"Bearer {make_token('t', Role.ADMIN, by='test')}"},
    )
    assert no(broken) == (400, "unreadable_body")


def test_a_body_that_does_not_say_its_size_is_judged_like_any_other() -> None:
    def send(body: bytes, kind: str) -> Any:
        request = RequestFactory().post("/api/people", body, content_type=kind)
        del request.META["CONTENT_LENGTH"]
        return _wrapped(lambda _request: JsonResponse({}))(request)

    assert no(send(b"x" * (BODY_LIMIT_BYTES + 1), "application/json")) == (413, "body_too_large")
    assert no(send(b"{}", "text/plain")) == (415, "unsupported_media_type")
    assert send(b"{}", "application/json").status_code == 200


def test_an_empty_body_is_named_as_what_is_missing() -> None:
    response = ask("POST", "/api/people")
    assert no(response) == (422, "invalid")
    assert response.json()["detail"].startswith("body: ")


def test_a_field_that_nobody_knows_is_refused() -> None:
    response = ask("POST", "/api/people", body={"name": "ada", "rôle": "admin"})
    assert no(response) == (422, "invalid")
    assert "rôle" in response.json()["detail"]


def test_a_fault_of_ours_has_a_reference_that_the_log_has_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr("accounts.services.list_people")
    response = ask("GET", "/api/people")
    assert no(response) == (500, "internal_error")
    assert response.json()["reference"] in caplog.text
    assert "AttributeError" not in response.content.decode()


def test_a_field_of_the_wrong_kind_is_named() -> None:
    response = ask("POST", "/api/people", body={"name": "ada", "role": "emperor"})
    assert no(response) == (422, "invalid")
    assert response.json()["fields"][0]["field"].endswith("role")


def test_a_draining_node_refuses_writes_once_it_knows_who_asks(home: Home) -> None:
    home.draining.touch()
    response = ask("POST", "/api/people", body={"name": "ada"})
    assert no(response) == (503, "draining")
    assert response.headers["Retry-After"] == "30"
    assert no(ask("POST", "/api/people", role=None, body={})) == (401, "invalid_token")
    assert ask("GET", "/api/people").status_code == 200


def test_json_answers_forbid_everything_a_page_could_do() -> None:
    response = ask("GET", "/api/people")
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Referrer-Policy"] == "no-referrer"


def test_the_description_is_for_those_who_may_call() -> None:
    assert no(ask("GET", "/api/openapi.json", role=None)) == (401, "invalid_token")
    described = ask("GET", "/api/openapi.json", role=Role.VIEWER).json()
    assert {"/api/fleet", "/api/seats", "/api/people"} <= set(described["paths"])


def test_the_documentation_loads_nothing_from_elsewhere() -> None:
    page = ask("GET", "/api/docs", role=Role.VIEWER)
    text = page.content.decode()
    assert page.status_code == 200
    assert "ninja/swagger-ui-bundle.js" in text
    assert "://" not in text.replace("http://www.w3.org", "")
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_a_stranger_is_sent_from_the_documentation_to_sign_in() -> None:
    response = ask("GET", "/api/docs", role=None)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/sign-in/")


def test_a_page_that_forgot_its_guard_is_closed_to_strangers(settings: Settings) -> None:
    settings.ROOT_URLCONF = "tests.site.unguarded_urls"
    response = Client().get("/forgotten/")
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/sign-in/")
