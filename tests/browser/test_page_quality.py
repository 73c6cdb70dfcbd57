"""What every page owes its readers: access for all, no sideways scrolling, little on the wire."""

from collections.abc import Callable, Iterator
from pathlib import Path

import axe_core_python
import pytest
from playwright.sync_api import Page

from tests.browser import api
from tests.browser.visitors import ADMIN, Visitors
from tests.support.running_node import RunningNode

pytestmark = [pytest.mark.browser, pytest.mark.broker]

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PATHS = (
    "/fleet/",
    "/fleet/nodes/node-0/",
    "/seats/",
    "/seats/finn-ops/",
    "/seats/pause/?handle=ada-pm",
    "/seats/resume/?handle=finn-ops",
    "/settings/nodes/",
    "/settings/me/",
    "/people/",
    "/people/add/",
)
WIDTHS = (320, 390)
FIRST_LOAD_BYTES = 150 * 1024
FIRST_LOAD_REQUESTS = 8


@pytest.fixture(scope="module")
def furnished(node: RunningNode) -> Iterator[RunningNode]:
    """The quiet node with one seat paused at length."""
    api.pause(node, "finn-ops", "Long " * 60 + "Donaudampfschifffahrtsgesellschaft" * 4)
    yield node
    api.resume(node, "finn-ops")


def violations(page: Page, within: str = "html") -> list[str]:
    page.evaluate(AXE)
    found = page.evaluate("part => axe.run(part).then(result => result.violations)", within)
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_an_accessibility_violation(
    furnished: RunningNode, visitors: Visitors, theme: str
) -> None:
    found = {}
    with visitors.window(furnished, ADMIN, cookies={"theme": theme}) as window:
        page = window.context.new_page()
        for path in PATHS:
            page.goto(path)
            assert theme in (page.locator("html").get_attribute("class") or "")
            found[path] = violations(page)
        page.goto("/seats/")
        page.locator("#seat-ada-pm-action-press").click()
        page.locator("#pause-reason").wait_for()
        # What lies behind a modal dialog is dimmed on purpose.
        found["the dialog"] = violations(page, "#sheet")
    with visitors.window(furnished, None, cookies={"theme": theme}) as window:
        found["/sign-in/"] = violations(window.open("/sign-in/", live=False))
    assert {path: faults for path, faults in found.items() if faults} == {}


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_a_phone(
    furnished: RunningNode, visitors: Visitors, width: int
) -> None:
    too_wide = {}
    with (
        visitors.window(furnished, ADMIN, size=(width, 700)) as mine,
        visitors.window(furnished, None, size=(width, 700)) as strangers,
    ):
        page, gate = mine.context.new_page(), strangers.context.new_page()
        for tab, paths in ((page, PATHS), (gate, ("/sign-in/",))):
            for path in paths:
                tab.goto(path)
                taken = tab.evaluate("document.documentElement.scrollWidth")
                if taken > width:
                    too_wide[path] = taken
    assert too_wide == {}


def test_a_seat_is_paused_from_a_phone_in_four_taps(
    furnished: RunningNode, visitors: Visitors
) -> None:
    seat = "gus-qa"
    with visitors.window(furnished, ADMIN, size=(390, 800)) as window:
        page = window.open("/seats/")
        page.locator(f"#seat-{seat}-action-press").click()
        page.locator("#pause-reason").fill("from a phone")
        page.locator("#sheet button.primary").click()
        page.locator(".toast").wait_for()
    assert api.read_seat(furnished, seat)["paused"]["reason"] == "from a phone"
    api.resume(furnished, seat)


@pytest.mark.parametrize("path", ["/fleet/", "/seats/"])
def test_a_first_load_is_small_and_stays_at_home(
    furnished: RunningNode, visitors: Visitors, path: str, measured: Callable[[str], None]
) -> None:
    sizes: dict[str, float] = {}
    with visitors.window(furnished, ADMIN) as window:
        page = window.context.new_page()
        wire = window.context.new_cdp_session(page)
        wire.on(
            "Network.loadingFinished",
            lambda told: sizes.update({told["requestId"]: told["encodedDataLength"]}),
        )
        wire.send("Network.enable")
        page.goto(path, wait_until="networkidle")
        page.locator("#chip[data-reading=live]").wait_for()
        requests = [url for url in window.heard.requests if not url.startswith("data:")]
        measured(f"{len(requests)} requests, {sum(sizes.values()) / 1024:.0f} KiB")
        assert len(requests) <= FIRST_LOAD_REQUESTS, requests
        assert 10_000 < sum(sizes.values()) <= FIRST_LOAD_BYTES
        assert window.heard.elsewhere(furnished) == []
