"""What the twin owes the port: expiry, sequences, markers, message ids, and what a handle is."""

import subprocess
import sys
from datetime import timedelta

import pytest

import coordination
from coordination.contract.answers import NO_REVISION, Absent, Conflict, Revision, Written
from coordination.contract.bucket import Entry, Operation
from coordination.errors import InvalidRequest, Unavailable
from coordination.memory.clock import MANUAL_START, SystemClock
from coordination.memory.store import MemoryBroker
from coordination.rules.retention import DUPLICATE_WINDOW
from coordination.slots.store import SlotStore
from coordination.testing import ManualClock
from tests.slots.terms import AGE, SEATS, claim

MOMENT = timedelta(microseconds=1)


async def keys(store: SlotStore, key_filter: str) -> list[str]:
    """The live keys under a filter of the ageless bucket."""
    listed = await store.buckets.positions.listing(key_filter, what="test")
    return [entry.key for entry in listed.entries]


async def test_a_message_is_gone_when_its_age_is_over_and_a_rewrite_starts_it_again(
    peer: SlotStore, clock: ManualClock
) -> None:
    bucket = peer.buckets.leases
    await bucket.put("seat.a", b"1")
    await bucket.put("seat.b", b"1")
    clock.advance(AGE - MOMENT)
    await bucket.put("seat.a", b"2")
    clock.advance(MOMENT)
    assert isinstance(await bucket.read("seat.b"), Absent)
    assert isinstance(await bucket.read("seat.a"), Entry)
    assert [one.key for one in (await bucket.listing(">", what="test")).entries] == ["seat.a"]


async def test_a_bucket_counts_its_writes_and_every_key_shares_the_count(peer: SlotStore) -> None:
    bucket = peer.buckets.positions
    written = [await bucket.put(key, b"1") for key in ("a", "b", "a")]
    assert [one.revision for one in written] == [1, 2, 3]
    assert (await peer.buckets.config.put("a", b"1")).revision == 1


async def test_a_key_never_written_takes_no_expectation_but_none(peer: SlotStore) -> None:
    bucket = peer.buckets.positions
    assert isinstance(await bucket.update("a", b"1", Revision(1)), Conflict)
    assert isinstance(await bucket.update("a", b"1", NO_REVISION), Written)
    assert isinstance(await bucket.update("a", b"1", NO_REVISION), Conflict)


@pytest.mark.parametrize("operation", [Operation.DELETE, Operation.PURGE])
async def test_a_removal_leaves_a_marker_that_has_to_be_written_over(
    peer: SlotStore, operation: Operation
) -> None:
    bucket = peer.buckets.positions
    await bucket.put("a", b"1")
    removed = await bucket.remove("a", operation)
    assert isinstance(removed, Written)
    marker = await bucket.read("a")
    assert isinstance(marker, Entry)
    assert (marker.is_live, marker.operation, marker.value) == (False, operation, b"")
    assert isinstance(await bucket.update("a", b"2", NO_REVISION), Conflict)
    assert isinstance(await bucket.update("a", b"2", removed.revision), Written)


async def test_a_removal_without_a_version_always_loses(peer: SlotStore) -> None:
    bucket = peer.buckets.positions
    assert isinstance(await bucket.remove("a", Operation.PURGE, NO_REVISION), Conflict)
    with pytest.raises(InvalidRequest):
        await bucket.remove("a", Operation.PUT)


async def test_a_revision_is_read_only_while_it_stands_on_its_key(peer: SlotStore) -> None:
    bucket = peer.buckets.positions
    first = await bucket.put("a", b"1")
    assert isinstance(await bucket.read_revision("a", first.revision), Entry)
    assert isinstance(await bucket.read_revision("b", first.revision), Absent)
    await bucket.put("a", b"2")
    assert isinstance(await bucket.read_revision("a", first.revision), Absent)


async def test_a_message_id_is_written_once_in_two_minutes_whatever_it_expects(
    peer: SlotStore, clock: ManualClock
) -> None:
    bucket = peer.buckets.positions
    first = await bucket.put("a", b"1", message_id="op-1")
    clock.advance(DUPLICATE_WINDOW - MOMENT)
    again = await bucket.update("a", b"2", Revision(99), message_id="op-1")
    assert again == Written(revision=first.revision, duplicate=True)
    clock.advance(MOMENT)
    assert isinstance(await bucket.update("a", b"2", Revision(99), message_id="op-1"), Conflict)
    assert isinstance(await bucket.put("a", b"2", message_id="op-1"), Written)


async def test_a_refused_write_does_not_use_its_message_id_up(peer: SlotStore) -> None:
    bucket = peer.buckets.positions
    await bucket.update("a", b"1", Revision(9), message_id="op-1")
    written = await bucket.update("a", b"1", NO_REVISION, message_id="op-1")
    assert written == Written(revision=Revision(1))


async def test_a_listing_is_sorted_filtered_and_remembers_the_markers(peer: SlotStore) -> None:
    bucket = peer.buckets.positions
    for key in ("b.x", "a.y", "a.x", "ab.x", "a"):
        await bucket.put(key, b"1")
    await bucket.remove("a.y", Operation.DELETE)
    assert await keys(peer, "a.>") == ["a.x"]
    assert await keys(peer, "a") == ["a"]
    assert await keys(peer, ">") == ["a", "a.x", "ab.x", "b.x"]
    listed = await bucket.listing("a.>", what="test")
    assert listed.seen == {"a.x": 3, "a.y": 6}
    assert listed.as_of == MANUAL_START


async def test_handles_share_the_records_and_not_their_closing(
    broker: MemoryBroker, peer: SlotStore
) -> None:
    other = broker.open()
    lease = await claim(other)
    await other.close()
    with pytest.raises(Unavailable):
        await other.leases.list_live(SEATS)
    with pytest.raises(Unavailable):
        await other.probe()
    assert await peer.leases.list_live(SEATS) == (lease,)


async def test_a_probe_is_the_brokers_clock(peer: SlotStore, clock: ManualClock) -> None:
    assert await peer.probe() == clock.now()
    clock.advance(AGE)
    assert await peer.probe() == MANUAL_START + AGE


def test_a_clock_is_never_moved_back() -> None:
    with pytest.raises(InvalidRequest):
        ManualClock().advance(-MOMENT)


def test_real_time_never_runs_back() -> None:
    clock = SystemClock()
    told = [clock.now() for _ in range(100)]
    assert told == sorted(told)


async def test_an_opened_twin_keeps_real_time_and_the_default_lease_ttl() -> None:
    store = await coordination.open_memory()
    assert store.leases.ttl_in_force == timedelta(seconds=45)
    lease = await claim(store, ttl=timedelta(seconds=45))
    assert lease.renewed_at <= await store.probe()
    await store.close()


def test_naming_one_backend_imports_no_other() -> None:
    asked = (
        "import sys, coordination; coordination.open_memory; "
        "sys.exit(any(name.split('.')[0] == 'nats' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", asked], check=False)
    assert done.returncode == 0


def test_a_name_the_library_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        coordination.open_etcd  # noqa: B018 - the attribute under test
