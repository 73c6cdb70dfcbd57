"""From a record's change to pixels, with 50 tabs open: 49 sockets and one Chromium page.

    python -m bench.live [--seats 10000] [--nodes 1000] [--changes 100] [--sockets 49] [--rate 0]

A real `./crewlet up` that shows a fleet of that size. Pauses are written and lifted straight at its
broker, at uneven intervals, so that some meet a batch under way. The time runs from before the
write until the frame is read at every socket, and until the browser has drawn the changed cell
(the animation frame after the mutation). The reference is a bare nats-py watch of the same key,
which receives the same change. `--rate` has seats renew meanwhile, which is no news to anybody.
"""

import argparse
import asyncio
import random
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, override

from nats.aio.msg import Msg
from playwright.async_api import Page, async_playwright

from bench._fleet import Renewing, handle_of
from bench._report import Figure, percentile, report
from bench._site import Site, Visitor, serving
from bench._socket import Tab, open_tab
from coordination.contract.pauses import Created, Pause
from coordination.contract.store import Credentials, Store
from coordination.jetstream.store import open_jetstream
from coordination.rules.instants import Instant
from coordination.rules.keys import key_of
from fleet.pages.dom import row_id
from tests.support.browser import FLAGS
from tests.support.waiting import eventually

TTL: Final = timedelta(hours=1)
BAR: Final = 500.0  # ms, p95
LATE_BAR: Final = 2_000.0  # ms, p99
PAUSES: Final = (0.1, 0.8)  # seconds between two changes
WITHIN: Final = 10.0
SHOWN: Final = 100  # seats of the first page that are paused and resumed
VIEWED: Final = "sort=handle"
# What the other tabs look at; every third socket each.
OTHERS: Final = (("seats", VIEWED), ("fleet", ""), ("seats", "q=eng"))
ARM: Final = """id => {
  const cell = () => document.getElementById(id).outerHTML;
  const before = cell();
  window.armed = new Promise(resolve => {
    const observer = new MutationObserver(() => {
      if (cell() === before) return;
      observer.disconnect();
      const changed = Date.now();
      requestAnimationFrame(() => setTimeout(() => resolve([changed, Date.now()])));
    });
    const all = {subtree: true, childList: true, attributes: true, characterData: true};
    observer.observe(document, all);
  });
}"""


@dataclass(slots=True)
class Times:
    """Milliseconds from before each write."""

    bare: list[float] = field(default_factory=list)
    acknowledged: list[float] = field(default_factory=list)
    sockets: list[float] = field(default_factory=list)
    slowest: list[float] = field(default_factory=list)
    mutated: list[float] = field(default_factory=list)
    drawn: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Awaited:
    """The change under way: its seat, and who was told of it when (wall clock, seconds)."""

    handle: str = ""
    told: dict[int, float] = field(default_factory=dict)
    bare: float = 0.0


class Watching(Tab):
    """Notes when it is told of the awaited seat."""

    def __init__(self, view: tuple[str, str], awaited: Awaited) -> None:
        super().__init__(view)
        self._awaited = awaited

    @override
    def hear(self, frame: dict[str, Any], size: int) -> None:
        now, awaited = time.time(), self._awaited
        if frame["kind"] != "cells" or not awaited.handle:
            return
        named = row_id("seat", awaited.handle) + "-paused" in frame["cells"]
        if named or awaited.handle in frame["say"]:
            awaited.told.setdefault(id(self), now)


async def open_tabs(site: Site, visitor: Visitor, count: int, awaited: Awaited) -> None:
    """Open the sockets and wait until each has been greeted."""
    tabs = [Watching(OTHERS[at % len(OTHERS)], awaited) for at in range(count)]
    for tab in tabs:
        await open_tab(site, visitor, tab)

    def are_greeted() -> bool:
        return all(tab.is_greeted for tab in tabs)

    await eventually(are_greeted, within=30)


@asynccontextmanager
async def browser_page(site: Site, visitor: Visitor) -> AsyncIterator[Page]:
    """The seats in a browser, live."""
    binary = shutil.which("chromium")
    assert binary, "chromium is missing: scripts/ensure-chromium installs it"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=binary, args=list(FLAGS))
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        for name, value in visitor.cookies.items():
            await context.add_cookies([{"name": name, "value": value, "url": site.node.url}])
        page = await context.new_page()
        greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        page.on(
            "websocket", lambda socket: socket.once("framereceived", lambda _: _settle(greeted))
        )
        await page.goto(f"{site.node.url}/seats/?{VIEWED}")
        await asyncio.wait_for(greeted, WITHIN)
        yield page
        await browser.close()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def watch_bare(site: Site, awaited: Awaited, stack: AsyncExitStack) -> None:
    """The same records through the library's own watch."""
    address = site.address
    client = await address.connect("bench-bare")
    stack.push_async_callback(client.close)

    async def hear(msg: Msg) -> None:
        if awaited.handle and msg.subject.endswith(key_of(awaited.handle)):
            awaited.bare = awaited.bare or time.time()

    js = client.jetstream(domain=address.domain)
    await js.subscribe("$KV.crewlet_positions.seat_pause.>", cb=hear, ordered_consumer=True)


async def change(store: Store, handle: str) -> None:
    """Pause a seat that is not paused, and resume it otherwise."""
    standing = await store.pauses.get(handle)
    if isinstance(standing, Pause):
        await store.pauses.lift(handle, standing.revision)
        return
    record = Pause(handle=handle, by="jonas", at=Instant.of(datetime.now(UTC)), reason="Incident")
    answer = await store.pauses.create(record)
    assert isinstance(answer, Created)


async def time_changes(
    page: Page, store: Store, awaited: Awaited, sockets: int, handles: list[str]
) -> Times:
    """One change after another, each awaited everywhere."""
    times = Times()
    for handle in handles:
        await page.evaluate(ARM, row_id("seat", handle) + "-paused")
        awaited.told, awaited.bare, awaited.handle = {}, 0.0, handle
        began = time.time()
        await change(store, handle)
        times.acknowledged.append((time.time() - began) * 1000)
        changed, drawn = await page.evaluate("window.armed")
        await eventually(lambda: len(awaited.told) == sockets and awaited.bare, within=WITHIN)
        arrivals = [(at - began) * 1000 for at in awaited.told.values()]
        times.sockets += arrivals
        times.slowest.append(max(arrivals))
        times.bare.append((awaited.bare - began) * 1000)
        times.mutated.append(changed - began * 1000)
        times.drawn.append(drawn - began * 1000)
        await asyncio.sleep(random.uniform(*PAUSES))
    return times


async def measure(site: Site, seats: int, changes: int, sockets: int) -> Times:
    """Open everything, then change."""
    visitor, awaited, address = site.visitor(), Awaited(), site.address
    async with AsyncExitStack() as stack:
        store = await open_jetstream(
            address.url,
            credentials=Credentials(user=address.user, password=address.password),
            domain=address.domain,
            lease_ttl=TTL,
        )
        stack.push_async_callback(store.close)
        await watch_bare(site, awaited, stack)
        page = await stack.enter_async_context(browser_page(site, visitor))
        await open_tabs(site, visitor, sockets, awaited)
        shown = sorted(handle_of(at) for at in range(seats))[:SHOWN]
        handles = [random.choice(shown) for _ in range(changes)]
        return await time_changes(page, store, awaited, sockets, handles)


def judge(times: Times) -> list[Figure]:
    """The figures."""
    against = "a bare nats-py watch of the same key"
    figures = []
    for what, values, bars in (
        ("record changed to drawn in the browser", times.drawn, (None, BAR, LATE_BAR)),
        ("record changed to the cell's mutation", times.mutated, (None, BAR, LATE_BAR)),
        ("record changed to frame, any socket", times.sockets, (None, BAR, LATE_BAR)),
        ("record changed to frame, the last socket", times.slowest, (None, BAR, LATE_BAR)),
        ("the write alone, acknowledged", times.acknowledged, (None, None, None)),
    ):
        for share, bar in zip((0.5, 0.95, 0.99), bars, strict=True):
            figures.append(
                Figure(
                    what=f"{what}, p{share * 100:.0f}",
                    value=percentile(values, share),
                    unit="ms",
                    bar=bar,
                    reference=percentile(times.bare, share),
                    against=against,
                )
            )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--seats", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--sockets", type=int, default=49)
    parser.add_argument("--rate", type=float, default=0)
    args = parser.parse_args()
    with serving(args.seats, ttl=TTL) as site:
        site.populate(nodes=args.nodes, seats=args.seats, pauses=0, ttl=TTL)
        with Renewing(site.address, seats=args.seats, nodes=args.nodes, ttl=TTL, rate=args.rate):
            times = asyncio.run(measure(site, args.seats, args.changes, args.sockets))
    title = f"Live, {args.sockets} sockets and one browser, {args.seats:,} seats"
    report(f"{title}, {args.rate:,.0f} renewals a second", judge(times))


if __name__ == "__main__":
    main()
