"""The gate's view: when it is opened and closed, and what a judgement waits for."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import override

import pytest

from coordination.contract.answers import Absent, Owner, Refused, RefusedReason, Revision
from coordination.contract.bucket import Entry, Operation, Position
from coordination.contract.leases import Granted
from coordination.errors import Unavailable
from coordination.rules.keys import Resource
from coordination.rules.leases import PROTOCOL
from coordination.slots.gate import Gate
from coordination.slots.protocol_view import WHAT, ProtocolView
from coordination.slots.store import SlotStore
from coordination.testing import Faults, FaultyBucket, FaultyStore, ManualClock, Verb
from tests.slots.terms import AGE, CEO, ME, SHORT, claim
from tests.support.waiting import eventually

LOG = logging.getLogger("coordination")
OLD = Owner("node-old:core-1")
OLD_NODE = Resource.parse("node:node-old")
BRIEFLY = timedelta(milliseconds=50)


@pytest.fixture
async def gate(store: FaultyStore) -> AsyncIterator[Gate]:
    one = Gate(store.buckets.leases, LOG, idle=timedelta(minutes=1), within=timedelta(seconds=1))
    yield one
    await one.close()


def asked(store: FaultyStore, verb: Verb) -> int:
    """How often the lease bucket was asked this."""
    return store.faults.calls.count((store.buckets.leases.name, verb))


async def old_node(store: SlotStore) -> None:
    """An older build comes alive."""
    await store.leases.acquire(OLD_NODE, owner=OLD, ttl=AGE, protocol=1, gated=False)


async def test_a_process_that_gates_nothing_watches_nothing(store: FaultyStore) -> None:
    await store.leases.acquire(CEO, owner=ME, ttl=AGE, gated=False)
    await store.leases.list_live(CEO.resource_class)
    assert asked(store, Verb.WATCH) == asked(store, Verb.POSITION) == 0


async def test_judgements_at_once_share_one_view_and_ask_once_each(
    store: FaultyStore, peer: SlotStore, gate: Gate
) -> None:
    await old_node(peer)
    assert await asyncio.gather(*(gate.floor() for _ in range(20))) == [1] * 20
    assert asked(store, Verb.WATCH) == 1
    assert asked(store, Verb.POSITION) == 20
    assert asked(store, Verb.LISTING) == 0


async def test_a_judgement_sees_every_write_before_it(
    store: FaultyStore, peer: SlotStore, gate: Gate
) -> None:
    assert await gate.floor() == Absent()
    for protocol in range(9, 0, -1):
        seat = Resource.parse(f"seat:s{protocol}")
        await peer.leases.acquire(seat, owner=ME, ttl=AGE, protocol=protocol, gated=False)
        assert await gate.floor() == protocol


async def test_a_judgement_never_reads_a_view_that_has_heard_and_not_yet_taken_in(
    peer: SlotStore, gate: Gate
) -> None:
    for _ in range(200):
        answer = await peer.leases.acquire(CEO, owner=OLD, ttl=AGE, protocol=1, gated=False)
        assert isinstance(answer, Granted)
        assert await gate.floor() == 1
        await peer.leases.release(answer.lease)
        assert await gate.floor() == Absent()


async def test_a_record_that_cannot_be_decoded_counts_for_nobody_and_is_told(
    peer: SlotStore, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    await old_node(peer)
    assert await gate.floor() == 1
    await peer.buckets.leases.put(OLD_NODE.key, b"\xff{")
    await claim(peer)
    assert await gate.floor() == 4
    assert "coord_kv_undecodable_record" in caplog.text


@pytest.mark.parametrize("key", ["worker.sweep", "seat.=zz"])
async def test_only_seats_and_presences_count(peer: SlotStore, gate: Gate, key: str) -> None:
    await old_node(peer)
    old = await peer.buckets.leases.read(OLD_NODE.key)
    assert not isinstance(old, Absent)
    await peer.buckets.leases.put(key, old.value)
    await peer.buckets.leases.remove(OLD_NODE.key, Operation.PURGE)
    assert await gate.floor() == Absent()


async def test_a_view_that_nobody_used_for_its_time_is_closed_and_opened_again(
    store: FaultyStore, peer: SlotStore
) -> None:
    gate = Gate(store.buckets.leases, LOG, idle=BRIEFLY)
    await old_node(peer)
    assert await gate.floor() == 1
    assert views() == 1
    await eventually(lambda: views() == 0, why="the idle view is closed")
    assert await gate.floor() == 1
    assert asked(store, Verb.WATCH) == 2
    await gate.close()


async def test_a_view_in_use_stays_open(store: FaultyStore, peer: SlotStore) -> None:
    gate = Gate(store.buckets.leases, LOG, idle=BRIEFLY)
    await old_node(peer)
    loop = asyncio.get_running_loop()
    ends = loop.time() + 5 * BRIEFLY.total_seconds()

    async def used_for_long() -> bool:
        assert await gate.floor() == 1
        return loop.time() >= ends

    await eventually(used_for_long)
    assert asked(store, Verb.WATCH) == 1
    await gate.close()


async def test_a_judgement_longer_than_the_idle_time_keeps_its_view(
    store: FaultyStore, peer: SlotStore
) -> None:
    gate = Gate(store.buckets.leases, LOG, idle=BRIEFLY)
    await old_node(peer)
    await gate.floor()
    asking = store.faults.hold(Verb.POSITION)
    judging = asyncio.create_task(gate.floor())
    await asking.reached.wait()
    loop = asyncio.get_running_loop()
    ends = loop.time() + 4 * BRIEFLY.total_seconds()
    await eventually(lambda: loop.time() >= ends)
    assert views() == 1
    asking.release()
    assert await judging == 1
    await gate.close()


async def test_a_view_whose_watch_broke_is_opened_again(
    store: FaultyStore, peer: SlotStore, gate: Gate
) -> None:
    await old_node(peer)
    assert await gate.floor() == 1
    store.faults.make_unreachable()
    with pytest.raises(Unavailable):
        await gate.floor()
    await eventually(lambda: views() == 0, why="the broken watch is closed")
    store.faults.heal()
    assert await gate.floor() == 1
    assert asked(store, Verb.WATCH) == 2


async def test_a_watch_that_breaks_under_a_judgement_leaves_it_unknown(
    store: FaultyStore, peer: SlotStore
) -> None:
    await old_node(peer)
    gate = Gate(Ahead(store), LOG, within=AGE)
    judging = asyncio.create_task(gate.floor())
    await eventually(lambda: asked(store, Verb.POSITION))
    store.faults.make_unreachable()
    with pytest.raises(Unavailable, match="ended before it had caught up"):
        await judging
    await gate.close()


async def test_a_view_that_does_not_catch_up_is_unavailable_and_given_up(
    store: FaultyStore, peer: SlotStore
) -> None:
    await old_node(peer)
    ahead = Ahead(store)
    gate = Gate(ahead, LOG, within=BRIEFLY)
    with pytest.raises(Unavailable, match="did not catch up"):
        await gate.floor()
    ahead.by = 0
    assert await gate.floor() == 1
    assert asked(store, Verb.WATCH) == 2
    await gate.close()


async def test_a_bucket_that_was_emptied_has_nobody_alive_in_it(
    peer: SlotStore, gate: Gate
) -> None:
    await old_node(peer)
    assert await gate.floor() == 1
    standing = await peer.buckets.leases.read(OLD_NODE.key)
    assert isinstance(standing, Entry)
    await peer.buckets.leases.purge_through(OLD_NODE.key, standing.revision)
    assert await gate.floor() == Absent()


async def test_the_view_forgets_what_the_buckets_age_removed(
    store: FaultyStore, clock: ManualClock
) -> None:
    for name in ("seat:z", "node:m", "seat:a"):  # in no order of theirs
        await claim(store, resource=Resource.parse(name))
        clock.advance(SHORT)
    view = await ProtocolView.open(store.buckets.leases, LOG)
    assert len(view) == 3
    clock.advance(AGE - 2 * SHORT)
    assert view.lowest(clock.now()) == PROTOCOL
    assert len(view) == 1
    await view.close()


async def test_a_caller_that_gives_up_leaves_the_opening_to_the_others(
    store: FaultyStore, peer: SlotStore, gate: Gate
) -> None:
    await old_node(peer)
    opening = store.faults.hold(Verb.WATCH)
    first, second = asyncio.create_task(gate.floor()), asyncio.create_task(gate.floor())
    await opening.reached.wait()
    first.cancel()
    await asyncio.wait({first})
    opening.release()
    assert await second == 1
    assert asked(store, Verb.WATCH) == 1


async def test_an_opening_that_failed_fails_whoever_waited_and_nobody_later(
    store: FaultyStore, peer: SlotStore, gate: Gate
) -> None:
    await old_node(peer)
    store.faults.fail(Verb.WATCH)
    answers = await asyncio.gather(gate.floor(), gate.floor(), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Unavailable] * 2
    assert await gate.floor() == 1


async def test_closing_the_store_closes_the_view_and_gates_nothing_more(
    store: FaultyStore,
) -> None:
    await claim(store)
    assert views() == 1
    await store.close()
    assert views() == 0
    with pytest.raises(Unavailable):
        await store.leases.acquire(CEO, owner=ME, ttl=AGE)


async def test_closing_ends_an_opening_and_who_waits_for_it_does_not_know(
    store: FaultyStore, gate: Gate
) -> None:
    opening = store.faults.hold(Verb.WATCH)
    judging = asyncio.create_task(gate.floor())
    await opening.reached.wait()
    await gate.close()
    with pytest.raises(Unavailable, match="closed"):
        await judging


async def test_an_older_build_seen_only_behind_the_claim_has_it_given_back(
    store: FaultyStore, peer: SlotStore
) -> None:
    await claim(store, ttl=SHORT, resource=Resource.parse("seat:warm"))
    minting = store.faults.hold(Verb.UPDATE, bucket="epochs")
    call = asyncio.create_task(store.leases.acquire(CEO, owner=ME, ttl=AGE))
    await minting.reached.wait()
    await old_node(peer)
    minting.release()
    assert await call == Refused(because=RefusedReason.PROTOCOL)
    assert await peer.leases.get(CEO) == Absent()
    answer = await peer.leases.acquire(CEO, owner=ME, ttl=AGE, gated=False)
    assert isinstance(answer, Granted)
    assert answer.lease.epoch == 2


class Ahead(FaultyBucket):
    """A bucket that says it has come further than any watch of it will."""

    def __init__(self, store: FaultyStore) -> None:
        super().__init__(store.buckets.leases, Faults())
        self.by = 1

    @override
    async def position(self) -> Position:
        said = await super().position()
        return Position(last_sequence=Revision(said.last_sequence + self.by), now=said.now)


def views() -> int:
    """How many views are being kept."""
    return sum(task.get_name() == f"watch of {WHAT}" for task in asyncio.all_tasks())
