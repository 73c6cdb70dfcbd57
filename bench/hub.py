"""The hub of a web process while 10,000 seats renew: its share of a core, and how far it is behind.

    python -m bench.hub [--seats 10000] [--nodes 1000] [--rate 670] [--seconds 30]

A real `./crewlet up` on a broker that holds the fleet's records; a process of its own renews the
seats in turn. Every renewal is no news, so no page changes: what is measured is the cost of seeing
that. The share is that of the whole web process. The lag is that of a second hub in this program,
from a renewal's acknowledgement to its place in the projection; the reference is a bare nats-py
subscription to the same changes on the same loop.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg

from bench._fleet import Address, Renewing, handle_of, seat
from bench._report import Figure, percentile, report
from bench._site import Site, serving
from coordination.contract.store import Credentials, Store
from coordination.jetstream.store import open_jetstream
from runtime.hub.hub import Hub
from tests.support.waiting import eventually

TTL: Final = timedelta(hours=1)
SAMPLE_EVERY: Final = 0.1  # seconds between two renewals whose way is timed
LOOK_EVERY: Final = 0.001
SHARE_BAR: Final = 50.0  # percent of a core
LAG_BAR: Final = 100.0  # ms, p95
GROWTH_BAR: Final = 20.0  # ms, of the median from the first third to the last
SETTLES: Final = 3.0  # seconds of renewing before the clock starts


@dataclass(slots=True)
class Lags:
    """What was timed, in ms, in the order it happened."""

    hub: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)


def cpu_seconds(pid: int) -> float:
    """What a process has used since it began."""
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def open_hub(address: Address, stack: AsyncExitStack) -> Hub:
    """A hub as a web process runs it."""
    store = await open_jetstream(
        address.url,
        credentials=Credentials(user=address.user, password=address.password),
        domain=address.domain,
        lease_ttl=TTL,
    )
    stack.push_async_callback(store.close)

    async def held() -> Store:
        return store

    hub = Hub(held)
    running = asyncio.create_task(hub.run(), name="bench-hub")
    stack.callback(running.cancel)
    await eventually(lambda: hub.has_answered, within=20)
    return hub


class Bare:
    """The newest sequence that a plain subscription saw, by subject."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    async def open(self, client: Client, domain: str) -> None:
        """Subscribe by an ordered consumer of the library."""
        js = client.jetstream(domain=domain)
        await js.subscribe("$KV.crewlet_leases.seat.>", cb=self._hear, ordered_consumer=True)

    async def _hear(self, msg: Msg) -> None:
        self.seen[msg.subject] = msg.metadata.sequence.stream


async def time_the_way(site: Site, seconds: float, seats: int, nodes: int) -> Lags:
    """Renew a seat every now and then, and see when both know."""
    lags = Lags()
    address, web = site.address, site.node.pids()["web"]
    async with AsyncExitStack() as stack:
        hub = await open_hub(address, stack)
        client = await address.connect("bench-samples")
        stack.push_async_callback(client.close)
        bare = Bare()
        await bare.open(client, address.domain)
        js = client.jetstream(domain=address.domain)
        ends = time.perf_counter() + seconds
        at, looked, used = 0, time.perf_counter(), cpu_seconds(web)
        while time.perf_counter() < ends:
            at += 1
            subject, body = seat(at * 37 % seats, nodes, TTL, datetime.now(UTC))
            written = await js.publish(subject, body, timeout=30)
            await _see(lags, hub, bare, subject, handle_of(at * 37 % seats), written.seq)
            await asyncio.sleep(SAMPLE_EVERY)
            if time.perf_counter() - looked >= 1:
                now, spent = time.perf_counter(), cpu_seconds(web)
                lags.shares.append((spent - used) / (now - looked) * 100)
                looked, used = now, spent
    return lags


async def _see(lags: Lags, hub: Hub, bare: Bare, subject: str, handle: str, seq: int) -> None:
    began = time.perf_counter()
    missing = {"hub", "bare"}
    while missing:
        taken = hub.seats.projection.get(handle)
        passed = (time.perf_counter() - began) * 1000
        if "hub" in missing and taken is not None and taken.revision >= seq:
            lags.hub.append(passed)
            missing.discard("hub")
        if "bare" in missing and bare.seen.get(subject, 0) >= seq:
            lags.bare.append(passed)
            missing.discard("bare")
        if missing:
            await asyncio.sleep(LOOK_EVERY)


def growth(lags: list[float]) -> float:
    """How much longer the median of the last third is than that of the first."""
    third = max(1, len(lags) // 3)
    return max(0.0, percentile(lags[-third:], 0.5) - percentile(lags[:third], 0.5))


def judge(lags: Lags, idle: float) -> Iterable[Figure]:
    """The figures."""
    mean = sum(lags.shares) / len(lags.shares)
    yield Figure(
        what="web process, mean share of a core",
        value=mean,
        unit="%",
        bar=SHARE_BAR,
        reference=idle,
        against="the same process while nothing renews",
    )
    yield Figure(what="web process, busiest second", value=max(lags.shares), unit="%")
    for share, bar in ((0.5, None), (0.95, LAG_BAR)):
        yield Figure(
            what=f"renewal acknowledged to projection, p{share * 100:.0f}",
            value=percentile(lags.hub, share),
            unit="ms",
            bar=bar,
            reference=percentile(lags.bare, share),
            against="a bare nats-py ordered consumer",
        )
    yield Figure(
        what="growth of the median lag, first third to last",
        value=growth(lags.hub),
        unit="ms",
        bar=GROWTH_BAR,
    )


def idle_share(site: Site, seconds: float) -> float:
    """The web process's share of a core while nothing is written."""
    web = site.node.pids()["web"]
    began, used = time.perf_counter(), cpu_seconds(web)
    time.sleep(seconds)
    return (cpu_seconds(web) - used) / (time.perf_counter() - began) * 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--seats", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=670)
    parser.add_argument("--seconds", type=float, default=30)
    args = parser.parse_args()
    with serving(args.seats, ttl=TTL) as site:
        site.populate(nodes=args.nodes, seats=args.seats, pauses=40, ttl=TTL)
        idle = idle_share(site, min(args.seconds, 20))
        with Renewing(site.address, seats=args.seats, nodes=args.nodes, ttl=TTL, rate=args.rate):
            time.sleep(SETTLES)
            lags = uvloop.run(time_the_way(site, args.seconds, args.seats, args.nodes))
    figures = list(judge(lags, idle))
    report(f"The hub under {args.rate:,.0f} renewals a second of {args.seats:,} seats", figures)


if __name__ == "__main__":
    main()
