"""LST-03 to LST-11: a pass that is cut, starved or short, and what certifying it costs."""

import asyncio

import pytest

from coordination.contract.answers import Absent
from coordination.contract.bucket import Bucket, Entry, Operation
from coordination.contract.watch import Snapshot
from coordination.errors import Unavailable
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.support.waiting import eventually
from tests.support.wire import Frame

WHAT = "budget counters"
AT_ONCE = 4.0  # seconds: an empty pass is not waited for like one the broker stopped feeding
NO_SUCH_LEADER = (
    b'{"type":"io.nats.jetstream.api.v1.stream_info_response",'
    b'"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"'
    b"}}"
)


async def filled(bucket: Bucket, **values: bytes) -> None:
    """Write these keys."""
    for key, value in values.items():
        await bucket.put(key.replace("_", "-"), value)


async def keys(bucket: Bucket) -> list[str]:
    """The keys of a whole listing, in its order."""
    return [entry.key for entry in (await bucket.listing(">", what=WHAT)).entries]


@case("LST-03", scope="kv")
@pytest.mark.parametrize("delivered", [0, 3])
async def test_a_pass_that_is_cut_off_is_unavailable_and_hands_over_nothing(
    wired: BrokerBackend, delivered: int
) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    for index in range(10):
        await bucket.put(f"k{index}", b"v")
    wire.keepers.append(lambda frame: wire.deliveries < delivered)
    wire.deliveries = wire.replies = 0
    listing = asyncio.ensure_future(bucket.listing(">", what=WHAT))
    answered = 3  # the consumer, and both requests of the key index
    await eventually(lambda: wire.replies == answered and wire.withheld > 0, within=4)
    wire.sever()
    with pytest.raises(Unavailable, match=rf"{WHAT}.*ended early"):
        await listing
    assert wire.deliveries == delivered, "the pass was not cut where it should be"
    wire.keepers.clear()

    async def whole() -> bool:
        try:
            return len(await keys(bucket)) == 10
        except Unavailable:
            return False

    await eventually(whole, within=20, why="the connection is back")


@case("LST-04", scope="kv")
async def test_an_empty_bucket_lists_as_empty(wired: BrokerBackend) -> None:
    await wired.open()
    async with asyncio.timeout(AT_ONCE):
        assert await keys(wired.bucket("positions")) == []


@case("LST-04", scope="kv")
async def test_a_bucket_that_holds_only_markers_lists_as_empty(wired: BrokerBackend) -> None:
    await wired.open()
    bucket = wired.bucket("positions")
    await filled(bucket, a=b"1", b=b"2")
    await bucket.remove("a", Operation.DELETE)
    await bucket.remove("b", Operation.PURGE)
    async with asyncio.timeout(AT_ONCE):
        assert await keys(bucket) == []


class GaveUpError(Exception):
    """A caller's own."""


@case("LST-05", scope="kv")
async def test_a_caller_that_gives_up_gets_its_own_error_and_leaves_no_consumer(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open()
    bucket = wired.bucket("positions")
    await asyncio.gather(*(bucket.put(f"k{index}", b"v") for index in range(300)))
    own = GaveUpError("enough")
    opened = await bucket.watch(">", what=WHAT)
    assert len(opened.listed.entries) == 300
    assert await wired.consumers("positions") == 1
    await opened.close()
    assert await wired.consumers("positions") == 0

    async def give_up_on_the_first() -> None:
        async with await store.pauses.watch() as watch:
            async for event in watch:
                assert isinstance(event, Snapshot)
                raise own

    with pytest.raises(GaveUpError) as raised:
        await give_up_on_the_first()
    assert raised.value is own
    assert await wired.consumers("positions") == 0


@case("LST-05", scope="kv")
async def test_a_listing_cancelled_at_its_first_delivery_leaves_no_consumer(
    wired: BrokerBackend,
) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    await asyncio.gather(*(bucket.put(f"k{index}", b"v") for index in range(300)))
    first = asyncio.Event()

    def notice(frame: Frame) -> bool:
        first.set()
        return False

    wire.keepers.append(notice)
    listing = asyncio.ensure_future(bucket.listing(">", what=WHAT))
    async with asyncio.timeout(5):
        await first.wait()
    assert await wired.consumers("positions") == 1
    listing.cancel()
    await asyncio.wait({listing})
    assert listing.cancelled()

    async def none_left() -> bool:
        return await wired.consumers("positions") == 0

    await eventually(none_left, within=5, why="the consumer is deleted by its maker")


@case("LST-06", scope="kv")
async def test_a_listing_that_cannot_finish_names_itself_not_only_its_bucket(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    await bucket.put("floor.tracker", b"1")
    wire.keepers.append(lambda frame: False)
    listing = asyncio.ensure_future(bucket.listing("floor.>", what="trim floors"))
    await eventually(lambda: wire.withheld > 0, within=5, why="the pass is under way")
    await wired.make_unreachable()
    with pytest.raises(Unavailable, match="trim floors"):
        await listing
    with pytest.raises(Unavailable, match="trim floors"):
        await bucket.listing("floor.>", what="trim floors")
    with pytest.raises(Unavailable, match="trim floors"):
        await bucket.watch("floor.>", what="trim floors")
    await wired.heal()
    listing = asyncio.ensure_future(bucket.listing("floor.>", what="trim floors"))
    await eventually(lambda: wire.withheld > 1, within=5, why="the pass is under way")
    await store.close()
    with pytest.raises(Unavailable, match="trim floors"):
        await listing


@case("LST-07", scope="kv")
async def test_a_key_the_pass_never_delivered_costs_exactly_one_leader_read(
    wired: BrokerBackend,
) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    await filled(bucket, org=b"10", seat_a=b"20", seat_b=b"30")
    await wired.copied("positions")
    withheld = 0

    def withhold(frame: Frame) -> bool:
        nonlocal withheld
        lost = frame.subject.endswith(".seat-a")
        withheld += lost
        return not lost

    wire.keepers.append(withhold)
    wire.sent.clear()
    listed = await bucket.listing(">", what=WHAT)
    assert [(entry.key, entry.value) for entry in listed.entries] == [
        ("org", b"10"),
        ("seat-a", b"20"),
        ("seat-b", b"30"),
    ]
    assert withheld == 1, "the pass lost nothing, or was made again"
    assert wire.leader_reads == 1
    assert wire.direct_reads == 0


@case("LST-08", scope="kv")
async def test_markers_cost_a_leader_read_each_until_they_are_swept(wired: BrokerBackend) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    await filled(bucket, a=b"1", b=b"2", c=b"3", d=b"4", e=b"5", f=b"6")
    await bucket.remove("d", Operation.DELETE)
    await bucket.remove("e", Operation.DELETE)
    await bucket.remove("f", Operation.PURGE)
    await wired.copied("positions")
    wire.sent.clear()
    assert await keys(bucket) == ["a", "b", "c"]
    assert wire.leader_reads == 3
    assert await wired.sweep("positions", ("d", "e", "f")) == 3
    await wired.copied("positions")
    wire.sent.clear()
    assert await keys(bucket) == ["a", "b", "c"]
    assert wire.leader_reads == 0
    assert wire.direct_reads == 0


@case("LST-09", scope="kv")
async def test_without_the_key_index_a_listing_is_unavailable_and_says_so(
    wired: BrokerBackend,
) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    await filled(bucket, a=b"1", b=b"2")
    asked = 0

    def no_leader(frame: Frame) -> bytes | None:
        nonlocal asked
        if ".STREAM.INFO." not in frame.subject or b"subjects_filter" not in frame.body:
            return None
        asked += 1
        return NO_SUCH_LEADER

    wire.answerers.append(no_leader)
    with pytest.raises(Unavailable, match=rf"(?s)(?=.*{WHAT})(?=.*index)"):
        await bucket.listing(">", what=WHAT)
    assert asked >= 1, "the index was not asked for"
    wire.answerers.clear()
    assert await keys(bucket) == ["a", "b"]
    assert await wired.consumers("positions") == 0


@case("LST-10", scope="kv")
async def test_a_pass_the_broker_stopped_feeding_is_ended_and_certified(
    wired: BrokerBackend,
) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    await filled(bucket, a=b"1", b=b"2", c=b"3")
    await wired.copied("positions")
    passed = 0

    def starve(frame: Frame) -> bool:
        nonlocal passed
        passed += 1
        return passed == 1

    wire.keepers.append(starve)
    wire.sent.clear()
    async with asyncio.timeout(20):
        assert await keys(bucket) == ["a", "b", "c"]
    assert passed == 3, "the pass was not starved after its first delivery"
    assert wire.leader_reads == 2
    assert wire.direct_reads == 0


@case("LST-11", scope="kv")
async def test_a_leader_read_tells_value_marker_and_nothing_apart(wired: BrokerBackend) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    written = await bucket.put("live", b"value")
    for key, operation in (("deleted", Operation.DELETE), ("purged", Operation.PURGE)):
        await bucket.put(key, b"value")
        await bucket.remove(key, operation)
    wire.sent.clear()
    live = await bucket.read("live")
    deleted = await bucket.read("deleted")
    purged = await bucket.read("purged")
    never = await bucket.read("never")
    assert wire.leader_reads == 4
    assert wire.direct_reads == 0
    assert isinstance(live, Entry)
    assert (live.value, live.revision, live.operation) == (
        b"value",
        written.revision,
        Operation.PUT,
    )
    assert isinstance(deleted, Entry)
    assert deleted.operation is Operation.DELETE
    assert isinstance(purged, Entry)
    assert purged.operation is Operation.PURGE
    assert never == Absent()
    for entry in (live, deleted, purged):
        assert await wired.client_view("positions", entry.key) == (
            entry.value,
            entry.revision,
            entry.operation.value,
            entry.written_at.text(),
        )
