"""`./crewlet people` against a node that really answers."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts import tokens
from accounts.models import Person
from runtime.access import Role

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "estate"]),
    pytest.mark.urls("tests.accounts.urls"),
]


@pytest.fixture
def node(live_server: LiveServer, settings: Settings, admin: Person) -> Iterator[None]:
    """A node whose API answers, with the token of its command line."""
    settings.API_URL = live_server.url
    path = django_settings.HOME.cli_token
    tokens.ensure_cli_token(path, "node-0")
    yield
    path.unlink(missing_ok=True)


def people(*words: str) -> tuple[int, str, str]:
    """Exit code, what was said, and what was complained of."""
    said, complained = StringIO(), StringIO()
    try:
        call_command("people", *words, stdout=said, stderr=complained)
    except SystemExit as ended:
        return int(str(ended.code)), said.getvalue(), complained.getvalue()
    return 0, said.getvalue(), complained.getvalue()


def people_json(*words: str) -> Any:
    return json.loads(people(*words, "--json")[1])


def test_a_person_is_added_listed_reset_and_removed(node: None) -> None:
    code, said, _ = people("add", "Nia", "--display-name", "Nia Berg", "--role", "operator")
    assert (code, "/welcome/" in said) == (0, True)
    listed = people("list")[1].splitlines()
    assert listed[0].split() == ["NAME", "ROLE", "ACCESS", "DISPLAY", "NAME"]
    assert listed[2].split() == ["nia", "operator", "link", "open", "Nia", "Berg"]
    assert "/welcome/" in people("reset", "nia")[1]
    assert people("remove", "nia") == (0, "Removed nia, who is signed out everywhere.\n", "")
    assert Person.objects.named("nia") is None


def test_json_is_the_api_s_answer(node: None) -> None:
    assert people_json("add", "nia")["name"] == "nia"
    assert [one["name"] for one in people_json("list")["people"]] == ["ada", "nia"]
    assert people_json("remove", "nia") == {"name": "nia", "removed": True}
    assert people_json("reset", "nia")["error"] == "no_such_person"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("add", "ADA"), "Somebody signs in under this name already."),
        (("add", "a b"), "1 to 64"),
        (("reset", "nobody"), "Nobody signs in under this name."),
        (("remove", "no body?"), "Nobody signs in under this name."),
        (("remove", "ada"), "This is the last admin"),
    ],
)
def test_a_refusal_is_one_sentence_and_exit_code_1(
    node: None, words: tuple[str, ...], complaint: str
) -> None:
    code, said, complained = people(*words)
    assert (code, said) == (1, "")
    assert complaint in complained


def test_a_token_without_the_role_is_told_which_one_it_needs(node: None) -> None:
    text = tokens.make_token("viewer", Role.VIEWER, by="ada")
    django_settings.HOME.cli_token.write_text(str(text))
    code, _, complained = people("add", "nia")
    assert (code, "admin role" in complained) == (1, True)


def test_a_node_that_does_not_answer_is_said_to_and_nothing_else_is(
    node: None, settings: Settings
) -> None:
    settings.API_URL = "http://127.0.0.1:1"
    code, said, complained = people("list")
    assert (code, said) == (1, "")
    assert "No node answers" in complained
