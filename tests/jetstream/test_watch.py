"""Watches on a real broker: whole, in order, ending only by saying why, leaving nothing."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from nats.aio.client import Client

from coordination.contract.bucket import Entry, Operation
from coordination.contract.watch import Heard
from coordination.errors import Unavailable
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.listing import open_listing
from coordination.jetstream.ordered import WATCH_BEAT
from coordination.jetstream.store import open_jetstream
from coordination.jetstream.watch import KvWatch
from tests.jetstream.conftest import credentials_of
from tests.jetstream.test_listing import consumers
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually


async def next_entry(events: AsyncIterator[Entry | Heard]) -> Entry:
    async with asyncio.timeout(5):
        while isinstance(found := await anext(events), Heard):
            continue
    return found


async def ends(events: AsyncIterator[Entry | Heard], within: float) -> Unavailable:
    async with asyncio.timeout(within):
        with pytest.raises(Unavailable) as told:
            async for _ in events:
                pass
    return told.value


@pytest.fixture
def short_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordination.jetstream.watch.WATCH_BEAT", timedelta(milliseconds=200))


async def test_a_watch_answers_with_the_listing_and_then_with_every_change(
    bucket: KvBucket,
) -> None:
    await bucket.put("seat_pause.ops", b"1")
    await bucket.put("node.a", b"elsewhere")
    watch = await bucket.watch("seat_pause.>", what="seat pauses")
    assert [entry.key for entry in watch.listed.entries] == ["seat_pause.ops"]
    events = watch.events()
    await bucket.put("seat_pause.swe", b"2")
    await bucket.put("node.a", b"elsewhere")
    await bucket.remove("seat_pause.swe", Operation.PURGE)
    put, gone = await next_entry(events), await next_entry(events)
    assert (put.key, put.value, put.operation) == ("seat_pause.swe", b"2", Operation.PUT)
    assert (gone.key, gone.operation) == ("seat_pause.swe", Operation.PURGE)
    assert gone.revision > put.revision
    await watch.close()


async def test_a_watch_opened_among_writes_tells_nothing_twice(bucket: KvBucket) -> None:
    keys = [f"k.{at}" for at in range(20)]
    for key in keys:
        await bucket.put(key, b"1")
    stop = asyncio.Event()

    async def rewrite(some: list[str]) -> None:
        while not stop.is_set():
            for key in some:
                await bucket.put(key, b"2")

    writers = [asyncio.create_task(rewrite(keys[at::4])) for at in range(4)]
    told = 0
    try:
        for _ in range(30):
            watch = await bucket.watch(">", what="raced")
            newest = dict(watch.listed.seen)
            assert set(newest) == set(keys)
            events = watch.events()
            for _ in range(20):
                entry = await next_entry(events)
                assert entry.revision > newest[entry.key]
                newest[entry.key] = entry.revision
                told += 1
            await watch.close()
    finally:
        stop.set()
        await asyncio.gather(*writers)
    assert told > 0, "no write raced a watch: this proved nothing"


async def test_a_delivery_that_the_answer_already_holds_is_no_change(
    broker: Broker, bucket: KvBucket
) -> None:
    await bucket.put("lifted", b"paused")
    _, consumer = await open_listing(
        broker, bucket.name, ">", what="raced", beat=WATCH_BEAT, keep=True
    )
    await bucket.put("lifted", b"paused again")
    await bucket.remove("lifted", Operation.PURGE)
    # As a certification does that read the leader later than the pass delivered.
    watch = KvWatch(await bucket.listing(">", what="raced"), consumer)
    await bucket.put("other", b"news")
    assert (await next_entry(watch.events())).key == "other"
    await watch.close()


async def test_an_idle_watch_hears_that_the_broker_is_there(
    bucket: KvBucket, short_beats: None
) -> None:
    watch = await bucket.watch(">", what="pauses")
    async with asyncio.timeout(3):
        assert isinstance(await anext(watch.events()), Heard)
    await watch.close()


async def test_five_watches_opened_and_closed_leave_no_consumer(
    bucket: KvBucket, plain: Client
) -> None:
    watches = [await bucket.watch(">", what="pauses") for _ in range(5)]
    assert await consumers(plain, bucket) == 5
    for watch in watches:
        await watch.close()
        await watch.close()
    assert await consumers(plain, bucket) == 0


async def test_a_watch_cancelled_at_any_moment_of_its_opening_leaves_no_consumer(
    bucket: KvBucket, plain: Client
) -> None:
    made = 0
    for turns in range(40):
        opening = asyncio.create_task(bucket.watch(">", what="pauses"))
        for _ in range(turns):
            await asyncio.sleep(0.0002)
        if opening.done():
            await (await opening).close()
            made += 1
            continue
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    async def none_left() -> bool:
        return await consumers(plain, bucket) == 0

    await eventually(none_left, within=3)
    assert made < 40, "nothing was cut off: this proved nothing"


async def test_a_watch_that_is_closed_just_ends(bucket: KvBucket) -> None:
    watch = await bucket.watch(">", what="pauses")
    following = asyncio.ensure_future(anext(aiter(watch.events())))
    await asyncio.sleep(0)
    await watch.close()
    with pytest.raises(StopAsyncIteration):
        await following


async def test_closing_the_connection_deletes_the_consumers_still_open(
    server: NatsServer, bucket: KvBucket, plain: Client
) -> None:
    broker = await Broker.connect(
        server.url, credentials=credentials_of(server), domain=server.domain
    )
    own = KvBucket(broker, bucket.name, None)
    watches = [await own.watch(">", what="pauses") for _ in range(3)]
    assert await consumers(plain, bucket) == 3
    await broker.close()
    assert await consumers(plain, bucket) == 0
    for watch in watches:
        assert "the store was closed" in str(await ends(watch.events(), 1))
        await watch.close()


async def test_a_killed_broker_ends_a_watch_within_three_seconds_and_it_opens_again(
    own_server: NatsServer,
) -> None:
    store = await open_jetstream(
        own_server.url, credentials=credentials_of(own_server), domain=own_server.domain
    )
    bucket = store.buckets.positions
    await bucket.put("seat_pause.ops", b"1")
    watch = await bucket.watch("seat_pause.>", what="seat pauses")
    following = asyncio.create_task(ends(watch.events(), 3))
    await own_server.kill()
    assert "lost" in str(await following)
    await watch.close()
    await own_server.start()

    async def opens() -> bool:
        try:
            again = await bucket.watch("seat_pause.>", what="seat pauses")
        except Unavailable:
            return False
        assert [entry.key for entry in again.listed.entries] == ["seat_pause.ops"]
        await again.close()
        return True

    await eventually(opens, within=10)
    await store.close()


async def test_a_consumer_deleted_on_the_broker_ends_its_watch(
    bucket: KvBucket, plain: Client, short_beats: None
) -> None:
    watch = await bucket.watch(">", what="pauses")
    js = plain.jetstream()
    (made,) = await js.consumers_info(f"KV_{bucket.name}")
    await js.delete_consumer(f"KV_{bucket.name}", made.name)
    error = await ends(watch.events(), 5)
    assert "pauses" in str(error)


async def test_a_bucket_deleted_on_the_broker_ends_its_watch(
    bucket: KvBucket, plain: Client, short_beats: None
) -> None:
    watch = await bucket.watch(">", what="pauses")
    await plain.jetstream().delete_stream(f"KV_{bucket.name}")
    await ends(watch.events(), 5)


async def test_a_paused_broker_ends_a_watch_once_it_has_missed_its_beats(
    own_server: NatsServer, short_beats: None
) -> None:
    store = await open_jetstream(
        own_server.url, credentials=credentials_of(own_server), domain=own_server.domain
    )
    watch = await store.buckets.positions.watch(">", what="pauses")
    own_server.pause()
    await ends(watch.events(), 5)
    own_server.resume()
    await watch.close()
    await store.close()


async def test_a_burst_reaches_a_watch_whole_and_in_order(bucket: KvBucket) -> None:
    watch = await bucket.watch(">", what="burst")
    events = watch.events()
    await asyncio.gather(*(bucket.put(f"k.{at}", b"x" * 20_000) for at in range(1500)))
    seen = [await next_entry(events) for _ in range(1500)]
    revisions = [entry.revision for entry in seen]
    assert revisions == sorted(revisions)
    assert len({entry.key for entry in seen}) == 1500
    await watch.close()
