"""The page's own scripts, in a real browser: what they show when frames, gaps and silence come."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from runtime import facts
from runtime.moments import Clock, moment_words
from tests.look.conftest import FORM, SAMPLE, Answer, Stage

pytestmark = pytest.mark.browser

PAUSED = facts.value("stopped, paused", "turn still running", mark="paused", tone="warn")

SET_CLOCK = """now => {
  Object.assign(document.documentElement.dataset, { tz: "company", companyZone: "Asia/Kolkata" });
  performance.now = () => 0;
  crewlet.setClock(now);
}"""
SAY_MOMENT = "([iso, form]) => crewlet.words(iso, form)"
REFUSE = """() => {
  window.WebSocket = class {
    constructor() { setTimeout(() => this.onclose({ code: 1006 })); }
    close() {}
  };
}"""


def test_a_cell_is_patched_in_place_under_the_strict_policy(
    stage: Stage, errors: list[str]
) -> None:
    stage.clock()
    row = stage.page.locator("#seat-ada").element_handle()
    stage.cells(1, 0, say="ada is paused", ada=PAUSED)
    expect(stage.page.locator("#state-ada")).to_contain_text("turn still running")
    assert row is not None
    assert row.evaluate("row => row.isConnected")
    expect(stage.page.locator("#say")).to_have_text("ada is paused")
    assert errors == []


def test_the_hello_names_the_page(stage: Stage) -> None:
    stage.clock()
    expect(stage.page.locator("#chip")).to_have_attribute("data-reading", "live")
    hello = stage.hellos[0]
    made_at = datetime.fromisoformat(str(hello.pop("made_at")))
    assert datetime.now(UTC) - made_at < timedelta(seconds=30)
    assert hello == {"kind": "hello", "build": "0.1.0", "page": "seats", "subject": "", "query": ""}


def test_focus_stays_on_a_link_whose_cell_is_patched(stage: Stage) -> None:
    stage.clock()
    stage.page.locator("#seat-ada a").first.focus()
    stage.cells(1, 0, ada=PAUSED)
    expect(stage.page.locator("#state-ada")).to_contain_text("stopped, paused")
    expect(stage.page.locator("#seat-ada a").first).to_be_focused()


def test_rows_wait_for_the_reader_while_cells_do_not(stage: Stage) -> None:
    stage.clock()
    stage.seats = ["ada", "bo", "cleo"]
    stage.page.locator("#seat-bo a").first.focus()
    stage.send(kind="rows", topic="seats", rev=1, prev_rev=0, appeared=["seat-cleo"], left=[])
    expect(stage.page.locator("#pending")).to_contain_text("Order held, 1 change")
    assert stage.page.locator("#seat-cleo").count() == 0
    stage.page.keyboard.press(".")
    expect(stage.page.locator("#seat-cleo")).to_be_visible()
    expect(stage.page.locator("#pending")).to_be_hidden()
    expect(stage.page.locator("#seat-bo a").first).to_be_focused()


def test_a_row_that_left_is_a_ghost_until_the_changes_are_applied(stage: Stage) -> None:
    stage.clock()
    stage.seats = ["ada"]
    stage.page.keyboard.press("f")
    stage.send(kind="rows", topic="seats", rev=1, prev_rev=0, appeared=[], left=["seat-bo"])
    expect(stage.page.locator("#seat-bo.ghost")).to_be_visible()
    stage.page.locator("[data-apply]").click()
    expect(stage.page.locator("#seat-bo")).to_have_count(0)


def test_a_gap_in_the_revisions_reads_the_region_again(stage: Stage) -> None:
    stage.clock()
    stage.cells(1, 0, ada=PAUSED)
    expect(stage.page.locator("#state-ada")).to_contain_text("stopped, paused")
    stage.states["bo"] = PAUSED
    stage.cells(7, 6, ada=facts.value("working", mark="working"))
    expect(stage.page.locator("#state-bo")).to_contain_text("stopped, paused")


def test_a_store_that_is_down_changes_the_chip_and_the_title(stage: Stage) -> None:
    stage.clock("down", timedelta(seconds=90))
    expect(stage.page.locator("#chip")).to_contain_text("Store not answering")
    expect(stage.page.locator("#chip")).to_contain_text("1 min 30 s")
    expect(stage.page).to_have_title("Seats · Harbourline (not live)")
    stage.clock()
    expect(stage.page.locator("#chip")).to_contain_text("Live")
    expect(stage.page).to_have_title("Seats · Harbourline")


def test_a_socket_that_is_cut_and_refused_turns_to_polling_and_keeps_reading(stage: Stage) -> None:
    stage.clock()
    stage.states["ada"] = PAUSED
    stage.page.evaluate(REFUSE)
    stage.sockets[-1].close(code=1006)
    expect(stage.page.locator("#chip")).to_have_attribute("data-reading", "disconnected")
    expect(stage.page.locator("#chip")).to_have_attribute("data-reading", "polling", timeout=15_000)
    expect(stage.page.locator("#state-ada")).to_contain_text("stopped, paused")


def test_a_silent_socket_is_disconnected_within_twelve_seconds(stage: Stage) -> None:
    stage.clock()
    expect(stage.page.locator("#chip")).to_have_attribute("data-reading", "live")
    stage.serves_pages = False
    expect(stage.page.locator("#chip")).to_have_attribute(
        "data-reading", "disconnected", timeout=12_500
    )
    expect(stage.page).to_have_title("Seats · Harbourline (not live)")


def test_a_signed_out_socket_says_so_and_stays_closed(stage: Stage) -> None:
    stage.clock()
    stage.sockets[-1].close(code=4401)
    expect(stage.page.locator("#signed-out")).to_be_visible()
    assert len(stage.sockets) == 1


def test_a_typed_word_is_never_patched_away(stage: Stage) -> None:
    stage.clock()
    stage.page.locator("#find").fill("vendor")
    stage.send(kind="resync", topic="seats")
    stage.states["ada"] = PAUSED
    expect(stage.page.locator("#state-ada")).to_contain_text("paused")
    expect(stage.page.locator("#find")).to_have_value("vendor")


def test_the_dialog_sends_one_request_for_two_presses_and_shows_the_outcome(
    stage: Stage, errors: list[str]
) -> None:
    stage.clock()
    stage.answer = lambda: (422, {}, stage.html(FORM, outcome="Already paused by Jonas"))
    stage.page.locator("#pause-ada").click()
    stage.page.locator("#reason").fill("vendor incident")
    expect(stage.page.locator("#counter")).to_have_text("15 of 500")
    stage.page.locator("#sheet .primary").dblclick()
    expect(stage.page.locator("#sheet #outcome")).to_have_text("Already paused by Jonas")
    assert len(stage.posts) == 1
    assert "vendor" in stage.posts[0]
    assert [line for line in errors if "422" not in line] == []


def test_a_recorded_pause_closes_the_dialog_says_it_and_gives_focus_back(stage: Stage) -> None:
    stage.clock()

    def recorded() -> Answer:
        stage.states["ada"] = PAUSED
        return 303, {"Location": "/seats/"}, ""

    stage.answer = recorded
    stage.page.locator("#pause-ada").click()
    stage.page.locator("#reason").fill("x")
    stage.page.keyboard.press("Tab")
    stage.page.locator("#sheet .primary").click()
    expect(stage.page.locator("#sheet")).to_be_hidden()
    expect(stage.page.locator("#pause-ada")).to_be_focused()
    expect(stage.page.locator("#state-ada")).to_contain_text("paused")


def test_an_answer_that_never_came_keeps_what_was_typed_and_says_so(stage: Stage) -> None:
    stage.clock()
    stage.answer = lambda: None
    stage.page.locator("#pause-ada").click()
    stage.page.locator("#reason").fill("vendor incident")
    stage.page.locator("#sheet .primary").click()
    expect(stage.page.locator("#sheet [data-notice]")).to_contain_text("may or may not")
    expect(stage.page.locator("#reason")).to_have_value("vendor incident")
    expect(stage.page.locator("#sheet .primary")).to_have_text("Pause ada")


def test_the_dialog_says_when_its_subject_changed(stage: Stage) -> None:
    stage.clock()
    stage.page.locator("#pause-ada").click()
    expect(stage.page.locator("#sheet")).to_be_visible()
    stage.cells(1, 0, ada=PAUSED)
    expect(stage.page.locator("#sheet [data-notice]")).to_contain_text("changed meanwhile")


def test_keys_walk_the_rows_and_open_the_form(stage: Stage) -> None:
    stage.clock()
    stage.page.keyboard.press("j")
    stage.page.keyboard.press("j")
    expect(stage.page.locator("#seat-bo")).to_be_focused()
    stage.page.keyboard.press("k")
    stage.page.keyboard.press("p")
    expect(stage.page.locator("#sheet")).to_be_visible()
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("?")
    expect(stage.page.locator("#keys")).to_be_visible()


def test_keys_are_silent_in_fields_and_when_switched_off(stage: Stage) -> None:
    stage.clock()
    stage.page.locator("#find").press("?")
    expect(stage.page.locator("#keys")).to_be_hidden()
    stage.page.evaluate("document.documentElement.dataset.keys = 'off'")
    stage.page.locator("#content").focus()
    stage.page.keyboard.press("?")
    expect(stage.page.locator("#keys")).to_be_hidden()


def test_the_browser_speaks_of_moments_in_the_words_of_the_server(stage: Stage) -> None:
    ages = (-200_000, -7_740, -125, -11, 0, 6, 59, 61, 599, 601, 3_599, 3_600, 7_740, 86_400)
    zone = ZoneInfo("Asia/Kolkata")
    now = datetime(2026, 3, 29, 0, 59, 30, tzinfo=UTC)
    clock = Clock(now=now, mode="company", company=zone)
    stage.page.clock.set_fixed_time(now)
    stage.page.evaluate(SET_CLOCK, now.isoformat())
    for age in (*ages, 86_400 * 25, 86_400 * 400):
        for form in ("ago", "span", "in", "at", "full"):
            at = now - timedelta(seconds=age)
            said = stage.page.evaluate(SAY_MOMENT, [at.isoformat(), form])
            assert said == moment_words(at, form, clock), (age, form)


def test_times_are_told_in_the_zone_that_is_chosen(stage: Stage) -> None:
    stage.page.locator(".top [data-timezone]").select_option("reader")
    assert "tz=reader" in stage.page.evaluate("document.cookie")
    assert stage.page.evaluate("document.documentElement.dataset.tz") == "reader"


def test_the_sample_page_reads_without_a_script(stage: Stage) -> None:
    html = stage.html(SAMPLE)
    assert "As loaded" in html
    assert "Refresh" in html
