"""Certified listings on a real broker: what they cost, and that they leave nothing behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from nats.aio.client import Client

from coordination.contract.answers import Revision, Written
from coordination.contract.bucket import Operation
from coordination.errors import Unavailable
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer
from tests.support.proxy import TcpProxy
from tests.support.waiting import eventually


@pytest.fixture
async def counted(server: NatsServer, bucket: KvBucket) -> AsyncIterator[tuple[KvBucket, TcpProxy]]:
    """The bucket over a connection whose publishes are counted."""
    async with TcpProxy(server.port) as proxy:
        broker = await Broker.connect(
            proxy.url, credentials=credentials_of(server), domain=server.domain
        )
        yield KvBucket(broker, bucket.name, None), proxy
        await broker.close()


async def consumers(plain: Client, bucket: KvBucket) -> int:
    return len(await plain.jetstream().consumers_info(f"KV_{bucket.name}"))


async def test_an_empty_bucket_lists_as_nothing(bucket: KvBucket) -> None:
    listed = await bucket.listing(">", what="pauses")
    assert listed.entries == ()
    assert listed.seen == {}


async def test_a_listing_holds_every_key_once_sorted_and_nothing_of_another_class(
    bucket: KvBucket,
) -> None:
    for key in ("seat.b", "seat.a", "seat.a.deep", "seatbelt.x", "node.a"):
        await bucket.put(key, key.encode())
    await bucket.put("seat.b", b"newer")
    listed = await bucket.listing("seat.>", what="seats")
    assert [(entry.key, entry.value) for entry in listed.entries] == [
        ("seat.a", b"seat.a"),
        ("seat.a.deep", b"seat.a.deep"),
        ("seat.b", b"newer"),
    ]


async def test_a_listing_costs_two_index_requests_and_one_consumer_and_no_direct_get(
    counted: tuple[KvBucket, TcpProxy],
) -> None:
    bucket, proxy = counted
    for at in range(50):
        await bucket.put(f"k.{at}", b"1")
    proxy.published.clear()
    listed = await bucket.listing(">", what="fifty")
    assert len(listed.entries) == 50
    assert proxy.count("STREAM.INFO") == 2
    assert proxy.count("STREAM.MSG.GET") == 0
    assert proxy.count("CONSUMER.CREATE") == 1
    assert proxy.count("CONSUMER.DELETE") == 1
    assert proxy.count("DIRECT") == 0
    assert len(proxy.published) == 4


async def test_each_marker_costs_one_leader_read_and_is_remembered(
    counted: tuple[KvBucket, TcpProxy],
) -> None:
    bucket, proxy = counted
    for key in ("a", "b", "c"):
        await bucket.put(key, b"1")
    removed = await bucket.remove("b", Operation.PURGE)
    proxy.published.clear()
    listed = await bucket.listing(">", what="pauses")
    assert [entry.key for entry in listed.entries] == ["a", "c"]
    assert proxy.count("STREAM.MSG.GET") == 1
    assert isinstance(removed, Written)
    assert listed.seen["b"] == removed.revision


async def test_listings_under_writes_miss_nobody(bucket: KvBucket, store: object) -> None:
    keys = [f"n{at}" for at in range(5)]
    for key in keys:
        await bucket.put(key, b"1")
    stop = asyncio.Event()
    landed = 0

    async def rewrite(key: str) -> None:
        nonlocal landed
        while not stop.is_set():
            await bucket.put(key, b"2")
            landed += 1

    writers = [asyncio.create_task(rewrite(key)) for key in keys[::2]]
    try:
        for _ in range(100):
            listed = await bucket.listing(">", what="raced")
            assert [entry.key for entry in listed.entries] == keys
    finally:
        stop.set()
        await asyncio.gather(*writers)
    assert landed > 0, "no write raced a listing: this proved nothing"


async def test_listings_leave_no_consumer_also_when_cancelled(
    bucket: KvBucket, plain: Client
) -> None:
    for at in range(200):
        await bucket.put(f"k.{at}", b"1")
    await bucket.listing(">", what="whole")
    assert await consumers(plain, bucket) == 0
    for turns in range(12):
        listing = asyncio.create_task(bucket.listing(">", what="cut off"))
        for _ in range(turns):
            await asyncio.sleep(0)
        listing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listing

    async def none_left() -> bool:
        return await consumers(plain, bucket) == 0

    await eventually(none_left, within=2)


async def test_a_listing_cut_off_by_a_lost_link_names_itself(
    server: NatsServer, bucket: KvBucket
) -> None:
    await bucket.put("k", b"1")
    async with TcpProxy(server.port) as proxy:
        broker = await Broker.connect(
            proxy.url, credentials=credentials_of(server), domain=server.domain
        )
        proxy.stall()
        listing = asyncio.create_task(
            KvBucket(broker, bucket.name, None).listing(">", what="trim floors")
        )
        await eventually(lambda: proxy.held > 0)
        proxy.cut()
        with pytest.raises(Unavailable, match="trim floors"):
            await listing
        await broker.close()


async def test_the_clock_of_a_listing_is_not_before_it_began(bucket: KvBucket) -> None:
    before = await bucket.now()
    listed = await bucket.listing(">", what="clock")
    assert before <= listed.as_of <= await bucket.now()


async def test_a_key_larger_than_one_read_of_the_socket_is_listed_whole(bucket: KvBucket) -> None:
    large = bytes(range(256)) * 4096
    answer = await bucket.put("large", large)
    (entry,) = (await bucket.listing(">", what="large")).entries
    assert entry.value == large
    assert entry.revision == answer.revision != Revision(0)
