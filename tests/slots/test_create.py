from typing import override

import pytest

from coordination.contract.answers import Conflict, Revision, Written
from coordination.contract.bucket import Bucket, Entry, Operation
from coordination.errors import Unavailable
from coordination.slots.create import CREATE_ROUNDS, create
from coordination.slots.store import SlotStore
from coordination.testing import Faults, FaultyBucket


@pytest.fixture
def bucket(peer: SlotStore) -> Bucket:
    return peer.buckets.positions


async def test_a_free_key_is_written(bucket: Bucket) -> None:
    assert isinstance(await create(bucket, "a", b"1"), Written)


async def test_a_standing_value_is_answered_and_left_alone(bucket: Bucket) -> None:
    await bucket.put("a", b"1")
    standing = await create(bucket, "a", b"2")
    assert isinstance(standing, Entry)
    assert standing.value == b"1"
    assert await bucket.read("a") == standing


@pytest.mark.parametrize("marker", [Operation.DELETE, Operation.PURGE])
async def test_a_removed_key_is_written_over_its_marker(bucket: Bucket, marker: Operation) -> None:
    await bucket.put("a", b"1")
    await bucket.remove("a", marker)
    written = await create(bucket, "a", b"2")
    assert isinstance(written, Written)
    entry = await bucket.read("a")
    assert isinstance(entry, Entry)
    assert (entry.value, entry.revision) == (b"2", written.revision)


class _AlwaysRaced(FaultyBucket):
    """A bucket whose key somebody writes and removes between each look and each write."""

    rounds = 0

    @override
    async def update(
        self, key: str, value: bytes, expected: Revision, *, message_id: str = ""
    ) -> Written | Conflict:
        self.rounds += 1
        await self.put(key, b"other")
        await self.remove(key, Operation.PURGE)
        return await super().update(key, value, expected, message_id=message_id)


async def test_a_create_that_loses_every_round_does_not_know(bucket: Bucket) -> None:
    raced = _AlwaysRaced(bucket, Faults())
    with pytest.raises(Unavailable, match="8 times"):
        await create(raced, "a", b"1")
    assert raced.rounds == CREATE_ROUNDS
