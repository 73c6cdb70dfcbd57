"""A node on the twin: what it holds, what it says, what it gives back."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from coordination.contract.answers import Owner
from coordination.contract.leases import Granted
from coordination.contract.pauses import Pause
from coordination.memory.store import MemoryBroker, open_memory
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, Verb
from tests.node.terms import NODE, Directory, company_of, holders, profile, running
from tests.support.waiting import eventually

TTL = timedelta(seconds=6)


@pytest.fixture
async def broker() -> MemoryBroker:
    return MemoryBroker(lease_ttl=TTL)


@pytest.fixture
async def store(broker: MemoryBroker) -> AsyncIterator[SlotStore]:
    opened = await open_memory(broker=broker)
    yield opened
    await opened.close()


async def count(store: SlotStore) -> int:
    return len(await holders(store))


async def test_a_node_claims_the_agents_seats_and_never_a_persons(store: SlotStore) -> None:
    async with running(store, profile(ttl=TTL), Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6)
        held = await holders(store)
        assert set(held) == {f"agent-{n:02}" for n in range(6)}
        assert {epoch for _, epoch in held.values()} == {1}


async def test_presence_says_what_the_node_is_and_that_no_turn_runs(store: SlotStore) -> None:
    async with running(store, profile(ttl=TTL), Directory()):
        (lease,) = await eventually(lambda: store.leases.list_live(NODE))
        assert lease.meta == {
            "roles": ["data", "ingress", "seats", "workers"],
            "labels": {"zone": "eu"},
            "broker": "member",
            "status": {
                "in_flight": 0,
                "draining": False,
                "posture": "serve",
                "started_at": "2026-09-23T08:00:00Z",
            },
        }
        assert lease.owner.startswith("core-1:node-")


async def test_a_drain_gives_everything_back_at_once(store: SlotStore) -> None:
    async with running(store, profile(ttl=TTL), Directory()) as (node, kill):
        await eventually(lambda: len(node.keeper.held) == 6)
        await node.drain()
        assert await holders(store) == {}
        assert await store.leases.list_live(NODE) == ()
        await kill()
    assert await holders(store) == {}


async def test_a_drain_that_cannot_ask_ends_within_a_heartbeat_and_leaves_leases_to_lapse(
    broker: MemoryBroker, store: SlotStore, caplog: pytest.LogCaptureFixture
) -> None:
    faulty = FaultyStore(await open_memory(broker=broker))
    async with running(faulty, profile(ttl=TTL), Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6)
        faulty.faults.make_unreachable()
        await node.drain()
        assert caplog.text.count("seat_left_to_lapse") == 6
        assert await count(store) == 6


async def test_a_drain_lets_claims_on_their_way_land_and_gives_those_back_too(
    broker: MemoryBroker, store: SlotStore
) -> None:
    faulty = FaultyStore(await open_memory(broker=broker))
    landing = faulty.faults.hold(Verb.UPDATE, bucket="epochs", nth=3)
    async with running(faulty, profile(ttl=TTL), Directory()) as (node, _):
        await landing.reached.wait()
        draining = asyncio.create_task(node.drain())
        await eventually(lambda: node.presence.draining)
        landing.release()
        await draining
        assert await holders(store) == {}


async def test_the_next_incarnation_of_a_killed_local_node_takes_its_seats_back_at_higher_epochs(
    store: SlotStore,
) -> None:
    long = timedelta(seconds=6)
    local = profile(ttl=long, is_local=True)
    async with running(store, local, Directory()) as (node, kill):
        await eventually(lambda: len(node.keeper.held) == 6)
        await kill()
    duty = await store.leases.acquire(
        Resource.parse("worker:census"), owner=Owner("core-1:worker-1"), ttl=long, gated=False
    )
    assert isinstance(duty, Granted)
    async with running(store, local, Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6)
        assert {epoch for _, epoch in (await holders(store)).values()} == {2}
        assert await store.leases.get(Resource.parse("worker:census")) == duty.lease


async def test_a_peer_takes_over_the_seats_of_a_killed_node_once_they_lapse(
    broker: MemoryBroker, store: SlotStore
) -> None:
    short = timedelta(seconds=2)
    other = await open_memory(broker=broker)
    async with running(store, profile(ttl=short), Directory()) as (first, kill):
        await eventually(lambda: len(first.keeper.held) == 6)
        async with running(other, profile("core-2", ttl=short), Directory()) as (second, _):
            await eventually(lambda: len(second.hub.nodes.projection.items()) == 2)
            await kill()
            await eventually(lambda: len(second.keeper.held) == 6, within=8)
            held = await holders(store)
            assert {owner.partition(":")[0] for owner, _ in held.values()} == {"core-2"}
            assert max(epoch for _, epoch in held.values()) == 2


async def test_a_second_node_ends_up_with_half_of_the_seats(
    broker: MemoryBroker, store: SlotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.node.sweeper.EVERY", 0.1)
    other = await open_memory(broker=broker)
    async with running(store, profile(ttl=TTL), Directory()) as (first, _):
        await eventually(lambda: len(first.keeper.held) == 6)
        async with running(other, profile("core-2", ttl=TTL), Directory()) as (second, _):
            await eventually(
                lambda: (len(first.keeper.held), len(second.keeper.held)) == (3, 3), within=10
            )
    assert await count(store) == 6


async def test_an_outage_shorter_than_the_ttl_loses_nothing(broker: MemoryBroker) -> None:
    faulty = FaultyStore(await open_memory(broker=broker))
    short = profile(ttl=timedelta(seconds=3))
    async with running(faulty, short, Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6)
        before = await holders(faulty)
        faulty.faults.make_unreachable()
        await eventually(lambda: all(held.is_unsure for held in node.keeper.held.values()))
        assert len(node.keeper.held) == 6
        faulty.faults.heal()
        await eventually(lambda: not any(held.is_unsure for held in node.keeper.held.values()))
        assert await holders(faulty) == before


async def test_an_outage_longer_than_the_ttl_costs_the_seats_and_then_brings_them_back_higher(
    broker: MemoryBroker,
) -> None:
    faulty = FaultyStore(await open_memory(broker=broker))
    short = profile(ttl=timedelta(seconds=2))
    async with running(faulty, short, Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6)
        faulty.faults.make_unreachable()
        await eventually(lambda: not node.keeper.held)
        faulty.faults.heal()
        await eventually(lambda: len(node.keeper.held) == 6, within=15)
        assert {epoch for _, epoch in (await holders(faulty)).values()} == {2}


async def test_a_pause_is_followed_and_kept_while_it_cannot_be_read(
    broker: MemoryBroker, store: SlotStore
) -> None:
    faulty = FaultyStore(await open_memory(broker=broker))
    async with running(faulty, profile(ttl=TTL), Directory()) as (node, _):
        await eventually(lambda: node.holds.has_answer)
        await store.pauses.create(
            Pause(handle="agent-00", by="ana", at=Instant.of(datetime.now(UTC)))
        )
        await eventually(lambda: set(node.holds.in_force) == {"agent-00"})
        faulty.faults.make_unreachable()
        await eventually(lambda: not node.hub.probe.is_up, within=8)
        node.holds.refresh()
        assert set(node.holds.in_force) == {"agent-00"}
        standing = await store.pauses.get("agent-00")
        assert isinstance(standing, Pause)
        await store.pauses.lift("agent-00", standing.revision)
        faulty.faults.heal()
        await eventually(lambda: not node.holds.in_force, within=15)


async def test_a_changed_document_moves_the_seats_held(store: SlotStore) -> None:
    directory = Directory()
    async with running(store, profile(ttl=TTL), directory) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6)
        directory.company = company_of(4)
        node.revision.wake()
        await eventually(lambda: len(node.keeper.held) == 4)
        assert await count(store) == 4


async def test_the_node_reports_what_it_applied(store: SlotStore) -> None:
    async with running(store, profile(ttl=TTL), Directory(epoch=41)):
        (status,) = await eventually(store.status.list)
        assert (status.node, status.epoch, status.revision_id, status.status) == (
            "core-1",
            41,
            "r-1",
            "ok",
        )


async def test_without_a_company_a_node_is_present_and_holds_no_seat(store: SlotStore) -> None:
    async with running(store, profile(ttl=TTL), Directory(company=None)) as (node, _):
        await eventually(node.presence.held.is_set)
        await eventually(lambda: len(node.hub.nodes.projection.items()) == 1)
        await node.sweeper.sweep()
        assert await holders(store) == {}


async def test_a_node_without_the_seats_role_claims_none(store: SlotStore) -> None:
    mute = replace(profile(ttl=TTL), roles=("data", "ingress"))
    async with running(store, mute, Directory()) as (node, _):
        await eventually(node.presence.held.is_set)
        await eventually(lambda: node.revision.company is not None)
        assert await holders(store) == {}


async def test_a_node_that_waits_for_the_store_goes_on_when_it_answers(
    broker: MemoryBroker,
) -> None:
    faulty = FaultyStore(await open_memory(broker=broker))
    faulty.faults.make_unreachable()
    async with running(faulty, profile(ttl=TTL, is_local=True), Directory()) as (node, _):
        await eventually(lambda: len(faulty.faults.calls) > 0)
        faulty.faults.heal()
        await eventually(lambda: len(node.keeper.held) == 6, within=15)
