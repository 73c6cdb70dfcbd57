"""The sweep of removal markers: in order, past a failure, and never a record made again."""

import asyncio
from datetime import timedelta

import pytest

from coordination.contract.answers import Written
from coordination.contract.bucket import Entry, Operation
from coordination.contract.markers import Swept
from coordination.errors import Unavailable
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, ManualClock, Verb

MOMENT = timedelta(microseconds=1)


async def removed(store: SlotStore, suffix: str, *keys: str) -> None:
    """Leave a marker under each of these keys."""
    bucket = store.buckets.by_suffix()[suffix]
    for key in keys:
        await bucket.put(key, b"1")
        await bucket.remove(key, Operation.PURGE)


async def test_one_buckets_failure_stops_none_of_the_others_and_is_named(
    store: FaultyStore, clock: ManualClock
) -> None:
    for suffix in ("config", "secrets", "positions"):
        await removed(store, suffix, "a", "b")
    clock.advance(MOMENT)
    store.faults.fail(Verb.MARKERS, bucket="config")
    store.faults.fail(Verb.PURGE, bucket="secrets", nth=2)
    swept = await store.markers.sweep(clock.now())
    assert store.faults.struck == 2
    assert swept.removed == 3
    assert [one.bucket for one in swept.failed] == ["crewlet_config", "crewlet_secrets"]
    assert all(isinstance(one.because, Unavailable) for one in swept.failed)
    assert await store.markers.sweep(clock.now()) == Swept(removed=3)


async def test_a_lost_acknowledgement_is_a_failure_and_the_next_sweep_finds_nothing(
    store: FaultyStore, clock: ManualClock
) -> None:
    await removed(store, "objects", "backend")
    clock.advance(MOMENT)
    store.faults.lose(Verb.PURGE, bucket="objects")
    swept = await store.markers.sweep(clock.now())
    assert (swept.removed, [one.bucket for one in swept.failed]) == (0, ["crewlet_objects"])
    assert await store.markers.sweep(clock.now()) == Swept(removed=0)


async def test_a_record_made_again_before_its_marker_is_purged_stays(
    store: FaultyStore, peer: SlotStore, clock: ManualClock
) -> None:
    await removed(store, "sandbox_runs", "run")
    clock.advance(MOMENT)
    marker = await peer.buckets.sandbox_runs.read("run")
    assert isinstance(marker, Entry)
    held = store.faults.hold(Verb.PURGE)
    sweep = asyncio.create_task(store.markers.sweep(clock.now()))
    await held.reached.wait()
    again = await peer.buckets.sandbox_runs.update("run", b"2", marker.revision)
    assert isinstance(again, Written)
    held.release()
    assert await sweep == Swept(removed=0)
    standing = await peer.buckets.sandbox_runs.read("run")
    assert isinstance(standing, Entry)
    assert (standing.value, standing.revision) == (b"2", again.revision)


async def test_markers_are_purged_in_the_order_of_their_keys_and_values_never(
    store: FaultyStore, clock: ManualClock
) -> None:
    await removed(store, "channels", "c", "a", "b")
    await store.buckets.channels.put("kept", b"1")
    clock.advance(MOMENT)
    markers = await store.buckets.channels.markers(before=clock.now())
    assert [marker.key for marker in markers] == ["a", "b", "c"]
    assert await store.markers.sweep(clock.now()) == Swept(removed=3)
    assert [one.key for one in (await store.buckets.channels.listing(">", what="t")).entries] == [
        "kept"
    ]


@pytest.mark.parametrize("suffix", ["epochs", "follows", "duties"])
async def test_counters_and_aged_buckets_are_left_alone(
    store: FaultyStore, clock: ManualClock, suffix: str
) -> None:
    await removed(store, suffix, "a.b")
    clock.advance(MOMENT)
    assert await store.markers.sweep(clock.now()) == Swept(removed=0)
    assert isinstance(await store.buckets.by_suffix()[suffix].read("a.b"), Entry)
    asked = {name for name, verb in store.faults.calls if verb is Verb.MARKERS}
    assert f"crewlet_{suffix}" not in asked
