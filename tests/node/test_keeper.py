"""Keeping seats: what a renewal's three answers do, by a clock the test moves."""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from coordination.contract.answers import Owner
from coordination.memory.store import MemoryBroker, open_memory
from coordination.rules.keys import Resource
from coordination.rules.leases import PROTOCOL
from coordination.testing import FaultyStore, ManualClock, Verb
from fleet.node.keeper import SeatKeeper
from tests.node.terms import holders, profile

TTL = timedelta(seconds=45)
ME = Owner("core-1:node-1")


@dataclass
class Desk:
    clock: ManualClock
    store: FaultyStore
    keeper: SeatKeeper
    dropped: list[str]
    now: float = 1000.0

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.clock.advance(timedelta(seconds=seconds))


@pytest.fixture
async def desk() -> Desk:
    clock = ManualClock()
    store = FaultyStore(await open_memory(broker=MemoryBroker(clock, lease_ttl=TTL)))
    dropped: list[str] = []
    keeper = SeatKeeper(
        store, profile(ttl=TTL), ME, dropped=dropped.append, monotonic=lambda: made.now
    )
    made = Desk(clock, store, keeper, dropped)
    await keeper.claim(["ada", "bo"], may_go_on=lambda: True)
    return made


async def test_a_seat_is_renewed_within_a_heartbeat_and_not_before_it_is_due(desk: Desk) -> None:
    before = len(desk.store.faults.calls)
    await desk.keeper.renew_due()
    assert len(desk.store.faults.calls) == before
    desk.pass_time(15)
    await desk.keeper.renew_due()
    assert {held.until for held in desk.keeper.held.values()} == {desk.now + 45}


async def test_a_renewal_that_could_not_be_asked_holds_and_is_asked_again_soon(desk: Desk) -> None:
    desk.pass_time(15)
    desk.store.faults.make_unreachable()
    await desk.keeper.renew_due()
    assert set(desk.keeper.held) == {"ada", "bo"}
    assert all(held.is_unsure for held in desk.keeper.held.values())
    desk.store.faults.heal()
    desk.pass_time(2)
    await desk.keeper.renew_due()
    assert not any(held.is_unsure for held in desk.keeper.held.values())
    assert {epoch for _, epoch in (await holders(desk.store)).values()} == {1}


async def test_a_seat_that_could_not_be_renewed_is_let_go_when_its_ttl_has_really_elapsed(
    desk: Desk,
) -> None:
    desk.store.faults.make_unreachable()
    for _ in range(22):
        desk.pass_time(2)
        await desk.keeper.renew_due()
    assert set(desk.keeper.held) == {"ada", "bo"}
    desk.pass_time(1)
    await desk.keeper.renew_due()
    assert desk.keeper.held == {}
    assert sorted(desk.dropped) == ["ada", "bo"]


async def test_a_seat_taken_over_is_let_go_at_once(desk: Desk) -> None:
    lease = desk.keeper.held["ada"].lease
    await desk.store.leases.release(lease)
    await desk.store.leases.acquire(lease.resource, owner=Owner("core-2:node-9"), ttl=TTL)
    desk.pass_time(15)
    await desk.keeper.renew_due()
    assert set(desk.keeper.held) == {"bo"}
    assert desk.dropped == ["ada"]


async def test_a_seat_held_by_a_peer_does_not_stop_the_other_claims(desk: Desk) -> None:
    await desk.store.leases.acquire(
        Resource(("seat", "cleo")), owner=Owner("core-2:node-9"), ttl=TTL
    )
    await desk.keeper.claim(["cleo", "dev"], may_go_on=lambda: True)
    assert set(desk.keeper.held) == {"ada", "bo", "dev"}


async def test_an_older_build_alive_stops_the_claims_and_not_the_seats_held(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await desk.store.leases.acquire(
        Resource(("node", "old")),
        owner=Owner("old:node-1"),
        ttl=TTL,
        protocol=PROTOCOL - 1,
        gated=False,
    )
    await desk.keeper.claim([f"new-{n:02}" for n in range(40)], may_go_on=lambda: True)
    assert set(desk.keeper.held) == {"ada", "bo"}
    assert 1 <= caplog.text.count("seat_claims_blocked_by_older_protocol") <= 16


async def test_a_claim_whose_acknowledgement_was_lost_is_adopted_by_the_next(desk: Desk) -> None:
    desk.store.faults.lose(Verb.UPDATE, bucket="leases", nth=2)
    await desk.keeper.claim(["cleo"], may_go_on=lambda: True)
    assert "cleo" not in desk.keeper.held
    await desk.keeper.claim(["cleo"], may_go_on=lambda: True)
    assert "cleo" in desk.keeper.held
    assert desk.store.faults.struck == 1


async def test_nothing_is_claimed_once_claiming_may_not_go_on(desk: Desk) -> None:
    await desk.keeper.claim(["cleo"], may_go_on=lambda: False)
    assert set(desk.keeper.held) == {"ada", "bo"}
