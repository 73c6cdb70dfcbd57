"""The plain record slot: what each verb decides, and what it asks of the bucket for it."""

import asyncio
import logging
from typing import override

import msgspec
import pytest

from coordination.contract.answers import NO_REVISION, Absent, Conflict, Revision, Written
from coordination.contract.bucket import Entry, Operation
from coordination.contract.cells import (
    Cell,
    Created,
    Drop,
    Exists,
    Leave,
    Removed,
    Replace,
    Replaced,
)
from coordination.errors import CorruptRecord, InvalidRequest, Unavailable
from coordination.slots.cells import ROUNDS, CellSlot, Filing
from coordination.slots.store import SlotStore
from coordination.testing import Faults, FaultyBucket, FaultyStore, Verb

LOG = logging.getLogger("test")
ADA = ("ada",)


class Note(msgspec.Struct, frozen=True):
    """A record of these tests."""

    text: str


def notes(store: SlotStore, **filing: object) -> CellSlot[Note]:
    return CellSlot(store.buckets.mailboxes, Filing(kind=Note, what="notes", **filing), LOG)  # type: ignore[arg-type]


def holds(store: SlotStore, **filing: object) -> CellSlot[Note]:
    filed = Filing(kind=Note, what="holds", key_class="hold", **filing)  # type: ignore[arg-type]
    return CellSlot(store.buckets.positions, filed, LOG)


async def test_a_created_record_stands_and_is_never_created_over(store: FaultyStore) -> None:
    slot = notes(store)
    created = await slot.create(ADA, Note("one"))
    assert isinstance(created, Created)
    exists = await slot.create(ADA, Note("two"))
    standing = await slot.read(ADA)
    assert isinstance(standing, Cell)
    assert standing.name == ADA
    assert standing.record == Note("one")
    assert standing.version == created.version
    assert exists == Exists(cell=standing)


async def test_a_removed_record_is_absent_and_created_again(store: FaultyStore) -> None:
    slot = notes(store)
    created = await slot.create(ADA, Note("one"))
    assert isinstance(created, Created)
    assert await slot.remove(ADA, created.version) == Removed()
    assert await slot.read(ADA) == Absent()
    again = await slot.create(ADA, Note("two"))
    assert isinstance(again, Created)
    assert again.version > created.version


async def test_a_version_that_moved_on_loses_and_writes_nothing(store: FaultyStore) -> None:
    slot = notes(store)
    created = await slot.create(ADA, Note("one"))
    assert isinstance(created, Created)
    written = await slot.update(ADA, Note("two"), created.version)
    assert isinstance(written, Written)
    assert await slot.update(ADA, Note("three"), created.version) == Conflict()
    assert await slot.remove(ADA, created.version) == Conflict()
    standing = await slot.read(ADA)
    assert isinstance(standing, Cell)
    assert (standing.record, standing.version) == (Note("two"), written.revision)


async def test_version_zero_is_a_lost_race_without_asking(store: FaultyStore) -> None:
    slot = notes(store)
    asked = len(store.faults.calls)
    assert await slot.update(ADA, Note("one"), NO_REVISION) == Conflict()
    assert [verb for _, verb in store.faults.calls[asked:]] == []
    assert await slot.remove(ADA, NO_REVISION) == Conflict()
    assert await slot.read(ADA) == Absent()


async def test_a_put_and_a_discard_ask_for_nothing_that_stands(store: FaultyStore) -> None:
    slot = notes(store)
    await slot.put(ADA, Note("one"))
    await slot.put(ADA, Note("two"))
    assert [cell.record for cell in await slot.list()] == [Note("two")]
    assert await slot.discard(ADA) == Removed()
    assert await slot.list() == ()


@pytest.mark.parametrize(
    ("bucket", "removal", "leaves"),
    [
        ("mailboxes", None, Operation.PURGE),
        ("follows", None, Operation.DELETE),
        ("claims", Operation.PURGE, Operation.PURGE),
    ],
)
async def test_an_ageless_bucket_is_purged_and_an_aged_one_as_its_slot_says(
    store: FaultyStore, bucket: str, removal: Operation | None, leaves: Operation
) -> None:
    kept = store.buckets.by_suffix()[bucket]
    slot = CellSlot(kept, Filing(kind=Note, what="notes", removal=removal), LOG)
    await slot.put(ADA, Note("one"))
    await slot.discard(ADA)
    entry = await kept.read("ada")
    assert isinstance(entry, Entry)
    assert entry.operation is leaves


async def test_a_class_is_listed_alone_and_a_deeper_key_belongs_to_nobody(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    slot = holds(store)
    await slot.put(("n/1",), Note("join"))
    await slot.put(("a.b",), Note("backup"))
    positions = store.buckets.positions
    await positions.put("hold.n.too-deep", b'{"text":"x"}')
    await positions.put("holder.n", b'{"text":"x"}')
    await positions.put("hold.lower=2f", b'{"text":"x"}')
    assert [cell.name for cell in await slot.list()] == [("a.b",), ("n/1",)]
    assert caplog.text.count("coord_kv_undecodable_key") == 2


async def test_records_are_listed_under_the_first_of_their_names(store: FaultyStore) -> None:
    slot = holds(store, segments=2)
    for name in (("slack", "b"), ("slack", "a"), ("slacker", "a")):
        await slot.put(name, Note("x"))
    assert [cell.name for cell in await slot.list(under=("slack",))] == [
        ("slack", "a"),
        ("slack", "b"),
    ]
    with pytest.raises(InvalidRequest):
        await slot.list(under=("",))
    with pytest.raises(InvalidRequest):
        await slot.list(under=("slack", "a"))


@pytest.mark.parametrize("name", [(), ("",), ("a", "b")])
async def test_a_name_of_another_shape_is_the_callers_error(
    store: FaultyStore, name: tuple[str, ...]
) -> None:
    slot = notes(store)
    with pytest.raises(InvalidRequest):
        await slot.read(name)
    with pytest.raises(InvalidRequest):
        await slot.put(name, Note("x"))
    assert await slot.list() == ()


async def test_what_cannot_be_decoded_is_unknown_by_name_and_skipped_or_fatal_in_a_list(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    slot = notes(store)
    await store.buckets.mailboxes.put("ada", b'{"text":7}')
    await slot.put(("bo",), Note("kept"))
    with pytest.raises(CorruptRecord, match="ada"):
        await slot.read(ADA)
    with pytest.raises(CorruptRecord, match="ada"):
        await slot.create(ADA, Note("over"))
    with pytest.raises(CorruptRecord, match="ada"):
        await slot.change(ADA, lambda _: Replace(Note("over")))
    assert [cell.name for cell in await slot.list()] == [("bo",)]
    assert "coord_kv_undecodable_record" in caplog.text
    with pytest.raises(CorruptRecord, match="ada"):
        await notes(store, is_strict=True).list()


async def test_a_change_is_judged_again_with_what_a_faster_writer_left(
    store: FaultyStore, peer: SlotStore
) -> None:
    slot, theirs = notes(store), notes(peer)
    await slot.put(ADA, Note("1"))
    seen: list[str] = []
    rival = [Note("2"), Note("3")]

    def judge(standing: Cell[Note] | Absent) -> Replace[Note]:
        assert isinstance(standing, Cell)
        seen.append(standing.record.text)
        return Replace(Note(f"{standing.record.text}+"))

    held = store.faults.hold(Verb.UPDATE)
    changing = asyncio.create_task(slot.change(ADA, judge))
    await held.reached.wait()
    await theirs.put(ADA, rival[0])
    held.release()
    changed = await changing
    assert isinstance(changed, Replaced)
    assert changed.record == Note("2+")
    assert seen == ["1", "2"]
    standing = await slot.read(ADA)
    assert isinstance(standing, Cell)
    assert (standing.record, standing.version) == (changed.record, changed.version)


async def test_a_change_may_create_drop_or_leave(store: FaultyStore) -> None:
    slot = notes(store)
    created = await slot.change(ADA, lambda _: Replace(Note("1")))
    assert isinstance(created, Replaced)
    left = await slot.change(ADA, lambda _: Leave(Conflict()))
    assert left == Conflict()
    assert await slot.change(ADA, lambda _: Drop()) == Removed()
    assert await slot.read(ADA) == Absent()
    asked = len(store.faults.calls)
    assert await slot.change(ADA, lambda _: Drop()) == Removed()
    assert [verb for _, verb in store.faults.calls[asked:]] == [Verb.READ]
    assert isinstance(await slot.change(ADA, lambda _: Replace(Note("2"))), Replaced)


class Contended(FaultyBucket):
    """A bucket where a peer writes before every conditional write."""

    writes = 0

    @override
    async def update(
        self, key: str, value: bytes, expected: Revision, *, message_id: str = ""
    ) -> Written | Conflict:
        self.writes += 1
        await self.put(key, b'{"text":"%d"}' % self.writes)
        return await super().update(key, value, expected, message_id=message_id)


async def test_a_change_that_loses_every_round_does_not_know(peer: SlotStore) -> None:
    bucket = Contended(peer.buckets.mailboxes, Faults())
    slot = CellSlot(bucket, Filing(kind=Note, what="notes"), LOG)
    with pytest.raises(Unavailable, match="another writer 16 times"):
        await slot.change(ADA, lambda _: Replace(Note("mine")))
    assert bucket.writes == ROUNDS == 16
    standing = await slot.read(ADA)
    assert isinstance(standing, Cell)
    assert standing.record == Note("16")


async def test_an_unknown_outcome_of_a_change_is_never_an_answer(store: FaultyStore) -> None:
    slot = notes(store)
    store.faults.lose(Verb.UPDATE)
    with pytest.raises(Unavailable):
        await slot.change(ADA, lambda _: Replace(Note("1")))
    assert store.faults.struck == 1
    standing = await slot.read(ADA)
    assert isinstance(standing, Cell)
    assert standing.record == Note("1")
