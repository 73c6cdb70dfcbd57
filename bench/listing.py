"""A certified listing against the uncertified pass of the same keys.

    python -m bench.listing [--keys 10000 100000] [--rounds 7] [--members 1]

The reference is the same ordered pass alone, which may be short and cannot tell; the client
library's own pass is printed beside it. Each listing of the largest size is also made by a process
of its own, whose peak of memory is told.
"""

import argparse
import asyncio
import gc
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Final

import nats
import uvloop
from nats.aio.client import Client

from bench._fleet import IN_FLIGHT, Address
from bench._report import Figure, report
from coordination.contract.bucket import Entry
from coordination.contract.records import LeaseRecord, encode
from coordination.contract.store import Credentials
from coordination.jetstream.broker import Broker
from coordination.jetstream.listing import list_certified
from coordination.jetstream.ordered import PASS_BEAT, Beat, OrderedConsumer
from coordination.rules.keys import key_of
from tests.support.cluster import Cluster
from tests.support.nats_server import NatsServer

RATIO_BAR: Final = 1.5
LARGE: Final = 100_000
LARGE_WITHIN: Final = 5.0  # seconds
LARGE_WITHIN_MIB: Final = 200.0


async def fill(client: Client, bucket: str, keys: int, replicas: int) -> None:
    """A bucket of seat leases, as nodes write them."""
    js = client.jetstream(domain="crewlet")
    await js.create_key_value(bucket=bucket, replicas=replicas)
    room = asyncio.Semaphore(IN_FLIGHT)

    async def write(at: int) -> None:
        record = LeaseRecord(
            resource=f"seat:s{at:06d}",
            owner=f"fleet-{at % 100:04d}:node-5f2c9d31",
            epoch=3,
            ttl_ns=45_000_000_000,
            protocol=4,
        )
        async with room:
            subject = f"$KV.{bucket}.{key_of('seat', f's{at:06d}')}"
            await client.request(subject, encode(record, subject="bench"), timeout=30)

    await asyncio.gather(*(write(at) for at in range(keys)))


async def certified(broker: Broker, bucket: str, keys: int) -> None:
    """The listing every slot makes."""
    listed = await list_certified(broker, bucket, ">", what="bench")
    assert len(listed.entries) == keys, len(listed.entries)


async def uncertified(broker: Broker, bucket: str, keys: int) -> None:
    """The same pass, believed."""
    found: dict[str, Entry] = {}
    consumer = OrderedConsumer(broker, bucket, ">", beat=PASS_BEAT, operation="bench")
    await consumer.open()
    while len(found) < consumer.initial:
        item = await consumer.next()
        if item is None or isinstance(item, Beat):
            continue
        found[item.entry.key] = item.entry
        if item.pending == 0:
            break
    await consumer.close()
    assert len(sorted(found)) == keys, len(found)


async def library(client: Client, bucket: str, keys: int) -> None:
    """The client library's own pass."""
    kv = await client.jetstream(domain="crewlet").key_value(bucket)
    watch = await kv.watchall()
    found = {}
    async for entry in watch:
        if entry is None:
            break
        found[entry.key] = entry
    await watch.stop()  # type: ignore[no-untyped-call]
    assert len(found) == keys, len(found)


async def timed(step: Callable[[], Awaitable[None]]) -> float:
    """Seconds one takes, without a collection of the garbage before it."""
    gc.collect()
    began = time.perf_counter()
    await step()
    return time.perf_counter() - began


def list_alone(address: Address, bucket: str, keys: int) -> tuple[float, float, float]:
    """List once in a process of its own: seconds, peak MiB, and the peak before the listing."""

    async def listing() -> tuple[float, float, float]:
        broker = await connect(address)
        before = peak_mib()
        seconds = await timed(lambda: certified(broker, bucket, keys))
        await broker.close()
        return seconds, peak_mib(), before

    return uvloop.run(listing())


def peak_mib() -> float:
    """The most memory this process ever held; what it was forked from does not count."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


async def connect(address: Address) -> Broker:
    """The store's own connection, without a store."""
    return await Broker.connect(
        address.url,
        credentials=Credentials(user=address.user, password=address.password),
        domain=address.domain,
        name="bench",
    )


async def measure(sizes: list[int], rounds: int, members: int) -> list[Figure]:
    """Alternate the passes, so that a busy machine is busy for all."""
    figures: list[Figure] = []
    async with AsyncExitStack() as stack:
        if members == 1:
            server = await stack.enter_async_context(NatsServer(sync_interval="2m"))
        else:
            cluster = await stack.enter_async_context(Cluster(members, sync_interval="2m"))
            server = cluster.members[0]
        address = Address(url=server.url, user=server.user, password=server.password)
        client = await nats.connect(server.url, user=server.user, password=server.password)
        stack.push_async_callback(client.close)
        broker = await connect(address)
        stack.push_async_callback(broker.close)
        for keys in sizes:
            bucket = f"bench_{keys}"
            await fill(client, bucket, keys, members)
            figures += await compare(broker, client, bucket, keys, rounds)
            if keys >= LARGE:
                figures += await alone(address, bucket, keys)
    return figures


async def compare(
    broker: Broker, client: Client, bucket: str, keys: int, rounds: int
) -> list[Figure]:
    """The certified listing against the passes nobody certifies."""
    ours, passes, theirs = [], [], []
    await certified(broker, bucket, keys)
    for _ in range(rounds):
        passes.append(await timed(lambda: uncertified(broker, bucket, keys)))
        ours.append(await timed(lambda: certified(broker, bucket, keys)))
        theirs.append(await timed(lambda: library(client, bucket, keys)))
    ratio = median(one / other for one, other in zip(ours, passes, strict=True))
    return [
        Figure(
            what=f"certified listing of {keys:,} keys, median of {rounds}",
            value=median(ours) * 1000,
            unit="ms",
            bar=LARGE_WITHIN * 1000 if keys >= LARGE else None,
            reference=median(passes) * 1000,
            against="the same pass, uncertified",
        ),
        Figure(
            what=f"certified ÷ uncertified, {keys:,} keys, median of {rounds} pairs",
            value=ratio,
            unit="times",
            bar=RATIO_BAR,
        ),
        Figure(
            what=f"the client library's own pass of {keys:,} keys, for comparison",
            value=median(theirs) * 1000,
            unit="ms",
        ),
    ]


async def alone(address: Address, bucket: str, keys: int) -> list[Figure]:
    """A listing by a process of its own, which imports what a node does and lists once."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        running = pool.apply_async(list_alone, (address, bucket, keys))
        seconds, peak, before = await asyncio.to_thread(running.get)
    return [
        Figure(
            what=f"listing of {keys:,} keys by a fresh process",
            value=seconds,
            unit="s",
            bar=LARGE_WITHIN,
        ),
        Figure(
            what=f"its peak of memory ({before:.0f} MiB before the listing)",
            value=peak,
            unit="MiB",
            bar=LARGE_WITHIN_MIB,
        ),
    ]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=[10_000, LARGE])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--members", type=int, default=1)
    args = parser.parse_args()
    report(
        "Certified listings",
        uvloop.run(measure(args.keys, args.rounds, args.members)),
    )


if __name__ == "__main__":
    main()
