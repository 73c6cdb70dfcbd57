"""Bearer tokens: hashed, named, bound to a role; and the API they open."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts import services, tokens
from accounts.changes import Because, Refused
from accounts.models import ApiToken, Person
from runtime.access import Role
from tests.support.people import AddPerson, signed_in

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.urls("tests.accounts.urls"),
]
NIA = {"name": "nia", "display_name": "Nia Berg", "role": "operator"}


def make(role: Role = Role.ADMIN, name: str = "ci") -> str:
    text = tokens.make_token(name, role, by="ada")
    assert isinstance(text, str)
    return text


def ask(method: str, path: str, token: str, body: object = None) -> Any:
    return Client().generic(
        method,
        path,
        data="" if body is None else json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )


def test_a_token_speaks_for_its_name_and_role() -> None:
    caller = tokens.authenticate(f"Bearer {make(Role.OPERATOR)}")
    assert caller is not None
    assert (caller.name, caller.role, caller.via) == ("ci", Role.OPERATOR, "token")


def test_only_the_hash_of_a_token_is_kept() -> None:
    text = make()
    assert text.split("_", 2)[2] not in str(ApiToken.objects.values().get())


@pytest.mark.parametrize("spoil", ["last", "first", "id", "scheme", "space", "long", "empty"])
def test_anything_else_speaks_for_nobody(spoil: str) -> None:
    text = make()
    prefix, id_hex, secret = text.split("_", 2)
    headers = {
        "last": f"Bearer {text[:-1]}{'a' if text[-1] != 'a' else 'b'}",
        "first": f"Bearer X{text}",
        "id": f"Bearer {prefix}_{'0' * 32}_{secret}",
        "scheme": f"Basic {text}",
        "space": f"Bearer {prefix}_{id_hex}_",
        "long": f"Bearer {text}{'a' * 10_000}",
        "empty": "",
    }
    assert tokens.authenticate(headers[spoil]) is None


def test_a_revoked_token_is_refused_and_its_name_free() -> None:
    text = make()
    assert tokens.make_token("ci", Role.VIEWER, by="ada") == Refused(
        because=Because.TOKEN_NAME_TAKEN
    )
    tokens.revoke_token("ci")
    assert tokens.authenticate(f"Bearer {text}") is None
    assert tokens.authenticate(f"Bearer {make(Role.VIEWER)}") is not None


def test_the_token_of_the_command_line_is_private_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "cli-token"
    assert tokens.ensure_cli_token(path, "node-0")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text().strip()
    assert tokens.authenticate(f"Bearer {text}") is not None
    assert not tokens.ensure_cli_token(path, "node-0")
    assert path.read_text().strip() == text


def test_a_lost_token_file_revokes_the_token_that_was_in_it(tmp_path: Path) -> None:
    path = tmp_path / "cli-token"
    tokens.ensure_cli_token(path, "node-0")
    lost = path.read_text().strip()
    path.write_text("not a token\n")
    assert tokens.ensure_cli_token(path, "node-0")
    assert tokens.authenticate(f"Bearer {lost}") is None
    assert tokens.authenticate(f"Bearer {path.read_text().strip()}") is not None


def test_nobody_reads_the_api_without_proof(viewer: Person) -> None:
    assert Client().get("/api/people").status_code == 401
    assert ask("GET", "/api/people", "crewlet_wrong_wrong").status_code == 401


def test_a_wrong_token_is_refused_even_beside_a_good_session(as_viewer: Client) -> None:
    answer = as_viewer.get("/api/people", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 401


def test_a_token_lists_adds_resets_and_removes(admin: Person) -> None:
    token = make()
    added = ask("POST", "/api/people", token, NIA)
    assert added.status_code == 201
    assert added.json()["link"].startswith("http://127.0.0.1:8000/welcome/")
    people = ask("GET", "/api/people", token).json()["people"]
    assert [(one["name"], one["role"], one["access"]) for one in people] == [
        ("ada", "admin", "active"),
        ("nia", "operator", "link open"),
    ]
    assert people[1]["added_by"] == "ci"
    assert "link_expires_at" not in people[0]
    assert ask("POST", "/api/people/nia/reset", token).status_code == 200
    assert ask("DELETE", "/api/people/nia", token).json() == {"name": "nia", "removed": True}
    assert Person.objects.named("nia") is None


def test_the_api_says_why_nothing_was_changed(admin: Person) -> None:
    token = make()
    refusals = [
        ask("POST", "/api/people", token, NIA | {"name": "ADA"}),
        ask("POST", "/api/people", token, NIA | {"name": "a b"}),
        ask("POST", "/api/people/nobody/reset", token),
        ask("DELETE", "/api/people/nobody", token),
        ask("DELETE", "/api/people/ada", token),
    ]
    assert [(answer.status_code, answer.json()["error"]) for answer in refusals] == [
        (409, "name_taken"),
        (422, "invalid"),
        (404, "no_such_person"),
        (404, "no_such_person"),
        (409, "last_admin"),
    ]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_a_token_of_a_lower_role_changes_no_people(admin: Person, role: Role) -> None:
    token = make(role)
    assert ask("GET", "/api/people", token).status_code == 200
    answer = ask("POST", "/api/people", token, NIA)
    assert (answer.status_code, answer.json()["role_needed"]) == (403, "admin")


def test_a_session_writes_through_the_api_only_with_the_page_s_token(
    add_person: AddPerson,
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = signed_in(add_person("bea", Role.ADMIN)).cookies
    assert client.get("/api/people").status_code == 200
    answer = client.post("/api/people", NIA, content_type="application/json")
    assert answer.status_code == 403
    assert Person.objects.named("nia") is None


def test_a_removed_person_s_session_opens_no_api(admin: Person, viewer: Person) -> None:
    client = signed_in(viewer)
    services.remove_person("vic", by="ada")
    assert client.get("/api/people").status_code == 401
