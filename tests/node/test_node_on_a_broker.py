"""A node and a hub on a real broker: crashes, silence, a stream that is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import nats
import pytest
from nats.js import JetStreamContext

import coordination
from coordination.contract.pauses import Pause
from coordination.contract.store import Credentials, Store
from coordination.rules.instants import Instant
from runtime.hub import topics
from runtime.hub.hub import Hub
from runtime.hub.notices import Notice, State
from runtime.reading import Known, Unknown
from tests.node.terms import Directory, company_of, holders, profile, running
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.timeout(90)]

TTL = timedelta(seconds=6)
ADMITTED_WITHIN = 12.0  # seconds until no fact of a silent store is called fresh
LIVE_WITHIN = 15.0  # seconds until everything is live again after it is back


@pytest.fixture
async def server() -> AsyncIterator[NatsServer]:
    async with NatsServer(sync_interval="2m") as running_server:
        yield running_server


async def connect(server: NatsServer, *, lease_ttl: timedelta = TTL) -> Store:
    return await coordination.open_jetstream(
        server.url,
        credentials=Credentials(user=server.user, password=server.password),
        domain=server.domain,
        lease_ttl=lease_ttl,
    )


@pytest.fixture
async def store(server: NatsServer) -> AsyncIterator[Store]:
    opened = await connect(server)
    yield opened
    await opened.close()


@pytest.fixture
async def manager(server: NatsServer) -> AsyncIterator[JetStreamContext]:
    """The broker as an outsider sees it."""
    plain = await nats.connect(server.url, user=server.user, password=server.password)
    yield plain.jetstream(domain=server.domain)
    await plain.close()


@asynccontextmanager
async def watching(store: Store, *, relist: timedelta) -> AsyncIterator[Hub]:
    async def give() -> Store:
        return store

    hub = Hub(give, relist_every=relist)
    task = asyncio.create_task(hub.run())
    try:
        await eventually(lambda: all_live(hub), within=LIVE_WITHIN)
        yield hub
    finally:
        task.cancel()
        await asyncio.wait((task,))


def all_live(hub: Hub) -> bool:
    return all(source.state == "live" for source in hub.link().sources)


def none_live(hub: Hub) -> bool:
    return not any(source.state == "live" for source in hub.link().sources)


async def test_a_killed_nodes_next_incarnation_takes_its_seats_back_at_higher_epochs(
    server: NatsServer, store: Store
) -> None:
    local = profile(ttl=TTL, is_local=True)
    first_store = await connect(server)
    async with running(first_store, local, Directory()) as (node, kill):
        await eventually(lambda: len(node.keeper.held) == 6, within=15)
        await kill()
    await first_store.close()
    before = await holders(store)
    async with running(store, local, Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6, within=15)
        after = await holders(store)
    assert {handle: epoch + 1 for handle, (_, epoch) in before.items()} == {
        handle: epoch for handle, (_, epoch) in after.items()
    }


async def test_leases_are_held_again_after_the_broker_was_killed_and_epochs_only_rise(
    server: NatsServer, store: Store
) -> None:
    async with running(store, profile(ttl=TTL), Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6, within=15)
        before = await holders(store)
        await server.kill()
        await eventually(
            lambda: all(held.is_unsure for held in node.keeper.held.values()), within=TTL.seconds
        )
        await server.start()
        await eventually(
            lambda: (
                len(node.keeper.held) == 6
                and not any(held.is_unsure for held in node.keeper.held.values())
            ),
            within=LIVE_WITHIN,
        )
        after = await holders(store)
    assert after.keys() == before.keys()
    assert all(after[handle][1] >= before[handle][1] for handle in before)


async def test_a_broker_that_is_away_for_longer_than_the_ttl_costs_a_higher_epoch_and_no_seat(
    server: NatsServer, store: Store
) -> None:
    short = profile(ttl=timedelta(seconds=3))
    async with running(store, short, Directory()) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 6, within=15)
        await server.kill()
        await eventually(lambda: not node.keeper.held, within=10)
        await server.start()
        await eventually(lambda: len(node.keeper.held) == 6, within=LIVE_WITHIN)
        assert {epoch for _, epoch in (await holders(store)).values()} == {2}


async def test_a_drain_leaves_nothing_held(server: NatsServer, store: Store) -> None:
    async with running(store, profile(ttl=TTL), Directory(company_of(30))) as (node, _):
        await eventually(lambda: len(node.keeper.held) == 30, within=15)
        await node.drain()
        assert await holders(store) == {}


async def test_with_listings_suppressed_a_pause_reaches_a_second_process_within_half_a_second(
    server: NatsServer, store: Store
) -> None:
    other = await connect(server)
    async with (
        watching(store, relist=timedelta(days=1)) as hub,
        hub.subscribe() as told,
    ):
        loop = asyncio.get_running_loop()
        began = loop.time()
        await other.pauses.create(Pause(handle="ada", by="ana", at=Instant.of(datetime.now(UTC))))
        async with asyncio.timeout(5):
            while True:
                notice = await told.next()
                if isinstance(notice, Notice) and "ada" in notice.appeared:
                    break
        assert loop.time() - began < 0.5
        reading = hub.pauses.reading()
        assert isinstance(reading, Known)
        assert [pause.handle for pause in reading.value] == ["ada"]
    await other.close()


async def test_a_paused_broker_is_admitted_in_time_and_everything_is_live_again_in_time(
    server: NatsServer, store: Store
) -> None:
    async with watching(store, relist=timedelta(seconds=15)) as hub, hub.subscribe() as told:
        server.pause()
        await eventually(lambda: none_live(hub) and not hub.link().up, within=8)
        assert isinstance(hub.seats.reading(), Unknown)
        unknown: set[str] = set()
        async with asyncio.timeout(3):
            while len(unknown) < 7:
                notice = await told.next()
                if isinstance(notice, Notice) and notice.state is State.UNKNOWN:
                    unknown.add(notice.topic)
        assert unknown == {*topics.ALL, topics.LINK}
        server.resume()
        await eventually(lambda: all_live(hub), within=LIVE_WITHIN)


async def test_a_killed_broker_is_admitted_in_time_and_everything_is_live_again_in_time(
    server: NatsServer, store: Store
) -> None:
    async with watching(store, relist=timedelta(seconds=15)) as hub:
        await server.kill()
        await eventually(lambda: none_live(hub), within=ADMITTED_WITHIN)
        await server.start()
        await eventually(lambda: all_live(hub), within=LIVE_WITHIN)


async def test_a_stream_that_is_gone_makes_its_topics_unknown_and_leaves_the_others_live(
    manager: JetStreamContext, store: Store
) -> None:
    async with watching(store, relist=timedelta(seconds=15)) as hub:
        await store.pauses.create(Pause(handle="ada", by="ana", at=Instant.of(datetime.now(UTC))))
        await eventually(lambda: len(hub.pauses.projection.items()) == 1)
        kept = await manager.stream_info("KV_crewlet_positions")
        await manager.delete_stream("KV_crewlet_positions")
        await eventually(
            lambda: hub.freshness(topics.PAUSES).state == "down", within=ADMITTED_WITHIN
        )
        reading = hub.pauses.reading()
        assert isinstance(reading, Unknown)
        assert reading.last is not None
        assert [pause.handle for pause in reading.last.value] == ["ada"]
        assert isinstance(hub.seats.reading(), Known)
        assert hub.link().up
        await manager.add_stream(kept.config)
        await eventually(lambda: hub.freshness(topics.PAUSES).state == "live", within=LIVE_WITHIN)
        assert hub.pauses.projection.items() == ()


async def test_nothing_is_left_on_the_broker_by_a_hub_that_ended(
    manager: JetStreamContext, store: Store
) -> None:

    async def consumers() -> int:
        streams = await manager.streams_info()
        return sum(stream.state.consumer_count for stream in streams)

    async with watching(store, relist=timedelta(seconds=15)):
        assert await consumers() == len(topics.ALL)

    async def is_clean() -> bool:
        return await consumers() == 0

    await eventually(is_clean)
