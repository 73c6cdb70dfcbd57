"""Pausing and resuming through the pages: every outcome, and what is never done."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from coordination.testing import Verb
from fleet import pauses
from tests.support.html import elements
from tests.support.twin_fleet import TwinFleet

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.usefixtures("firm"),
]
FORM = "/seats/pause/"


def filled(handle: str = "ada-pm", **more: str) -> dict[str, str]:
    return {
        "handle": handle,
        "reason": "Vendor incident",
        "turn": "finish",
        "request_id": pauses.mint_request_id(),
        "attempt": "first",
        "do": "pause",
    } | more


def hidden(html: str, name: str) -> str:
    return next(
        each.attributes["value"]
        for each in elements(html)
        if each.tag == "input" and each.attributes.get("name") == name
    )


@pytest.fixture(autouse=True)
def _node(fleet: TwinFleet) -> None:
    fleet.node("core-1")
    fleet.hold("ada-pm")


def test_a_pause_is_recorded_with_author_and_reason(fleet: TwinFleet, operator: Client) -> None:
    answer = operator.post(FORM, filled())
    assert (answer.status_code, answer.headers["Location"]) == (303, "/seats/ada-pm/")
    record = fleet.standing("ada-pm")
    assert record is not None
    assert (record.by, record.reason, record.stop_running) == ("mira.l", "Vendor incident", False)
    html = operator.get("/seats/ada-pm/").content.decode()
    assert "Paused ada-pm." in html
    assert "Undo" in html


def test_the_form_without_script_holds_all_it_needs(operator: Client) -> None:
    html = operator.get(FORM, {"handle": "ada-pm"}).content.decode()
    fields = {name: hidden(html, name) for name in ("handle", "request_id", "attempt")}
    answer = operator.post(FORM, fields | {"reason": "x", "turn": "stop", "do": "pause"})
    assert answer.status_code == 303


def test_the_harmless_choice_is_the_one_that_is_chosen(operator: Client) -> None:
    html = operator.get(FORM, {"handle": "ada-pm"}).content.decode()
    radios = [each.attributes for each in elements(html) if each.attributes.get("type") == "radio"]
    assert [radio["value"] for radio in radios if "checked" in radio] == ["finish"]


def test_the_same_form_sent_twice_is_one_pause(fleet: TwinFleet, operator: Client) -> None:
    form = filled()
    assert operator.post(FORM, form).status_code == 303
    first = fleet.standing("ada-pm")
    assert operator.post(FORM, form).status_code == 303
    assert fleet.standing("ada-pm") == first


def test_a_second_persons_pause_shows_the_first_and_overwrites_nothing(
    fleet: TwinFleet, operator: Client
) -> None:
    fleet.pause("ada-pm", by="jonas", reason="Refund policy")
    before = fleet.standing("ada-pm")
    answer = operator.post(FORM, filled(reason="Mine"))
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "Already paused by jonas at" in html
    assert "Refund policy" in html
    assert "Also stop its turn" in html
    assert fleet.standing("ada-pm") == before


def test_asking_the_turn_to_stop_as_well_keeps_author_and_reason(
    fleet: TwinFleet, operator: Client
) -> None:
    version = fleet.pause("ada-pm", by="jonas", reason="Refund policy")
    form = filled(do="stop", version=str(version))
    assert operator.post(FORM, form).status_code == 303
    record = fleet.standing("ada-pm")
    assert record is not None
    assert (record.by, record.reason, record.stop_running) == ("jonas", "Refund policy", True)


def test_stopping_a_turn_at_an_old_version_changes_nothing(
    fleet: TwinFleet, operator: Client
) -> None:
    version = fleet.pause("ada-pm", by="jonas")
    fleet.lift("ada-pm")
    fleet.pause("ada-pm", by="anouk", reason="Another")
    before = fleet.standing("ada-pm")
    answer = operator.post(FORM, filled(do="stop", version=str(version)))
    assert answer.status_code == 409
    assert "Paused again by anouk" in answer.content.decode()
    assert fleet.standing("ada-pm") == before


def test_a_lost_acknowledgement_is_told_as_open_and_check_settles_it(
    fleet: TwinFleet, operator: Client
) -> None:
    form = filled()
    fleet.faults.lose(Verb.UPDATE, bucket="positions")
    answer = operator.post(FORM, form)
    html = answer.content.decode()
    assert fleet.faults.struck == 1
    assert answer.status_code == 200
    assert "The pause may or may not have been recorded." in html
    assert hidden(html, "request_id") == form["request_id"]
    assert hidden(html, "attempt") == "retry"
    assert operator.post(FORM, form | {"do": "check"}).status_code == 303


def test_a_retry_of_an_open_outcome_is_the_same_operation(
    fleet: TwinFleet, operator: Client
) -> None:
    form = filled()
    fleet.faults.lose(Verb.UPDATE, bucket="positions")
    operator.post(FORM, form)
    landed = fleet.standing("ada-pm")
    assert landed is not None
    assert operator.post(FORM, form | {"attempt": "retry"}).status_code == 303
    assert fleet.standing("ada-pm") == landed


def test_check_says_so_when_the_pause_never_landed(fleet: TwinFleet, operator: Client) -> None:
    answer = operator.post(FORM, filled(do="check"))
    assert answer.status_code == 422
    assert "The pause was not recorded; send it again." in answer.content.decode()
    assert fleet.standing("ada-pm") is None


def test_a_pause_that_cannot_be_asked_says_that_nothing_was_written(
    fleet: TwinFleet, operator: Client
) -> None:
    fleet.go_silent()
    answer = operator.post(FORM, filled())
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "not recorded" in html or "may or may not" in html
    assert "Vendor incident" in html  # what was typed is still there


def test_a_form_left_open_for_long_is_sent_under_a_fresh_id(
    fleet: TwinFleet, operator: Client
) -> None:
    old = pauses.mint_request_id(datetime.now(UTC) - timedelta(minutes=20))
    assert operator.post(FORM, filled(request_id=old)).status_code == 303
    record = fleet.standing("ada-pm")
    assert record is not None
    assert record.request_id != old


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"reason": ""}, "Say why"),
        ({"reason": "   "}, "Say why"),
        ({"reason": "\u200b\ufeff\u3164\U000e0041"}, "Say why"),
        ({"reason": "x" * 501}, "501 characters"),
        ({"reason": "a\x07b"}, "control character"),
        ({"reason": "two\nlines"}, "one line"),
        ({"request_id": "nonsense"}, "no UUIDv7"),
        ({"request_id": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}, "no UUIDv7"),
        ({"review_by": "2020-01-01"}, "is past"),
        ({"review_by": "soon"}, "no date"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(
    fleet: TwinFleet, operator: Client, more: dict[str, str], words: str
) -> None:
    answer = operator.post(FORM, filled(**more))
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert fleet.standing("ada-pm") is None


def test_a_retry_older_than_two_minutes_is_refused(fleet: TwinFleet, operator: Client) -> None:
    old = pauses.mint_request_id(datetime.now(UTC) - timedelta(seconds=121))
    answer = operator.post(FORM, filled(request_id=old, attempt="retry"))
    assert answer.status_code == 422
    assert "older than two minutes" in answer.content.decode()
    assert fleet.standing("ada-pm") is None


def test_markup_and_other_directions_in_a_reason_are_kept_and_shown_as_text(
    fleet: TwinFleet, operator: Client
) -> None:
    reason = "<b>שלום</b> & 500 characters are enough"
    assert operator.post(FORM, filled(reason=reason)).status_code == 303
    record = fleet.standing("ada-pm")
    assert record is not None
    assert record.reason == reason
    assert "<b>שלום" not in operator.get("/seats/ada-pm/").content.decode()


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_unknown_seat_is_404(fleet: TwinFleet, operator: Client, method: str) -> None:
    fields = filled("ghost") if method == "post" else {"handle": "ghost"}
    answer = getattr(operator, method)(FORM, fields)
    assert answer.status_code == 404
    assert "There is no seat ghost any more" in answer.content.decode()
    assert fleet.standing("ghost") is None


@pytest.mark.parametrize(("handle", "status"), [("ghost", 404), ("mira", 422)])
def test_what_can_not_be_paused_is_not_offered_again_after_a_check(
    fleet: TwinFleet, operator: Client, handle: str, status: int
) -> None:
    answer = operator.post(FORM, filled(handle) | {"do": "check"})
    assert answer.status_code == status
    assert "send it again" not in answer.content.decode()
    assert operator.get("/seats/resume/", {"handle": handle}).status_code == status


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_persons_seat_is_refused(fleet: TwinFleet, operator: Client, method: str) -> None:
    fields = filled("mira") if method == "post" else {"handle": "mira"}
    answer = getattr(operator, method)(FORM, fields)
    assert answer.status_code == 422
    assert "mira is a person&#x27;s seat" in answer.content.decode()
    assert fleet.standing("mira") is None


@pytest.mark.parametrize("url", [FORM, "/seats/resume/"])
def test_a_viewer_gets_403_naming_the_role(fleet: TwinFleet, viewer: Client, url: str) -> None:
    version = fleet.pause("bo-eng")
    for answer in (
        viewer.post(url, filled() | {"seat": f"{version}:bo-eng"}),
        viewer.get(url, {"handle": "ada-pm"}),
    ):
        assert answer.status_code == 403
        assert "operator role" in answer.content.decode()
    assert fleet.standing("ada-pm") is None
    assert fleet.standing("bo-eng") is not None


def test_a_post_without_the_csrf_token_is_refused(fleet: TwinFleet, operator: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert strict.post(FORM, filled()).status_code == 403
    assert fleet.standing("ada-pm") is None


def test_resume_is_one_press_and_offers_the_way_back(fleet: TwinFleet, operator: Client) -> None:
    version = fleet.pause("ada-pm", reason="Refund policy")
    answer = operator.post("/seats/resume/", {"seat": f"{version}:ada-pm"})
    assert answer.status_code == 303
    assert fleet.standing("ada-pm") is None
    html = operator.get("/seats/ada-pm/").content.decode()
    assert "Resumed ada-pm." in html
    assert hidden(html, "reason") == "Refund policy"


def test_undo_of_a_resume_pauses_with_the_former_reason(fleet: TwinFleet, operator: Client) -> None:
    version = fleet.pause("ada-pm", reason="Refund policy")
    operator.post("/seats/resume/", {"seat": f"{version}:ada-pm"})
    html = operator.get("/seats/ada-pm/").content.decode()
    names = ("handle", "do", "reason", "request_id", "attempt")
    assert operator.post(FORM, {name: hidden(html, name) for name in names}).status_code == 303
    record = fleet.standing("ada-pm")
    assert record is not None
    assert record.reason == "Refund policy"


def test_a_resume_of_another_record_than_the_one_seen_is_refused(
    fleet: TwinFleet, operator: Client
) -> None:
    seen = fleet.pause("ada-pm", by="jonas")
    fleet.lift("ada-pm")
    fleet.pause("ada-pm", by="anouk")
    answer = operator.post("/seats/resume/", {"seat": f"{seen}:ada-pm"})
    assert answer.status_code == 409
    assert re.search(r"Paused again by anouk \d+ s ago: look first", answer.content.decode())
    assert fleet.standing("ada-pm") is not None


def test_resuming_what_is_not_paused_changes_nothing(fleet: TwinFleet, operator: Client) -> None:
    answer = operator.post("/seats/resume/", {"seat": "3:ada-pm"})
    assert answer.status_code == 303
    assert "nothing was changed" in operator.get("/seats/ada-pm/").content.decode()


@pytest.mark.parametrize("pressed", ["", "x", "-1:ada-pm", "²:ada-pm", "9" * 40 + ":ada-pm"])
def test_an_odd_resume_changes_nothing(fleet: TwinFleet, operator: Client, pressed: str) -> None:
    fleet.pause("ada-pm")
    assert operator.post("/seats/resume/", {"seat": pressed}).status_code in {404, 409}
    assert fleet.standing("ada-pm") is not None


def test_the_form_of_a_paused_seat_shows_what_stands(fleet: TwinFleet, operator: Client) -> None:
    fleet.pause("ada-pm", by="jonas", reason="Refund policy")
    html = operator.get(FORM, {"handle": "ada-pm"}).content.decode()
    assert "ada-pm is paused" in html
    assert "Refund policy" in html
    assert "Resume ada-pm" in html


def test_recent_reasons_are_suggested_once_each(fleet: TwinFleet, operator: Client) -> None:
    fleet.pause("bo-eng", reason="Refund policy")
    fleet.pause("cleo-eng", reason="Refund policy")
    html = operator.get(FORM, {"handle": "ada-pm"}).content.decode()
    suggested = [each.words for each in elements(html) if "data-fill" in each.attributes]
    assert suggested == ["Refund policy"]


def test_a_retry_after_somebody_resumed_does_not_claim_a_pause(
    fleet: TwinFleet, operator: Client
) -> None:
    form = filled()
    operator.post(FORM, form)
    fleet.lift("ada-pm")
    answer = operator.post(FORM, form | {"attempt": "retry"})
    assert "ada-pm is not paused" in answer.content.decode()
    assert fleet.standing("ada-pm") is None


def test_an_open_outcome_of_stopping_a_turn_is_checked_or_sent_again(
    fleet: TwinFleet, operator: Client
) -> None:
    version = fleet.pause("ada-pm", by="jonas", reason="Refund policy")
    form = filled(do="stop", version=str(version))
    fleet.faults.lose(Verb.UPDATE, bucket="positions")
    html = operator.post(FORM, form).content.decode()
    assert "may or may not have been recorded" in html
    assert hidden(html, "request_id") == form["request_id"]
    assert operator.post(FORM, form).status_code == 303
    record = fleet.standing("ada-pm")
    assert record is not None
    assert (record.by, record.stop_running) == ("jonas", True)


def test_an_open_outcome_of_a_resume_says_so(fleet: TwinFleet, operator: Client) -> None:
    version = fleet.pause("ada-pm")
    fleet.faults.lose(Verb.REMOVE, bucket="positions")
    html = operator.post("/seats/resume/", {"seat": f"{version}:ada-pm"}).content.decode()
    assert "The resume may or may not have been recorded." in html
    assert operator.post("/seats/resume/", {"seat": f"{version}:ada-pm"}).status_code == 303
    assert fleet.standing("ada-pm") is None
