"""A process is killed under open pages: what comes back, at which epochs, and what pages say."""

import os
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser import api
from tests.browser.crawler import collect
from tests.browser.visitors import ADMIN, AS_ADMIN, Visitors
from tests.support.running_node import RunningNode
from tests.support.waiting import eventually_blocking

pytestmark = [pytest.mark.browser, pytest.mark.broker, pytest.mark.slow]

SEATS = 24  # agent seats that the one node may hold


@pytest.fixture(scope="module")
def mortal() -> Iterator[RunningNode]:
    """A node of the tests that kill its processes."""
    with RunningNode(environ=AS_ADMIN) as running:
        yield running


def hold_all(node: RunningNode, above: dict[str, int]) -> dict[str, int]:
    """Epochs once every seat is held, each at an epoch above these."""

    def held() -> dict[str, int]:
        epochs = api.read_epochs(node)
        assert len(epochs) == SEATS
        behind = {seat for seat, epoch in epochs.items() if epoch <= above.get(seat, 0)}
        assert behind == set()
        return epochs

    return eventually_blocking(held, within=60)


def others(pids: dict[str, int], name: str) -> dict[str, int]:
    return {child: pid for child, pid in pids.items() if child != name}


def watch_truth(pages: dict[str, Page], rows: dict[str, frozenset[str]]) -> None:
    """No page lost a row, says that the store is down, or calls a fact unknown: all is answered."""
    for path, page in pages.items():
        look = collect(page)
        assert look.rows >= rows[path], path
        assert (look.chip, look.dark) == ("live", {}), path


def test_a_killed_node_process_is_back_with_its_seats_at_higher_epochs_and_pages_tell_the_truth(
    mortal: RunningNode, visitors: Visitors
) -> None:
    before = hold_all(mortal, {})
    pids, said, owner = mortal.pids(), len(mortal.said), api.read_owner(mortal)
    with visitors.window(mortal, ADMIN, expected=("404",)) as window:
        seats, fleet = window.open("/seats/"), window.open("/fleet/")
        detail = window.open("/fleet/nodes/node-0/")
        expect(detail.locator("#node-lease")).to_contain_text(owner)
        pages = {"/seats/": seats}
        rows = {path: collect(page).rows for path, page in pages.items()}
        os.kill(pids["node"], signal.SIGKILL)

        def is_back() -> bool:
            watch_truth(pages, rows)
            assert "node is back after" in mortal.said[said:]
            return True

        eventually_blocking(is_back, within=60)
        after = hold_all(mortal, before)
        renewed = api.read_owner(mortal)
        assert renewed != owner
        expect(detail.locator("#node-lease")).to_contain_text(renewed)
        expect(detail.locator("#node-lease")).not_to_contain_text(owner)
        expect(fleet.locator("#figure-held")).to_contain_text(str(SEATS))
        for seat in after:
            expect(seats.locator(f"#seat-{seat}-holder")).to_have_text("node-0")
            expect(seats.locator(f"#seat-{seat}-state")).to_have_text("idle")
        watch_truth({**pages, "/fleet/": fleet}, {**rows, "/fleet/": frozenset()})
    assert others(mortal.pids(), "node") == others(pids, "node")


def test_a_killed_broker_costs_no_other_process_and_its_leases_are_held_again(
    mortal: RunningNode, visitors: Visitors
) -> None:
    before = hold_all(mortal, {})
    pids, said = mortal.pids(), len(mortal.said)
    with visitors.window(mortal, ADMIN) as window:
        page = window.open("/seats/")
        rows = collect(page).rows
        os.kill(pids["broker"], signal.SIGKILL)
        mortal.await_said("broker is back after", after=said)

        def is_held_again() -> bool:
            answer = api.call(mortal, "GET", "/api/fleet")
            assert answer.status == 200
            epochs = {seat["handle"]: seat["epoch"] for seat in answer.body["seats"]}
            assert epochs.keys() == before.keys()
            assert all(epochs[seat] >= before[seat] for seat in before), "an epoch fell"
            assert all(seat["expires_in"] > 20 for seat in answer.body["seats"])
            look = collect(page)
            assert look.rows == rows
            assert (look.chip, look.dark) == ("live", {})
            return True

        eventually_blocking(is_held_again, within=45)
    assert others(mortal.pids(), "broker") == others(pids, "broker")
