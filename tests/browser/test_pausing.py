"""Pausing one seat: seen elsewhere, by every way in, by whoever may, once."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import api
from tests.browser.plain_broker import last_sequence
from tests.browser.visitors import ADMIN, OPERATOR, VIEWER, Visitors
from tests.support.running_node import RunningNode

pytestmark = [pytest.mark.browser, pytest.mark.broker]

SEEN_WITHIN_MS = 5_000  # from the press in one browser to the word in the other; loaded machine
MARKUP = '<img src=x onerror="document.title=1"><b id="bold">bold</b> & "quoted"'


type Form = dict[str, str | float | bool]


def paused_cell(seat: str) -> str:
    return f"#seat-{seat}-paused"


def focused_row(page: Page) -> str | None:
    row: str | None = page.evaluate("document.activeElement.closest('[data-row]')?.id")
    return row


def fill_and_send(page: Page, seat: str, reason: str) -> None:
    form = page.locator("[data-form-region]")
    form.locator("#pause-reason").fill(reason)
    form.get_by_role("button", name=f"Pause {seat}").click()


def test_a_pause_made_in_one_browser_is_seen_in_another_and_so_is_its_resume(
    node: RunningNode, visitors: Visitors, seat: str, measured: Callable[[str], None]
) -> None:
    with (
        visitors.window(node, OPERATOR) as hers,
        visitors.window(node, ADMIN) as his,
    ):
        seen, detail = his.open("/seats/"), his.open(f"/seats/{seat}/")
        page = hers.open("/seats/")
        paused_before = int(seen.locator("#rail-paused").inner_text())
        page.locator(f"#seat-{seat}-action-press").click()
        fill_and_send(page, seat, "vendor incident")
        pressed = time.monotonic()
        cell = seen.locator(paused_cell(seat))
        expect(cell).to_contain_text("by olga", timeout=SEEN_WITHIN_MS)
        measured(f"seen {time.monotonic() - pressed:.2f} s after the press")
        expect(page.locator(".toast")).to_contain_text(f"Paused {seat}")
        expect(page.locator("#sheet")).to_be_hidden()
        expect(cell).to_contain_text("vendor incident")
        expect(seen.locator(f"#seat-{seat}-state")).to_contain_text("stopped, paused")
        expect(seen.locator("#rail-paused")).to_have_text(str(paused_before + 1))
        expect(detail.locator("#pause-record")).to_contain_text("vendor incident")
        expect(detail.locator("#pause-record")).to_contain_text("olga")
        expect(detail.get_by_role("button", name=f"Resume {seat}")).to_be_visible()

        seen.locator(f"#seat-{seat}-action-press").click()
        expect(page.locator(paused_cell(seat))).to_contain_text(
            "not paused", timeout=SEEN_WITHIN_MS
        )
        expect(page.locator(f"#seat-{seat}-action-press")).to_have_text("Pause…")
        expect(detail.locator("#pause-record")).to_contain_text("not paused")


def test_undo_takes_a_pause_back_and_the_other_browser_sees_it(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    with (
        visitors.window(node, OPERATOR) as hers,
        visitors.window(node, ADMIN) as his,
    ):
        seen, page = his.open("/seats/"), hers.open("/seats/")
        page.locator(f"#seat-{seat}-action-press").click()
        fill_and_send(page, seat, "too early")
        expect(seen.locator(paused_cell(seat))).to_contain_text("too early")
        page.locator(".toast").get_by_role("button", name="Undo").click()
        expect(page.locator(".toast")).to_contain_text(f"Resumed {seat}")
        expect(seen.locator(paused_cell(seat))).to_contain_text("not paused")


def test_the_same_pause_needs_no_script(node: RunningNode, visitors: Visitors, seat: str) -> None:
    with visitors.window(node, OPERATOR, scripts=False) as window:
        page = window.open("/seats/", live=False)
        expect(page.locator("[data-chip-word]")).to_have_text("As loaded")
        page.locator(f"#seat-{seat}-action-press").click()
        page.wait_for_url("**/seats/pause/?handle=*")
        fill_and_send(page, seat, "without a script")
        page.wait_for_url(f"**/seats/{seat}/")
        expect(page.locator(".toast")).to_contain_text(f"Paused {seat}")
        expect(page.locator("#pause-record")).to_contain_text("without a script")

        page.locator(".toast").get_by_role("button", name="Undo").click()
        expect(page.locator(".toast")).to_contain_text(f"Resumed {seat}")
        expect(page.locator("#pause-record")).to_contain_text("not paused")


def test_the_same_pause_needs_no_pointer_and_focus_comes_back_to_the_row(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    with visitors.window(node, OPERATOR) as window:
        page = window.open("/seats/")
        keys = page.keyboard
        keys.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        keys.press("Enter")
        for _ in range(30):
            keys.press("j")
            if focused_row(page) == f"seat-{seat}":
                break
        assert focused_row(page) == f"seat-{seat}"
        keys.press("p")
        expect(page.locator("#pause-reason")).to_be_focused()
        keys.type("by keyboard p r j")
        while not page.evaluate("document.activeElement.matches('#sheet button.primary')"):
            keys.press("Tab")
        keys.press("Enter")
        expect(page.locator("#sheet")).to_be_hidden()
        expect(page.locator(paused_cell(seat))).to_contain_text("by keyboard p r j")
        assert focused_row(page) == f"seat-{seat}"
        keys.press("r")
        expect(page.locator(paused_cell(seat))).to_contain_text("not paused")


def test_escape_leaves_the_seat_as_it_was_and_focus_where_it_came_from(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    with visitors.window(node, OPERATOR) as window:
        page = window.open("/seats/")
        page.locator(f"#seat-{seat}-action-press").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#pause-reason")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#sheet")).to_be_hidden()
        expect(page.locator(f"#seat-{seat}-action-press")).to_be_focused()
    assert "paused" not in api.read_seat(node, seat)


def test_a_viewer_sees_the_control_disabled_with_the_reason_and_a_forced_post_is_refused(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    with visitors.window(node, VIEWER) as window:
        page = window.open("/seats/")
        control = page.locator(f"#seat-{seat}-action button")
        expect(control).to_be_disabled()
        expect(control).to_have_text("needs the operator role")
        detail = window.open(f"/seats/{seat}/")
        expect(detail.get_by_role("button", name="Pause: needs the operator role")).to_be_disabled()

        token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
        form: Form = {"csrfmiddlewaretoken": token, "handle": seat, "reason": "forced"}
        headers = {"Origin": node.url, "Referer": f"{node.url}/seats/"}
        refused = window.context.request.post("/seats/pause/", form=form, headers=headers)
        assert refused.status == 403
        assert "operator" in refused.text()
        bare = window.context.request.post("/seats/pause/", form={"handle": seat}, headers=headers)
        assert bare.status == 403
    assert "paused" not in api.read_seat(node, seat)


def test_markup_in_a_reason_is_shown_as_text_everywhere(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    with visitors.window(node, OPERATOR) as window:
        seats, detail = window.open("/seats/"), window.open(f"/seats/{seat}/")
        form = window.open(f"/seats/pause/?handle={seat}", live=False)
        fill_and_send(form, seat, MARKUP)
        form.wait_for_url(f"**/seats/{seat}/")
        for page in (detail, form):
            expect(page.locator("#pause-record")).to_contain_text(MARKUP)
        expect(seats.locator(paused_cell(seat))).to_contain_text(MARKUP[:50])
        api.resume(node, seat)
        suggestions = window.open(f"/seats/pause/?handle={seat}", live=False)
        for page in (seats, detail, form, suggestions):
            assert page.locator("#bold, img[src=x]").count() == 0
            assert page.title() != "1"


def test_a_double_click_on_send_pauses_once(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    before = last_sequence(node, "KV_crewlet_positions")
    with visitors.window(node, OPERATOR) as window:
        page = window.open("/seats/")
        page.locator(f"#seat-{seat}-action-press").click()
        page.locator("#pause-reason").fill("twice is once")
        page.locator("#sheet button.primary").dblclick()
        expect(page.locator(".toast")).to_contain_text(f"Paused {seat}")
        expect(page.locator(".toast")).to_have_count(1)
        posts = [url for url in window.heard.requests if url.endswith("/seats/pause/")]
        assert len(posts) == 1
    assert last_sequence(node, "KV_crewlet_positions") == before + 1


def test_a_form_sent_twice_without_script_writes_one_record(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    before = last_sequence(node, "KV_crewlet_positions")
    with visitors.window(node, OPERATOR, scripts=False) as window:
        page = window.open(f"/seats/pause/?handle={seat}", live=False)
        page.locator("#pause-reason").fill("sent twice")
        names = ("csrfmiddlewaretoken", "handle", "request_id", "attempt")
        fields = {
            name: page.locator(f"[data-form-region] [name={name}]").input_value() for name in names
        }
        form: Form = {**fields, "reason": "sent twice", "turn": "finish", "do": "pause"}
        headers = {"Origin": node.url, "Referer": page.url}
        for _ in range(2):
            answer = window.context.request.post("/seats/pause/", form=form, headers=headers)
            assert answer.url.endswith(f"/seats/{seat}/"), answer.status
    assert last_sequence(node, "KV_crewlet_positions") == before + 1


def test_who_comes_second_sees_the_first_ones_pause_and_overwrites_nothing(
    node: RunningNode, visitors: Visitors, seat: str
) -> None:
    with visitors.window(node, OPERATOR, expected=("409",)) as window:
        page = window.open("/seats/")
        page.locator(f"#seat-{seat}-action-press").click()
        page.locator("#pause-reason").fill("the second reason")
        first = api.pause(node, seat, "the first reason")
        page.locator("#sheet button.primary").click()
        expect(page.locator("#outcome")).to_contain_text("Already paused by")
        expect(page.locator("#outcome")).to_contain_text("the first reason")
    paused = api.read_seat(node, seat)["paused"]
    assert (paused["version"], paused["reason"]) == (first["version"], "the first reason")
