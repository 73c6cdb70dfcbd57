"""A page is true within the half second, by watches alone, and says so when it cannot be."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.browser import api
from tests.browser.crawler import PEOPLE, Look, collect, documented
from tests.browser.plain_broker import muted
from tests.browser.visitors import ADMIN, AS_ADMIN, Visitors
from tests.support.running_node import RunningNode
from tests.support.waiting import eventually_blocking

pytestmark = [pytest.mark.browser, pytest.mark.broker]

SEEN_WITHIN = 0.5  # seconds from the record's own moment to the change of the page
ADMITTED_WITHIN = 12.0
LIVE_AGAIN_WITHIN = 15.0

WATCH_CELL = """id => {
  window.seenAt = [];
  const cell = document.getElementById(id);
  new MutationObserver(() => window.seenAt.push([Date.now() / 1000, cell.textContent]))
    .observe(cell, { subtree: true, childList: true, characterData: true, attributes: true });
}"""


@pytest.fixture(scope="module")
def unlisting() -> Iterator[RunningNode]:
    """A node that lists once, at the start: what its pages learn later, watches told."""
    with RunningNode(environ={**AS_ADMIN, "CREWLET_RELIST_SECONDS": "86400"}) as running:
        yield running


def seconds_until_seen(page: Page, node: RunningNode, seat: str, reason: str) -> float:
    """From the moment that the pause's record bears to the page's first word of it."""
    receipt = api.pause(node, seat, reason)
    expect(page.locator(f"#seat-{seat}-paused")).to_contain_text(reason)
    seen = [at for at, text in page.evaluate("window.seenAt") if reason in text]
    return float(min(seen)) - datetime.fromisoformat(receipt["paused_at"]).timestamp()


def test_with_listings_suppressed_a_pause_reaches_another_browser_within_half_a_second(
    unlisting: RunningNode, visitors: Visitors, measured: Callable[[str], None]
) -> None:
    seat, took = "bo-eng", []
    with visitors.window(unlisting, ADMIN) as window:
        page = window.open("/seats/")
        page.evaluate(WATCH_CELL, f"seat-{seat}-paused")
        for attempt in range(3):
            api.resume(unlisting, seat)
            expect(page.locator(f"#seat-{seat}-paused")).to_contain_text("not paused")
            took.append(seconds_until_seen(page, unlisting, seat, f"attempt {attempt}"))
            if took[-1] <= SEEN_WITHIN:
                break
        api.resume(unlisting, seat)
    measured(f"from the record to the page {min(took) * 1000:.0f} ms")
    assert 0 < min(took) <= SEEN_WITHIN, took


def test_with_the_watches_muted_the_page_admits_it_and_is_live_again_afterwards(
    unlisting: RunningNode, visitors: Visitors, measured: Callable[[str], None]
) -> None:
    seat = "cleo-eng"
    with visitors.window(unlisting, ADMIN) as window:
        seats, fleet = window.open("/seats/"), window.open("/fleet/")
        whole = {page: collect(page) for page in (seats, fleet)}
        cell = seats.locator(f"#seat-{seat}-paused")
        with muted(unlisting, "KV_crewlet_positions", "KV_crewlet_leases"):
            began = time.monotonic()
            api.pause(unlisting, seat, "nobody heard this")
            eventually_blocking(partial(admits, seats, whole[seats]), within=ADMITTED_WITHIN)
            eventually_blocking(partial(admits, fleet, whole[fleet]), within=ADMITTED_WITHIN)
            admitted_after = time.monotonic() - began
            assert admitted_after <= ADMITTED_WITHIN
            expect(seats.locator("#banner")).to_contain_text("Pauses could not be read")
            expect(fleet.locator("#banner")).to_contain_text("Membership could not be listed")
        ended = time.monotonic()
        expect(cell).to_contain_text("nobody heard this", timeout=LIVE_AGAIN_WITHIN * 1000)
        for page in (seats, fleet):
            eventually_blocking(partial(is_whole, page, whole[page]), within=LIVE_AGAIN_WITHIN)
        measured(f"admitted after {admitted_after:.1f} s, live in {time.monotonic() - ended:.1f} s")
        api.resume(unlisting, seat)


def admits(page: Page, before: Look) -> bool:
    look = collect(page)
    known = frozenset(key for key in before.facts if key.endswith("-config"))
    faults = look.broken(before, documented=documented(before, PEOPLE), known=known)
    assert faults == []
    return True


def is_whole(page: Page, before: Look) -> bool:
    now = collect(page)
    assert now.rows == before.rows
    dark = {
        key: fact.state for key, fact in now.facts.items() if fact.state in {"unknown", "stale"}
    }
    assert dark == {}
    return True
