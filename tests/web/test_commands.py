"""`./crewlet seats` and `./crewlet fleet`: clients of the API, with exit codes to script by."""

import io
import json
from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.test import Client

from coordination.testing import Verb
from runtime import operator_client
from runtime.operator_client import Json, NotReached, Reply
from tests.support.twin_fleet import TwinFleet

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.usefixtures("firm"),
]
type Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(fleet: TwinFleet, operator: Client, monkeypatch: pytest.MonkeyPatch) -> Run:
    fleet.node("core-1")
    fleet.hold("ada-pm")
    operator.get("/seats/")
    token = operator.cookies["crewlet_csrf"].value

    def request(method: str, path: str, body: Json = None) -> Reply:
        answer = operator.generic(
            method,
            path,
            b"" if body is None else json.dumps(body).encode(),
            content_type="application/json",
            headers={"X-CSRFToken": token},
        )
        return Reply(status=answer.status_code, data=answer.json())

    monkeypatch.setattr(operator_client, "request", request)

    def command(*words: str) -> tuple[int, str, str]:
        said, complained = io.StringIO(), io.StringIO()
        try:
            call_command(*words, stdout=said, stderr=complained)
        except SystemExit as end:
            return int(str(end.code)), said.getvalue(), complained.getvalue()
        return 0, said.getvalue(), complained.getvalue()

    return command


def test_seats_are_listed_in_words_and_as_json(run: Run) -> None:
    code, said, _ = run("seats", "list")
    assert code == 0
    assert "ada-pm" in said
    assert "core-1" in said
    assert json.loads(run("seats", "list", "--json")[1])["seats"][0]["handle"] == "ada-pm"


def test_pause_and_resume_say_what_changed(fleet: TwinFleet, run: Run) -> None:
    code, said, _ = run("seats", "pause", "ada-pm", "--reason", "Vendor incident", "--stop")
    assert code == 0
    assert "Paused ada-pm by mira.l" in said
    assert "ends at its next round" in said
    code, said, _ = run("seats", "pause", "ada-pm", "--reason", "Mine")
    assert code == 0
    assert "already paused by mira.l" in said
    assert "Nothing changed" in said
    assert run("seats", "resume", "ada-pm")[:2] == (0, "Resumed ada-pm.\n")
    assert run("seats", "resume", "ada-pm")[:2] == (0, "ada-pm is not paused: no change.\n")
    assert fleet.standing("ada-pm") is None


def test_a_refusal_is_a_sentence_and_exit_code_1(run: Run) -> None:
    code, _, complained = run("seats", "pause", "ada-pm")
    assert code == 1
    assert "Say why" in complained
    assert run("seats", "resume", "ghost")[0] == 1


def test_an_open_outcome_prints_the_operation_to_send_again(fleet: TwinFleet, run: Run) -> None:
    fleet.faults.lose(Verb.UPDATE, bucket="positions")
    code, _, complained = run("seats", "pause", "ada-pm", "--reason", "x")
    assert code == 1
    op_id = complained.split("--op-id ")[1].strip()
    code, said, _ = run("seats", "pause", "ada-pm", "--reason", "x", "--op-id", op_id)
    assert code == 0
    assert said.startswith("Paused ada-pm")


def test_fleet_status_lists_nodes(run: Run) -> None:
    code, said, _ = run("fleet", "status")
    assert code == 0
    assert "core-1" in said
    assert "1 live, 1 seats held" in said
    assert "vera-ml cannot be placed" in said
    assert json.loads(run("fleet", "status", "--json")[1])["this_node"] == "core-1"


def test_nobody_answering_is_exit_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> Reply:
        msg = "No node answers."
        raise NotReached(msg)

    monkeypatch.setattr(operator_client, "request", nobody)
    for words in (("fleet", "status"), ("seats", "list"), ("seats", "pause", "a", "--reason", "x")):
        code, _, complained = run(*words)
        assert code == 1
        assert complained == "No node answers.\n", "nothing was sent that may have landed"


def test_a_lost_answer_prints_the_operation_to_send_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hung_up(*_: object) -> Reply:
        msg = "No node answers."
        raise NotReached(msg, may_have_landed=True)

    monkeypatch.setattr(operator_client, "request", hung_up)
    assert "--op-id " in run("seats", "pause", "a", "--reason", "x")[2]
    assert "--op-id " not in run("seats", "list")[2]
