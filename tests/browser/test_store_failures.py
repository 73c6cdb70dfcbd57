"""When the store cannot be asked, no page claims to know what it does not."""

import re
import time
from collections.abc import Callable, Iterator, Mapping

import pytest
from playwright.sync_api import Page

from tests.browser import api
from tests.browser.crawler import PEOPLE, Look, collect, documented, fetch
from tests.browser.faults import FAULTS, Fault
from tests.browser.visitors import ADMIN, AS_ADMIN, Visitors
from tests.support.running_node import RunningNode
from tests.support.waiting import eventually_blocking

pytestmark = [pytest.mark.browser, pytest.mark.broker, pytest.mark.slow]

DARK_WITHIN = 12.0
LIVE_AGAIN_WITHIN = 15.0
PATHS = (
    "/fleet/",
    "/fleet/nodes/node-0/",
    "/seats/",
    "/seats/finn-ops/",
    "/seats/ada-pm/",
    "/settings/nodes/",
)


@pytest.fixture(scope="module")
def failing() -> Iterator[RunningNode]:
    """A node of the tests that fail its broker; one of its seats is paused."""
    with RunningNode(environ=AS_ADMIN) as running:
        eventually_blocking(lambda: len(api.read_epochs(running)) >= 24, within=30)
        api.pause(running, "finn-ops", "a harbour without cranes")
        yield running


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_no_fact_is_drawn_as_fresh_while_the_store_cannot_be_asked_and_all_are_once_it_can(
    failing: RunningNode, visitors: Visitors, fault: Fault, measured: Callable[[str], None]
) -> None:
    # A recreated bucket is empty at first, and the page of a node without a lease answers 404.
    with visitors.window(failing, ADMIN, expected=("404",)) as window:
        pages = {path: window.open(path) for path in PATHS}
        before = {path: read_whole(page) for path, page in pages.items()}
        for page in pages.values():
            page.evaluate("window.hasStayed = true")
        with fault.befall(failing):
            began = time.monotonic()
            eventually_blocking(lambda: is_dark(pages, before, fault), within=DARK_WITHIN)
            dark_after = time.monotonic() - began
            assert dark_after <= DARK_WITHIN
            for path, page in pages.items():
                status, look = fetch(page, path)
                assert (status, faults_of(look, before[path], fault)) == (200, []), path
                assert (look.chip == "store") is fault.is_silent
            cause = "did not answer" if fault.is_silent else "answers, but not about these"
            assert cause in collect(pages["/fleet/"]).banner
            answer = api.call(failing, "GET", "/api/fleet")
            assert (answer.status, answer.body["error"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) > 0
            assert is_dark(pages, before, fault)
        ended = time.monotonic()
        eventually_blocking(lambda: is_live(pages), within=LIVE_AGAIN_WITHIN)
        live_after = time.monotonic() - ended
        eventually_blocking(lambda: is_as_before(pages, before), within=45)
        assert all(page.evaluate("window.hasStayed") for page in pages.values())
        eventually_blocking(
            lambda: api.call(failing, "GET", "/api/fleet").status == 200,
            within=max(LIVE_AGAIN_WITHIN - live_after, 1),
        )
    measured(f"dark after {dark_after:.1f} s, live again after {live_after:.1f} s")


def read_whole(page: Page) -> Look:
    def whole() -> Look:
        look = collect(page)
        assert look.dark == {}
        assert len(look.facts) > 5
        assert look.rows or "/seats/" in page.url
        return look

    return eventually_blocking(whole, within=30)


def faults_of(look: Look, before: Look, fault: Fault) -> list[str]:
    known = frozenset(key for key in before.facts if re.search(fault.still_known, key))
    return look.broken(before, documented=documented(before, PEOPLE), known=known)


def is_dark(pages: Mapping[str, Page], before: Mapping[str, Look], fault: Fault) -> bool:
    """Whether every page admits it; on the way there no row is lost and nothing turns to 0."""
    looks = {path: collect(page) for path, page in pages.items()}
    for path, look in looks.items():
        if look.rows != before[path].rows or look.zeroes(before[path]):
            pytest.fail(f"{path}: {before[path].rows - look.rows}, {look.zeroes(before[path])}")
    faults = {path: faults_of(look, before[path], fault) for path, look in looks.items()}
    assert {path: found for path, found in faults.items() if found} == {}
    # The chip has a frame of its own, so it may turn a moment after the cells.
    assert {look.chip for look in looks.values()} == {"store" if fault.is_silent else "live"}
    return True


def is_live(pages: Mapping[str, Page]) -> bool:
    """Whether every chip says so and no fact is marked."""
    for path, page in pages.items():
        look = collect(page)
        assert (path, look.chip, look.dark, look.banner) == (path, "live", {}, "")
    return True


def is_as_before(pages: Mapping[str, Page], before: Mapping[str, Look]) -> bool:
    """Whether every row and every fact is there again, in the state it was in."""
    for path, page in pages.items():
        look = collect(page)
        assert look.rows == before[path].rows
        assert states(look) == states(before[path])
    return True


def states(look: Look) -> dict[str, str]:
    return {key: fact.state for key, fact in look.facts.items()}
