"""A watch begins with the whole answer, loses nothing, and never just stops."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from coordination.contract.leases import Lease
from coordination.contract.watch import Change, Cleared, Event, Heard, Snapshot
from coordination.errors import Unavailable
from coordination.memory import bucket as memory_bucket
from coordination.rules.keys import Resource
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, ManualClock
from tests.slots.terms import AGE, CEO, PEER, SEATS, SHORT, claim

CTO = Resource.parse("seat:cto")
NODE = Resource.parse("node:node-a")


def told(event: Event[Lease, Resource]) -> tuple[str, str]:
    """An event in short."""
    match event:
        case Change(item=lease):
            return ("change", str(lease.resource))
        case Cleared(name=name):
            return ("cleared", str(name))
        case _:
            return (type(event).__name__, "")


async def test_a_watch_begins_with_the_tenures_alive_when_it_was_opened(
    store: FaultyStore, clock: ManualClock
) -> None:
    await claim(store, ttl=SHORT, resource=CTO)
    clock.advance(SHORT)
    lease = await claim(store)
    await claim(store, resource=NODE)
    async with await store.leases.watch(SEATS) as watch:
        assert await anext(aiter(watch)) == Snapshot(items=(lease,), as_of=clock.now())


async def test_a_claim_a_renewal_and_a_release_are_told_in_order(
    store: FaultyStore, peer: SlotStore
) -> None:
    async with await store.leases.watch(SEATS) as watch:
        events = aiter(watch)
        await anext(events)
        lease = await claim(peer)
        await claim(peer, resource=NODE)
        await peer.leases.renew(lease, ttl=AGE)
        await peer.leases.release(lease)
        seen = [told(await anext(events)) for _ in range(4)]
    name = str(CEO)
    assert seen == [("cleared", name), ("change", name), ("change", name), ("cleared", name)]


async def test_what_was_written_before_the_first_event_was_taken_is_told_after_it(
    store: FaultyStore, peer: SlotStore
) -> None:
    async with await store.leases.watch(SEATS) as watch:
        await claim(peer, PEER)
        events = aiter(watch)
        first = await anext(events)
        assert isinstance(first, Snapshot)
        assert first.items == ()
        assert [told(await anext(events))[0] for _ in range(2)] == ["cleared", "change"]


async def test_an_undecodable_lease_is_skipped_and_the_watch_goes_on(store: FaultyStore) -> None:
    async with await store.leases.watch(SEATS) as watch:
        events = aiter(watch)
        await anext(events)
        await store.buckets.leases.put("seat.junk", b"\xff")
        await claim(store, resource=CTO)
        assert told(await anext(events)) == ("cleared", str(CTO))


async def test_a_watch_of_a_store_that_went_away_ends_as_unavailable(store: FaultyStore) -> None:
    async with await store.leases.watch(SEATS) as watch:
        events = aiter(watch)
        await anext(events)
        upcoming = asyncio.create_task(_next(events))
        await asyncio.sleep(0)
        store.faults.make_unreachable()
        with pytest.raises(Unavailable):
            await upcoming


async def test_a_watch_of_a_closed_store_ends_as_unavailable(peer: SlotStore) -> None:
    async with await peer.leases.watch(SEATS) as watch:
        events = aiter(watch)
        await anext(events)
        upcoming = asyncio.create_task(_next(events))
        await asyncio.sleep(0)
        await peer.close()
        with pytest.raises(Unavailable):
            await upcoming


async def test_a_watch_that_was_left_just_ends(peer: SlotStore) -> None:
    async with await peer.leases.watch(SEATS) as watch:
        events = aiter(watch)
        await anext(events)
    with pytest.raises(StopAsyncIteration):
        await anext(events)


async def test_a_watch_with_nothing_to_tell_says_so(
    peer: SlotStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_bucket, "HEARTBEAT", timedelta(milliseconds=5))
    async with await peer.leases.watch(SEATS) as watch:
        events = aiter(watch)
        await anext(events)
        assert await anext(events) == Heard(at=clock.now())


async def _next[T](events: AsyncIterator[T]) -> T:
    return await anext(events)
