"""The hub on the twin: what it shows, what it tells, and what it admits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from coordination.contract.answers import Absent, Epoch, NodeId, Owner
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.contract.pauses import Created, Pause
from coordination.contract.status import ConfigStatus
from coordination.contract.store import Store
from coordination.memory.store import MemoryBroker, open_memory
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource
from coordination.testing import Faults, FaultyStore, Verb
from runtime.hub import following, topics
from runtime.hub.hub import Hub
from runtime.hub.notices import Notice, Resync, State, Subscription
from runtime.reading import Known, Reading, Unknown
from tests.support.waiting import eventually

TTL = timedelta(seconds=45)
OWNER = Owner("core-1:node-1")


class House:
    """A hub over its own faulty handle, and another handle to write with."""

    def __init__(self, broker: MemoryBroker) -> None:
        self.faults = Faults()
        self.broker = broker
        self.read: Store
        self.write: Store
        self.hub = Hub(self.store)

    async def store(self) -> Store:
        return self.read

    async def hold(self, handle: str, *, owner: Owner = OWNER, ttl: timedelta = TTL) -> Lease:
        answer = await self.write.leases.acquire(
            Resource(("seat", handle)), owner=owner, ttl=ttl, gated=False
        )
        assert isinstance(answer, Granted)
        return answer.lease

    async def pause(self, handle: str) -> None:
        pause = Pause(handle=handle, by="ana", at=Instant.of(datetime.now(UTC)), reason="r")
        assert isinstance(await self.write.pauses.create(pause), Created)


@asynccontextmanager
async def running(
    *, lease_ttl: timedelta = TTL, relist: timedelta | None = None
) -> AsyncIterator[House]:
    broker = MemoryBroker(lease_ttl=lease_ttl)
    house = House(broker)
    house.read = FaultyStore(await open_memory(broker=broker), house.faults)
    house.write = await open_memory(broker=broker)
    if relist is not None:
        house.hub = Hub(house.store, relist_every=relist)
    task = asyncio.create_task(house.hub.run())
    try:
        yield house
    finally:
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.result()


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as made:
        await eventually(lambda: isinstance(made.hub.seats.reading(), Known))
        await eventually(lambda: isinstance(made.hub.pauses.reading(), Known))
        yield made


async def seen(house: House, *wanted: str) -> None:
    """Wait until these seats are shown and the notice of it is out."""
    await eventually(lambda: handles(house.hub.seats.reading()) == [*wanted])
    await eventually(lambda: house.hub.seats.is_quiet)


def handles(reading: Reading[tuple[Lease, ...]]) -> list[str] | None:
    return [lease.resource.name for lease in reading.value] if isinstance(reading, Known) else None


async def next_of(subscription: Subscription, topic: str) -> Notice:
    async with asyncio.timeout(5):
        while True:
            notice = await subscription.next()
            assert isinstance(notice, Notice)
            if notice.topic == topic:
                return notice


async def test_before_the_first_answer_nothing_is_known_and_nothing_is_empty() -> None:
    async def never() -> Store:
        raise AssertionError("nothing runs yet")  # noqa: EM101 - the message is the test

    hub = Hub(never)
    reading = hub.seats.reading()
    assert isinstance(reading, Unknown)
    assert reading.last is None
    assert not hub.link().up


async def test_an_empty_company_is_known_to_be_empty(house: House) -> None:
    await eventually(lambda: isinstance(house.hub.activation(), Known))
    assert handles(house.hub.seats.reading()) == []
    pointer = house.hub.activation()
    assert isinstance(pointer, Known)
    assert isinstance(pointer.value, Absent)


async def test_a_claim_appears_within_half_a_second_and_is_told(house: House) -> None:
    async with house.hub.subscribe() as told:
        await house.hold("ada")
        notice = await next_of(told, topics.SEATS)
    assert notice.appeared == ("ada",)
    assert notice.state is State.KNOWN
    assert handles(house.hub.seats.reading()) == ["ada"]


async def test_a_pause_and_its_lifting_are_told(house: House) -> None:
    async with house.hub.subscribe() as told:
        await house.pause("ada")
        assert (await next_of(told, topics.PAUSES)).appeared == ("ada",)
        standing = await house.write.pauses.get("ada")
        assert isinstance(standing, Pause)
        await house.write.pauses.lift("ada", standing.revision)
        assert (await next_of(told, topics.PAUSES)).left == ("ada",)


async def test_a_renewal_moves_the_deadline_and_is_no_news(house: House) -> None:
    lease = await house.hold("ada")
    await seen(house, "ada")
    async with house.hub.subscribe() as told:
        renewed = await house.write.leases.renew(lease, ttl=TTL)
        assert isinstance(renewed, Renewed)

        def is_moved() -> bool:
            reading = house.hub.seats.reading()
            assert isinstance(reading, Known)
            return reading.value[0].expires_at > lease.expires_at

        await eventually(is_moved)
        await house.hold("bo")
        assert (await next_of(told, topics.SEATS)).appeared == ("bo",)


async def test_a_takeover_is_one_change_of_a_seat_that_never_left(house: House) -> None:
    lease = await house.hold("ada")
    await seen(house, "ada")
    async with house.hub.subscribe() as told:
        await house.write.leases.release(lease)
        await house.hold("ada", owner=Owner("core-2:node-1"))
        notice = await next_of(told, topics.SEATS)
    assert (notice.keys, notice.appeared, notice.left) == (("ada",), (), ())


async def test_a_lapsed_lease_goes_only_by_the_leaders_word() -> None:
    async with running() as house:
        await eventually(lambda: isinstance(house.hub.seats.reading(), Known))
        await house.hold("ada", ttl=timedelta(seconds=2))
        await seen(house, "ada")
        async with house.hub.subscribe() as told:
            late = await next_of(told, topics.SEATS)
            assert late.keys == ("ada",)  # late before it is gone
            house.faults.fail(Verb.READ, bucket="leases")
            await eventually(lambda: house.faults.struck == 1)
            assert handles(house.hub.seats.reading()) == ["ada"]
            assert (await next_of(told, topics.SEATS)).left == ("ada",)
        assert handles(house.hub.seats.reading()) == []


async def test_a_store_that_does_not_answer_makes_every_topic_unknown_and_keeps_the_last(
    house: House,
) -> None:
    await house.hold("ada")
    await seen(house, "ada")
    house.faults.make_unreachable()
    await eventually(lambda: not house.hub.link().up, within=8)
    for follower in (house.hub.seats, house.hub.nodes, house.hub.pauses, house.hub.duties):
        assert isinstance(follower.reading(), Unknown)
    reading = house.hub.seats.reading()
    assert isinstance(reading, Unknown)
    assert reading.last is not None
    assert [lease.resource.name for lease in reading.last.value] == ["ada"]
    assert reading.why


async def test_what_changed_during_an_outage_is_told_when_it_is_over(house: House) -> None:
    lease = await house.hold("ada")
    await seen(house, "ada")
    async with house.hub.subscribe() as told:
        house.faults.make_unreachable()
        await eventually(lambda: isinstance(house.hub.seats.reading(), Unknown), within=8)
        assert (await next_of(told, topics.SEATS)).state is State.UNKNOWN
        await house.write.leases.release(lease)
        await house.hold("bo")
        house.faults.heal()
        await eventually(lambda: handles(house.hub.seats.reading()) == ["bo"], within=15)
        notices = [await next_of(told, topics.SEATS), await next_of(told, topics.SEATS)]
    assert notices[-1].state is State.KNOWN
    assert ("bo",) in {notice.appeared for notice in notices}
    assert ("ada",) in {notice.left for notice in notices}


async def test_a_watch_that_breaks_alone_is_opened_again_from_a_full_answer(house: House) -> None:
    lease = await house.hold("ada")
    await seen(house, "ada")
    house.faults.make_unreachable()
    await house.write.leases.release(lease)
    house.faults.heal()
    await eventually(lambda: handles(house.hub.seats.reading()) == [], within=5)
    assert house.hub.link().up


async def test_a_silent_watch_is_not_believed_for_ever(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MUTE_AFTER", 0.2)
    house.faults.fail(Verb.WATCH, bucket="positions", nth=1)
    async with house.hub.subscribe() as told:
        notice = await next_of(told, topics.PAUSES)
        assert notice.state is State.UNKNOWN
    assert house.hub.link().up


async def test_a_listing_finds_what_no_watch_told() -> None:
    async with running(relist=timedelta(seconds=0.2)) as house:
        await eventually(lambda: isinstance(house.hub.statuses.reading(), Known))
        status = ConfigStatus(
            node=NodeId("core-1"),
            epoch=Epoch(1),
            status="ok",
            updated_at=Instant.of(datetime.now(UTC)),
        )
        house.hub.statuses.projection.put(replace(status, node=NodeId("ghost")))
        await house.write.status.report(status)

        def nodes() -> list[str]:
            reading = house.hub.statuses.reading()
            return [one.node for one in reading.value] if isinstance(reading, Known) else []

        await eventually(lambda: nodes() == ["core-1"])


async def test_a_failed_listing_shortens_nothing() -> None:
    async with running(relist=timedelta(seconds=0.1)) as house:
        await house.hold("ada")
        await seen(house, "ada")
        for nth in (1, 2, 3):
            house.faults.fail(Verb.LISTING, bucket="leases", nth=nth)
        await eventually(lambda: house.faults.struck >= 3)
        assert handles(house.hub.seats.reading()) == ["ada"]


async def test_a_slow_subscriber_loses_its_queue_and_is_told_to_read_again(house: House) -> None:
    async with house.hub.subscribe() as slow:
        for number in range(70):
            slow.offer(Notice(topic="seats", rev=number, state=State.KNOWN))
        first = await slow.next()
    assert isinstance(first, Resync)


async def test_a_subscriber_that_left_is_forgotten(house: House) -> None:
    async with house.hub.subscribe() as subscription:
        pass
    subscription.offer(Notice(topic="seats", rev=1, state=State.KNOWN))
    await house.hold("ada")
    await seen(house, "ada")
    assert await subscription.next() == Notice(topic="seats", rev=1, state=State.KNOWN)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await subscription.next()


async def test_each_source_says_when_it_was_last_heard(house: House) -> None:
    link = house.hub.link()
    by_name = {source.name: source for source in link.sources}
    assert set(by_name) == {"nodes", "seats", "pauses", "activation", "statuses", "duties"}
    assert by_name["seats"].answered_at is not None
    assert house.hub.freshness("seats").state == "live"
