"""Lease renewals a second through the store, against a bare client doing the same two requests.

    python -m bench.renewals [--members 3] [--seconds 9]

On as many members, each record kept by all of them; 64 renewals in flight, each one read from the
leader and one compare-and-set. The two take turns, and the figure is the median of their pairs, so
that a busy machine is busy for both.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from statistics import median

import nats
import uvloop
from nats.aio.client import Client

from bench._report import Figure, report
from coordination.contract.answers import Owner
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.contract.store import Credentials
from coordination.jetstream.store import JetStreamStore, open_jetstream
from coordination.rules.keys import Resource
from tests.support.cluster import Cluster
from tests.support.nats_server import NatsServer

IN_FLIGHT = 64
ROUNDS = 9
TTL = timedelta(seconds=45)
OWNER = Owner("bench:bench-0")


async def rate(step: Callable[[int], Awaitable[None]], seconds: float) -> float:
    """Steps a second with `IN_FLIGHT` of them at work."""
    ends = time.perf_counter() + seconds
    done = 0

    async def work(at: int) -> None:
        nonlocal done
        while time.perf_counter() < ends:
            await step(at)
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*(work(at) for at in range(IN_FLIGHT)))
    return done / (time.perf_counter() - began)


async def through_the_store(store: JetStreamStore) -> Callable[[int], Awaitable[None]]:
    """One renewal of lease number `at`."""
    held: list[Lease] = []
    for at in range(IN_FLIGHT):
        granted = await store.leases.acquire(
            Resource.parse(f"seat:s{at}"), owner=OWNER, ttl=TTL, gated=False
        )
        assert isinstance(granted, Granted), granted
        held.append(granted.lease)

    async def renew(at: int) -> None:
        answer = await store.leases.renew(held[at], ttl=TTL)
        assert isinstance(answer, Renewed), answer
        held[at] = answer.lease

    return renew


async def bare(client: Client, domain: str, stream: str) -> Callable[[int], Awaitable[None]]:
    """The same leader read and compare-and-set with the library's own calls."""
    js = client.jetstream(domain=domain)

    async def renew(at: int) -> None:
        subject = f"$KV.{stream.removeprefix('KV_')}.seat.s{at}"
        found = await js.get_last_msg(stream, subject)
        record = json.loads(found.data or b"{}")
        await js.publish(
            subject,
            json.dumps(record).encode(),
            headers={"Nats-Expected-Last-Subject-Sequence": str(found.seq)},
        )

    return renew


async def measure(members: int, seconds: float) -> tuple[list[float], list[float]]:
    """Renewals a second through the store and bare, pair by pair."""
    async with AsyncExitStack() as stack:
        if members == 1:
            server = await stack.enter_async_context(NatsServer())
        else:
            cluster = await stack.enter_async_context(Cluster(members))
            server = cluster.members[0]
        store = await open_jetstream(
            server.url,
            credentials=Credentials(user=server.user, password=server.password),
            domain=server.domain,
            replicas=members,
        )
        stack.push_async_callback(store.close)
        client = await nats.connect(server.url, user=server.user, password=server.password)
        stack.push_async_callback(client.close)
        renew = await through_the_store(store)
        reference = await bare(client, server.domain, "KV_crewlet_leases")
        figures, references = [], []
        for _ in range(ROUNDS):
            references.append(await rate(reference, seconds / ROUNDS))
            figures.append(await rate(renew, seconds / ROUNDS))
    return figures, references


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=9.0)
    args = parser.parse_args()
    ours, bare = uvloop.run(measure(args.members, args.seconds))
    slower = median(theirs / mine for mine, theirs in zip(ours, bare, strict=True))
    figures = [
        Figure(
            what="renewals a second through the store",
            value=median(ours),
            unit="renewals",
            reference=median(bare),
            against="a bare read from the leader and compare-and-set",
        ),
        Figure(
            what=f"time of one beside a bare one, median of {ROUNDS} pairs",
            value=slower,
            unit="times",
            bar=1.0,
        ),
    ]
    report(f"{IN_FLIGHT} renewals in flight on {args.members} member(s)", figures)


if __name__ == "__main__":
    main()
