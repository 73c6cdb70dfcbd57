"""A pause written, until every one of 20 watchers holds it.

    python -m bench.pauses [--watchers 20] [--pauses 300] [--members 1]

Each watcher is a store of its own on a connection of its own, as the nodes of a fleet are, all of
them in this one program. The clock starts before the pause is sent, so its write is part of it. The
reference is the client library's own watch on as many connections, and a bare publish.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import nats
import uvloop

from bench._report import Figure, percentile, report
from coordination.contract.pauses import Created, Lifted, Pause
from coordination.contract.records import PauseRecord, encode
from coordination.contract.store import Credentials, Store
from coordination.contract.watch import Change, Snapshot
from coordination.jetstream.store import open_jetstream
from coordination.rules.instants import Instant
from tests.support.cluster import Cluster
from tests.support.nats_server import NatsServer

BAR: Final = 50.0  # ms, p99
BARE: Final = "bench_bare"
PACE: Final = 0.01  # seconds between two pauses
HELD_WITHIN: Final = 10.0


@dataclass(slots=True)
class Round:
    """One pause under way: which watchers have not got it yet."""

    handle: str = ""
    left: int = 0
    held: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, handle: str, watchers: int) -> None:
        """Wait for this one from now on."""
        self.handle, self.left = handle, watchers
        self.held.clear()

    def got(self, handle: str) -> None:
        """A watcher holds a pause."""
        if handle == self.handle:
            self.left -= 1
            if not self.left:
                self.held.set()


async def follow(store: Store, now: Round, ready: asyncio.Event) -> None:
    """Hold the pauses, as a node does."""
    async with await store.pauses.watch() as watch:
        async for event in watch:
            match event:
                case Snapshot():
                    ready.set()
                case Change(item=pause):
                    now.got(pause.handle)


async def follow_bare(watch: Any, now: Round) -> None:
    """The library's own watch."""
    async for entry in watch:
        if entry is not None and entry.value:
            now.got(entry.key)


async def timed(
    now: Round, watchers: int, handle: str, write: Callable[[], Awaitable[None]]
) -> float:
    """Milliseconds from before a write until every watcher holds it."""
    now.begin(handle, watchers)
    began = time.perf_counter()
    await write()
    async with asyncio.timeout(HELD_WITHIN):
        await now.held.wait()
    return (time.perf_counter() - began) * 1000


def pause_of(handle: str) -> Pause:
    """What a person writes."""
    at = Instant(time.time_ns())
    return Pause(handle=handle, by="ada", at=at, reason="Vendor incident, waiting for their fix")


def body_of(handle: str) -> bytes:
    """The same record, for the bare publish."""
    pause = pause_of(handle)
    record = PauseRecord(handle=handle, by=pause.by, at=pause.at, reason=pause.reason)
    return encode(record, subject=handle)


async def through_the_store(
    stack: AsyncExitStack, server: NatsServer, watchers: int, replicas: int
) -> Callable[[int], Awaitable[float]]:
    """Times pause number `at`, and lifts it again."""

    async def connect(at: int) -> Store:
        store = await open_jetstream(
            server.url,
            credentials=Credentials(user=server.user, password=server.password),
            domain=server.domain,
            replicas=replicas,
            name=f"bench-{at}",
        )
        stack.push_async_callback(store.close)
        return store

    writer = await connect(0)
    now = Round()
    for at in range(watchers):
        ready = asyncio.Event()
        following = asyncio.create_task(follow(await connect(at + 1), now, ready))
        stack.callback(following.cancel)
        await ready.wait()

    async def sample(at: int) -> float:
        handle = f"seat-{at}"
        versions = []

        async def write() -> None:
            created = await writer.pauses.create(pause_of(handle))
            assert isinstance(created, Created), created
            versions.append(created.version)

        took = await timed(now, watchers, handle, write)
        assert isinstance(await writer.pauses.lift(handle, versions[0]), Lifted)
        return took

    return sample


async def bare(
    stack: AsyncExitStack, server: NatsServer, watchers: int, replicas: int
) -> Callable[[int], Awaitable[float]]:
    """The same with the library's own calls."""

    async def bucket() -> Any:
        client = await nats.connect(server.url, user=server.user, password=server.password)
        stack.push_async_callback(client.close)
        js = client.jetstream(domain=server.domain)
        return await js.create_key_value(bucket=BARE, replicas=replicas)

    writer = await bucket()
    now = Round()
    for _ in range(watchers):
        following = asyncio.create_task(follow_bare(await (await bucket()).watchall(), now))
        stack.callback(following.cancel)

    async def sample(at: int) -> float:
        key = f"seat-{at}"

        async def write() -> None:
            await writer.put(key, body_of(key))

        took = await timed(now, watchers, key, write)
        await writer.purge(key)
        return took

    return sample


async def measure(watchers: int, pauses: int, members: int) -> list[Figure]:
    """Alternate the two, so that a busy machine is busy for both."""
    async with AsyncExitStack() as stack:
        if members == 1:
            server = await stack.enter_async_context(NatsServer())
        else:
            cluster = await stack.enter_async_context(Cluster(members))
            server = cluster.members[0]
        ours = await through_the_store(stack, server, watchers, members)
        theirs = await bare(stack, server, watchers, members)
        took: list[float] = []
        reference: list[float] = []
        for at in range(pauses):
            reference.append(await theirs(at))
            await asyncio.sleep(PACE)
            took.append(await ours(at))
            await asyncio.sleep(PACE)
    against = "the client library's own watch"
    return [
        Figure(
            what=f"until each of {watchers} watchers holds a pause, p99 of {pauses}",
            value=percentile(took, 0.99),
            unit="ms",
            bar=BAR,
            reference=percentile(reference, 0.99),
            against=against,
        ),
        Figure(
            what="the same, median",
            value=median(took),
            unit="ms",
            reference=median(reference),
            against=against,
        ),
    ]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=20)
    parser.add_argument("--pauses", type=int, default=300)
    parser.add_argument("--members", type=int, default=1)
    args = parser.parse_args()
    report("Pauses on their way", uvloop.run(measure(args.watchers, args.pauses, args.members)))


if __name__ == "__main__":
    main()
