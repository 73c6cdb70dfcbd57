"""BKT-05 to BKT-07, BKT-10, BKT-11, BKT-14, BKT-15: keys on a broker, and what a broker does."""

import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from coordination.contract.answers import Absent, Conflict, Revision, Written
from coordination.contract.bucket import Bucket, Entry
from coordination.errors import InvalidRequest, Unavailable
from coordination.jetstream.bucket import KvBucket
from coordination.rules.keys import Resource, ResourceClass, key_of, names_of
from coordination.slots.create import create
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.observing import observed_bucket
from tests.contract.opening import connect_broker, wire_to
from tests.contract.terms import SEAT, SECOND, A, claim, names, seat
from tests.support.waiting import eventually
from tests.support.wire import Frame

LEGAL = re.compile(r"[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*")
RESOURCES = (
    "seat:alice",
    "seat:alice.smith",
    "node:node-0:aaaa",
    "seat:a=3Ab",
    "seat:a/b",
    "seat:ünïcødé",
    "seat: leading space",
    "bulk:a project:7",
)
NAMES = ("=", ".")


@case("BKT-05", scope="kv")
async def test_every_name_has_a_legal_key_of_its_own_that_reads_back_exactly(
    wired: BrokerBackend,
) -> None:
    await wired.open()
    bucket = wired.bucket("positions")
    keys = {text: Resource.parse(text).key for text in RESOURCES}
    keys |= {name: key_of(name) for name in NAMES}
    assert len(set(keys.values())) == len(RESOURCES) + len(NAMES)
    for text, key in keys.items():
        assert LEGAL.fullmatch(key)
        await bucket.update(key, text.encode(), Revision(0))
    listed = await bucket.listing(">", what="names")
    assert len(listed.entries) == len(keys)
    for entry in listed.entries:
        told = names_of(entry.key)
        assert told is not None
        assert ":".join(told) == entry.value.decode()
        if len(told) > 1:
            assert str(Resource.of_key(entry.key)) == entry.value.decode()
    assert names_of(key_of("a=3Ab")) != names_of(key_of("a", "b"))


@case("BKT-06", scope="kv")
async def test_a_key_this_encoder_never_writes_belongs_to_nobody(
    wired: BrokerBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    (store,) = await wired.open()
    await claim(store, seat("alice"), A)
    record = await wired.raw("leases", "seat.alice")
    assert record is not None
    strange = ("seat.=", "seat.a=", "seat.a=4", "seat.x=2e", "seat.a=zz", "seat.a=41", "seat.a/b")
    for key in strange:
        assert names_of(key) is None
        await wired.put_raw("leases", key, record)
    for key in ("", ".", "seat.", ".seat", "seat..x", "seat.a b", "seat.a:b", "seat.é"):
        assert names_of(key) is None
    assert names(await store.leases.list_live(SEAT)) == ["seat:alice"]
    assert caplog.text.count("coord_kv_undecodable_key") == len(strange)


@case("BKT-07", scope="kv")
async def test_a_class_is_a_token_of_its_own_and_its_filter_takes_no_other(
    wired: BrokerBackend,
) -> None:
    await wired.open()
    bucket = wired.bucket("positions")
    mine = ("seat:alice", "seat:alice.smith")
    for text in (*mine, "bulk:proj:7", "seatbelt:x", "worker:seat", "node:seat:1"):
        key = Resource.parse(text).key
        assert key.split(".")[0] == text.partition(":")[0]
        await bucket.put(key, text.encode())
    assert Resource.parse("seat:alice.smith").key == "seat.alice=2Esmith"
    assert Resource.parse("bulk:proj:7").key == "bulk.proj.7"
    listed = await bucket.listing(ResourceClass.parse("seat").filter, what="seats")
    assert [entry.value.decode() for entry in listed.entries] == list(mine)
    for wrong in ("", "seat:x", "a b"):
        with pytest.raises(InvalidRequest):
            ResourceClass.parse(wrong)


def refusing(err_code: int | None, text: str) -> bytes:
    """An acknowledgement that is a refusal."""
    error = {"code": 400, "description": text} | ({"err_code": err_code} if err_code else {})
    return json.dumps({"error": error, "stream": "", "seq": 0}).encode()


@case("BKT-10", scope="kv")
async def test_a_lost_race_is_known_by_its_code_alone(wired: BrokerBackend) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    first = await bucket.update("k", b"1", Revision(0))
    assert isinstance(first, Written)
    answer = b""

    def refuse(frame: Frame) -> bytes | None:
        return answer if "$KV." in frame.subject else None

    wire.answerers.append(refuse)
    answer = refusing(10071, "something else entirely")
    assert await bucket.update("k", b"2", first.revision) == Conflict()
    for err_code, text in (
        (10060, "expected stream does not match"),
        (10077, "wrong last sequence: 7"),
        (None, "wrong last sequence: 7"),
        (0, "wrong last sequence: 7"),
    ):
        answer = refusing(err_code, text)
        with pytest.raises(Unavailable):
            await bucket.update("k", b"2", first.revision)
    wire.answerers.remove(refuse)
    standing = await bucket.read("k")
    assert isinstance(standing, Entry)
    assert (standing.value, standing.revision) == (b"1", first.revision)
    assert await bucket.update("k", b"2", Revision(first.revision + 7)) == Conflict()


@case("BKT-11", scope="kv")
async def test_in_process_decides_nothing_and_is_asked_again(wired: BrokerBackend) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    first = await bucket.update("k", b"1", Revision(0))
    assert isinstance(first, Written)
    in_process = refusing(10164, "last sequence mismatch in process")

    def undecided(frame: Frame) -> bytes | None:
        writes = wire.count(r"\$KV\.")
        return in_process if "$KV." in frame.subject and writes <= 2 else None

    wire.answerers.append(undecided)
    wire.sent.clear()
    second = await bucket.update("k", b"2", first.revision)
    assert isinstance(second, Written)
    assert wire.count(r"\$KV\.") == 3
    standing = await bucket.read("k")
    assert isinstance(standing, Entry)
    assert (standing.value, standing.revision) == (b"2", second.revision)
    wire.sent.clear()
    assert isinstance(await create(bucket, "fresh", b"1"), Written)
    assert wire.count(r"\$KV\.") == 3
    wire.sent.clear()
    exists = await create(bucket, "fresh", b"2")
    assert isinstance(exists, Entry)
    assert exists.value == b"1"
    assert wire.count(r"\$KV\.") == 3


@asynccontextmanager
async def short_lived(wired: BrokerBackend) -> AsyncIterator[Bucket]:
    """A bucket whose age is one second, behind the port."""
    name = f"{wired.prefix}_premise"
    wire = await wire_to(wired)
    await (await wired.js()).create_key_value(bucket=name, ttl=1, replicas=wired.replicas)
    broker = await connect_broker(wired, wire)
    try:
        yield observed_bucket(KvBucket(broker, name, SECOND), wired.tally)
    finally:
        await broker.close()


@case("BKT-14", scope="kv")
async def test_a_bucket_forgets_a_second_after_the_last_write_and_not_before(
    wired: BrokerBackend,
) -> None:
    async with short_lived(wired) as bucket:
        assert isinstance(await create(bucket, "k", b"0"), Written)
        exists = await create(bucket, "k", b"late")
        assert isinstance(exists, Entry)
        last = exists.revision
        assert await bucket.update("k", b"stale", Revision(last + 1)) == Conflict()
        for beat in range(6):
            await wired.advance(0.5 * SECOND)
            written = await bucket.update("k", b"%d" % beat, last)
            assert isinstance(written, Written), "it lapsed although it was rewritten in time"
            assert await bucket.update("k", b"stale", last) == Conflict()
            last = written.revision
        standing = await bucket.read("k")
        assert isinstance(standing, Entry)
        assert standing.value == b"5"

        async def forgotten() -> bool:
            found = await bucket.read("k")
            age = await bucket.now() - standing.written_at  # asked after, so it is no less
            assert isinstance(found, Entry) or age >= SECOND, "forgotten before its age"
            return isinstance(found, Absent)

        await eventually(forgotten, within=10, why="an age of one second is over")
        assert await bucket.now() - standing.written_at < 4 * SECOND
        assert isinstance(await create(bucket, "k", b"again"), Written)


@case("BKT-15", scope="kv")
async def test_a_key_with_an_age_of_its_own_is_immortal_after_one_update(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open()
    js = await wired.js()
    stream, subject = f"KV_{wired.prefix}_premise", f"$KV.{wired.prefix}_premise"
    await js.create_key_value(bucket=f"{wired.prefix}_premise", replicas=wired.replicas)
    assert (await js.stream_info(stream)).config.allow_msg_ttl
    for key in ("updated", "left"):
        await js.publish(f"{subject}.{key}", b"1", headers={"Nats-TTL": "1s"})
    await js.publish(f"{subject}.updated", b"2")
    began = await store.probe()

    async def lapsed() -> bool:
        names_kept = (await js.stream_info(stream, subjects_filter=">")).state.subjects or {}
        assert f"{subject}.updated" in names_kept
        return f"{subject}.left" not in names_kept

    await eventually(lapsed, within=10, why="a key that nobody updates goes at its own age")
    passed = await store.probe() - began
    await wired.advance(max(3 * SECOND - passed, 0 * SECOND))
    immortal = await js.get_last_msg(stream, f"{subject}.updated")
    assert immortal.data == b"2"
    kept = [(await js.stream_info(name)).config for name in await wired.streams()]
    assert [one.name for one in kept if one.allow_msg_ttl] == [stream]
    assert "Nats-TTL" not in (immortal.headers or {})
    wired.tally.yes += 1
