"""`/api/fleet` and `/api/seats`: shapes, refusals, and the silence that is never an empty list."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from coordination.testing import Verb
from fleet import pauses
from tests.support.twin_fleet import TwinFleet

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.usefixtures("firm"),
]


@pytest.fixture(autouse=True)
def _nodes(fleet: TwinFleet) -> None:
    epoch = fleet.activate()
    fleet.node("core-1", labels={"zone": "a"})
    fleet.node("gpu-1", roles=("seats",), silent=True)
    fleet.hold("ada-pm")
    fleet.report("core-1", epoch)
    fleet.duty("maintenance")


def get(client: Client, url: str, status: int = 200) -> dict[str, Any]:
    answer = client.get(url)
    assert answer.status_code == status, answer.content
    body: dict[str, Any] = answer.json()
    return body


def post(client: Client, url: str, body: Mapping[str, object], status: int = 200) -> dict[str, Any]:
    client.get("/seats/")
    token = client.cookies["crewlet_csrf"].value
    answer = client.post(
        url, json.dumps(body), content_type="application/json", headers={"X-CSRFToken": token}
    )
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    return found


def wish(**more: object) -> dict[str, object]:
    return {"request_id": pauses.mint_request_id(), "reason": "Vendor incident"} | more


def test_the_fleet_has_the_documented_shape(viewer: Client) -> None:
    body = get(viewer, "/api/fleet")
    assert set(body) == {
        "nodes",
        "seats",
        "duties",
        "unplaceable",
        "unmanned_roles",
        "this_node",
        "as_of",
    }
    node = body["nodes"][0]
    assert node["id"] == body["this_node"] == "core-1"
    assert node["roles"] == ["data", "ingress", "seats", "workers"]
    assert node["labels"] == {"zone": "a"}
    assert (node["in_flight"], node["draining"], node["posture"]) == (0, False, "serve")
    assert (node["seats"], node["config_status"], node["config_error"]) == (1, "ok", "")
    assert 0 < node["expires_in"] <= 45
    assert body["seats"][0]["handle"] == "ada-pm"
    assert body["seats"][0]["epoch"] == 1
    assert body["duties"][0]["duty"] == "maintenance"
    # gpu-1 did not say its status, yet it named its labels, and they do not fit.
    assert body["unplaceable"] == [{"handle": "vera-ml", "placement": "labels=gpu=a100"}]
    assert body["unmanned_roles"] == []


def test_what_a_node_did_not_say_is_absent_and_not_zero(viewer: Client) -> None:
    silent = get(viewer, "/api/fleet")["nodes"][1]
    assert silent["id"] == "gpu-1"
    said = {"in_flight", "draining", "posture", "started_at", "config_epoch", "config_status"}
    assert said & set(silent) == set()


@pytest.mark.parametrize("url", ["/api/fleet", "/api/seats", "/api/seats/ada-pm"])
def test_a_silent_store_is_503_with_retry_after(fleet: TwinFleet, viewer: Client, url: str) -> None:
    get(viewer, url)
    fleet.go_silent()
    answer = viewer.get(url)
    assert answer.status_code == 503
    assert answer.json()["error"] == "unavailable"
    assert int(answer.headers["Retry-After"]) > 0


def test_seats_are_listed_with_holder_and_pause(fleet: TwinFleet, viewer: Client) -> None:
    version = fleet.pause("bo-eng", reason="Refund policy")
    seats = {seat["handle"]: seat for seat in get(viewer, "/api/seats")["seats"]}
    assert seats["ada-pm"]["activity"] == "idle"
    assert seats["ada-pm"]["node"] == "core-1"
    assert seats["bo-eng"]["stopped_reason"] == "paused"
    assert seats["bo-eng"]["paused"]["reason"] == "Refund policy"
    assert seats["bo-eng"]["paused"]["version"] == version
    assert seats["vera-ml"]["stopped_reason"] == "unplaced"
    assert seats["mira"]["kind"] == "person"
    assert "paused" not in seats["ada-pm"]


def test_one_seat_answers_alone_and_a_stranger_is_404(viewer: Client) -> None:
    assert get(viewer, "/api/seats/ada-pm")["handle"] == "ada-pm"
    assert get(viewer, "/api/seats/ghost", 404)["error"] == "not_found"


def test_a_pause_answers_its_receipt(fleet: TwinFleet, operator: Client) -> None:
    body = post(operator, "/api/seats/ada-pm/pause", wish(stop_running=True))
    record = fleet.standing("ada-pm")
    assert record is not None
    assert body == {
        "handle": "ada-pm",
        "outcome": "applied",
        "paused": True,
        "changed": True,
        "paused_by": "mira.l",
        "paused_at": record.at.text(),
        "reason": "Vendor incident",
        "stop_running": True,
        "version": int(record.revision),
    }


def test_the_same_request_id_is_the_same_operation(fleet: TwinFleet, operator: Client) -> None:
    body = wish()
    first = post(operator, "/api/seats/ada-pm/pause", body)
    again = post(operator, "/api/seats/ada-pm/pause", body)
    assert again == first


def test_a_paused_seat_answers_with_the_standing_record(fleet: TwinFleet, operator: Client) -> None:
    fleet.pause("ada-pm", by="jonas", reason="Refund policy")
    body = post(operator, "/api/seats/ada-pm/pause", wish())
    assert (body["changed"], body["paused_by"], body["reason"]) == (False, "jonas", "Refund policy")


def test_also_stopping_the_turn_is_an_amend_at_the_version_seen(
    fleet: TwinFleet, operator: Client
) -> None:
    version = fleet.pause("ada-pm", by="jonas", reason="Refund policy")
    stale = wish(stop_running=True, version=version + 5)
    refused = post(operator, "/api/seats/ada-pm/pause", stale, 409)
    assert refused["error"] == "stale_version"
    assert refused["standing"]["version"] == version
    done = post(operator, "/api/seats/ada-pm/pause", wish(stop_running=True, version=version))
    assert (done["paused_by"], done["stop_running"], done["changed"]) == ("jonas", True, True)


def test_resume_lifts_the_version_seen(fleet: TwinFleet, operator: Client) -> None:
    version = fleet.pause("ada-pm")
    url = "/api/seats/ada-pm/resume"
    stale = post(operator, url, wish(version=version - 1), 409)
    assert stale["error"] == "stale_version"
    assert post(operator, url, wish(), 422)["field"] == "version"
    done = post(operator, url, wish(version=version))
    assert done == {"handle": "ada-pm", "outcome": "applied", "paused": False, "changed": True}
    free = post(operator, url, wish(version=version))
    assert (free["paused"], free["changed"]) == (False, False)


@pytest.mark.parametrize(
    ("more", "status", "error"),
    [
        ({"request_id": "nonsense"}, 400, "invalid_request_id"),
        ({"request_id": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}, 400, "invalid_request_id"),
        ({"reason": ""}, 422, "invalid"),
        ({"reason": "x" * 501}, 422, "invalid"),
        ({"reason": "a\x00b"}, 422, "invalid"),
        ({"reason": "\ud800"}, 422, "invalid"),
        ({"review_by": "2020-01-01"}, 422, "invalid"),
        ({"review_by": "soon"}, 422, "invalid"),
        ({"surprise": 1}, 422, "invalid"),
    ],
)
def test_bad_input_has_its_code_and_changes_nothing(
    fleet: TwinFleet, operator: Client, more: dict[str, object], status: int, error: str
) -> None:
    body = post(operator, "/api/seats/ada-pm/pause", wish(**more), status)
    assert body["error"] == error
    assert body["detail"]
    assert fleet.standing("ada-pm") is None


@pytest.mark.parametrize("span", [timedelta(seconds=-121), timedelta(seconds=90)])
def test_a_request_id_outside_its_window_has_expired(
    fleet: TwinFleet, operator: Client, span: timedelta
) -> None:
    old = pauses.mint_request_id(datetime.now(UTC) + span)
    body = post(operator, "/api/seats/ada-pm/pause", wish(request_id=old), 409)
    assert body["error"] == "op_expired"
    assert fleet.standing("ada-pm") is None


@pytest.mark.parametrize(("handle", "words"), [("ghost", "no seat"), ("mira", "person's seat")])
def test_what_is_no_agent_seat_is_not_found(
    fleet: TwinFleet, operator: Client, handle: str, words: str
) -> None:
    body = post(operator, f"/api/seats/{handle}/pause", wish(), 404)
    assert body["error"] == "not_found"
    assert words in body["detail"]


@pytest.mark.parametrize("act", ["pause", "resume"])
def test_a_viewer_gets_403_naming_the_role(fleet: TwinFleet, viewer: Client, act: str) -> None:
    body = post(viewer, f"/api/seats/ada-pm/{act}", wish(version=1), 403)
    assert body["error"] == "forbidden"
    assert "operator" in body["detail"]
    assert fleet.standing("ada-pm") is None


def test_a_stranger_gets_401(fleet: TwinFleet) -> None:
    for url in ("/api/fleet", "/api/seats"):
        assert get(Client(), url, 401)["error"] == "invalid_token"


def test_a_write_that_may_have_landed_says_so(fleet: TwinFleet, operator: Client) -> None:
    body = wish()
    fleet.faults.lose(Verb.UPDATE, bucket="positions")
    refused = post(operator, "/api/seats/ada-pm/pause", body, 503)
    assert (refused["error"], refused["outcome"]) == ("unavailable", "unknown")
    landed = fleet.standing("ada-pm")
    assert landed is not None
    again = post(operator, "/api/seats/ada-pm/pause", body)
    assert again["version"] == int(landed.revision)


def test_a_write_that_could_not_be_asked_is_503(fleet: TwinFleet, operator: Client) -> None:
    get(operator, "/api/seats")
    fleet.go_silent()
    refused = post(operator, "/api/seats/ada-pm/pause", wish(), 503)
    assert refused["error"] == "unavailable"
