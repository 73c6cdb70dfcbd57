"""The bucket port on a real broker: comparing, removing, message ids, and what absence is."""

import pytest
from nats.aio.client import Client

from coordination.contract.answers import NO_REVISION, Absent, Conflict, Revision, Written
from coordination.contract.bucket import Entry, Operation
from coordination.errors import InvalidRequest, Unavailable
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer
from tests.support.proxy import TcpProxy
from tests.support.wire import Wire


def written(answer: Written | Conflict) -> Revision:
    assert isinstance(answer, Written)
    return answer.revision


async def test_an_update_at_zero_means_that_nothing_stands_there(bucket: KvBucket) -> None:
    first = written(await bucket.update("k", b"1", NO_REVISION))
    assert await bucket.update("k", b"2", NO_REVISION) == Conflict()
    marker = written(await bucket.remove("k", Operation.DELETE, first))
    assert await bucket.update("k", b"2", NO_REVISION) == Conflict()
    assert isinstance(await bucket.update("k", b"2", marker), Written)


async def test_a_lost_comparison_writes_nothing(bucket: KvBucket) -> None:
    first = written(await bucket.put("k", b"1"))
    second = written(await bucket.update("k", b"2", first))
    assert await bucket.update("k", b"3", first) == Conflict()
    assert await bucket.remove("k", Operation.PURGE, first) == Conflict()
    entry = await bucket.read("k")
    assert isinstance(entry, Entry)
    assert (entry.value, entry.revision) == (b"2", second)


async def test_a_removal_at_zero_is_a_lost_race_that_reaches_no_broker(
    server: NatsServer, bucket: KvBucket
) -> None:
    await bucket.put("k", b"1")
    assert await bucket.remove("k", Operation.PURGE, NO_REVISION) == Conflict()
    assert await bucket.remove("never", Operation.DELETE, NO_REVISION) == Conflict()
    entry = await bucket.read("k")
    assert isinstance(entry, Entry)
    assert entry.is_live


async def test_a_put_beside_lands_only_while_the_other_key_stands(bucket: KvBucket) -> None:
    assert isinstance(
        await bucket.put_beside("body", b"0", other="head", expected=NO_REVISION), Written
    )
    head = written(await bucket.put("head", b"1"))
    assert await bucket.put_beside("body", b"1", other="head", expected=NO_REVISION) == Conflict()
    for value in (b"2", b"3"):
        written(await bucket.put_beside("body", value, other="head", expected=head))
    gone = written(await bucket.remove("head", Operation.PURGE))
    assert await bucket.put_beside("body", b"4", other="head", expected=head) == Conflict()
    written(await bucket.put_beside("body", b"5", other="head", expected=gone))


@pytest.mark.parametrize("operation", [Operation.DELETE, Operation.PURGE])
async def test_a_removal_leaves_the_marker_it_was_asked_for(
    bucket: KvBucket, operation: Operation
) -> None:
    first = written(await bucket.put("k", b"1"))
    await bucket.remove("k", operation, first)
    entry = await bucket.read("k")
    assert isinstance(entry, Entry)
    assert (entry.operation, entry.value) == (operation, b"")
    assert isinstance(await bucket.remove("other", operation), Written)


async def test_a_removal_that_removes_nothing_is_the_callers_error(bucket: KvBucket) -> None:
    with pytest.raises(InvalidRequest):
        await bucket.remove("k", Operation.PUT)


async def test_absent_is_only_what_was_never_written(bucket: KvBucket) -> None:
    assert await bucket.read("never") == Absent()
    assert await bucket.read_revision("never", Revision(7)) == Absent()
    assert await bucket.read_revision("never", NO_REVISION) == Absent()


async def test_a_bucket_that_is_not_there_is_unavailable_and_never_absent(
    bucket: KvBucket, plain: Client
) -> None:
    await bucket.put("k", b"1")
    await plain.jetstream().delete_stream(f"KV_{bucket.name}")
    for asked in (
        bucket.read("k"),
        bucket.read_revision("k", Revision(1)),
        bucket.listing(">", what="pauses"),
        bucket.watch(">", what="pauses"),
        bucket.now(),
        bucket.put("k", b"2"),
        bucket.update("k", b"2", Revision(1)),
    ):
        with pytest.raises(Unavailable):
            await asked


@pytest.mark.parametrize("told", [b"", b"soon", b"0000-00-00T00:00:00Z"])
async def test_a_broker_that_tells_no_time_is_unavailable_and_no_mistake_of_the_callers(
    server: NatsServer, bucket: KvBucket, told: bytes
) -> None:
    await bucket.put("k", b"1")
    wire = await Wire.open("127.0.0.1", server.port)
    bent = await Broker.connect(wire.url, credentials=credentials_of(server), domain=server.domain)
    message = b'{"message":{"subject":"$KV.%s.k","seq":1,"time":"%s"}}' % (
        bucket.name.encode(),
        told,
    )
    wire.answerers.append(lambda frame: message if ".MSG.GET." in frame.subject else None)
    wire.answerers.append(
        lambda frame: b'{"ts":"%s"}' % told if ".INFO." in frame.subject else None
    )
    through = KvBucket(bent, bucket.name, None)
    for ask in (through.read("k"), through.now(), through.listing(">", what="test")):
        with pytest.raises(Unavailable, match="told no time"):
            await ask
    await bent.close()
    await wire.close()


async def test_a_revision_reads_as_that_very_message_on_that_very_key(bucket: KvBucket) -> None:
    first = written(await bucket.put("a", b"1"))
    other = written(await bucket.put("b", b"2"))
    entry = await bucket.read_revision("a", first)
    assert isinstance(entry, Entry)
    assert entry.value == b"1"
    assert await bucket.read_revision("a", other) == Absent()
    await bucket.put("a", b"3")
    assert await bucket.read_revision("a", first) == Absent()


async def test_the_time_of_a_write_is_the_brokers_to_the_nanosecond(
    bucket: KvBucket, plain: Client
) -> None:
    before = await bucket.now()
    revision = written(await bucket.put("k", b"1"))
    entry = await bucket.read("k")
    assert isinstance(entry, Entry)
    assert before < entry.written_at < await bucket.now()
    raw = await plain.request(f"$JS.API.STREAM.MSG.GET.KV_{bucket.name}", b'{"seq":%d}' % revision)
    assert f'"time":"{entry.written_at.text()}"'.encode() in raw.data
    (listed,) = (await bucket.listing(">", what="times")).entries
    assert listed == entry


async def test_a_repeat_with_the_same_message_id_writes_nothing(bucket: KvBucket) -> None:
    first = await bucket.update("k", b"1", NO_REVISION, message_id="op-1")
    again = await bucket.update("k", b"1", NO_REVISION, message_id="op-1")
    assert isinstance(first, Written)
    assert again == Written(revision=first.revision, duplicate=True)
    put = await bucket.put("k", b"2", message_id="op-2")
    assert await bucket.put("k", b"2", message_id="op-2") == Written(
        revision=put.revision, duplicate=True
    )
    gone = await bucket.remove("k", Operation.PURGE, put.revision, message_id="op-3")
    assert isinstance(gone, Written)
    assert await bucket.remove("k", Operation.PURGE, put.revision, message_id="op-3") == Written(
        revision=gone.revision, duplicate=True
    )


async def test_a_lost_race_does_not_burn_its_message_id(bucket: KvBucket) -> None:
    first = written(await bucket.put("k", b"1"))
    assert await bucket.update("k", b"2", NO_REVISION, message_id="op") == Conflict()
    won = await bucket.update("k", b"2", first, message_id="op")
    assert isinstance(won, Written)
    assert not won.duplicate


@pytest.mark.parametrize(
    "key", ["", ".", "a.", ".a", "a..b", "a b", "a*", ">", "zoé", "a\r\nPUB x"]
)
async def test_a_key_that_is_none_never_reaches_the_broker(bucket: KvBucket, key: str) -> None:
    with pytest.raises(InvalidRequest):
        await bucket.read(key)
    with pytest.raises(InvalidRequest):
        await bucket.put(key, b"1")


async def test_a_subject_too_long_is_the_callers_error_and_costs_no_connection(
    bucket: KvBucket,
) -> None:
    longest = "k" * (3500 - len(f"$KV.{bucket.name}."))
    assert isinstance(await bucket.put(longest, b"1"), Written)
    assert isinstance(await bucket.read(longest), Entry)
    for asked in (bucket.put(longest + "k", b"1"), bucket.read(longest + "k")):
        with pytest.raises(InvalidRequest, match="too long"):
            await asked


@pytest.mark.parametrize("key_filter", ["", ".>", "seat.*", "*"])
async def test_a_filter_that_is_none_is_refused_rather_than_empty(
    bucket: KvBucket, key_filter: str
) -> None:
    with pytest.raises(InvalidRequest):
        await bucket.listing(key_filter, what="nothing")


async def test_reads_and_writes_cost_one_request_each_and_no_direct_get(
    server: NatsServer, bucket: KvBucket
) -> None:
    async with TcpProxy(server.port) as proxy:
        broker = await Broker.connect(
            proxy.url, credentials=credentials_of(server), domain=server.domain
        )
        own = KvBucket(broker, bucket.name, None)
        revision = written(await own.put("k", b"1"))
        await own.update("k", b"2", revision)
        await own.read("k")
        await own.now()
        assert [subject.split(".")[3] for subject in proxy.published] == [
            "$KV",
            "$KV",
            "STREAM",
            "STREAM",
        ]
        assert proxy.count("DIRECT") == 0
        await broker.close()
