"""The safe direction of each contract when the store could not be asked."""

import pytest

from coordination import policies
from coordination.contract.answers import Absent, RefusedReason, Released
from coordination.contract.config import Config
from coordination.contract.leases import Lease
from coordination.memory.clock import MANUAL_START
from coordination.policies import (
    Direction,
    InForce,
    KeepRunning,
    LeftToLapse,
    NothingConcluded,
    Pointed,
    Run,
    Shed,
    StandBy,
)
from coordination.rules.leases import LostReason
from coordination.testing import FaultyStore
from tests.slots.terms import AGE, CEO, ME, PEER, claim, pause


@pytest.fixture
def config(store: FaultyStore) -> Config:
    return store.config


async def test_lease_renew_holds_briefly(store: FaultyStore) -> None:
    lease = await claim(store)
    store.faults.make_unreachable()
    held = await policies.renew_or_hold(store.leases, lease, ttl=AGE)
    assert isinstance(held, KeepRunning)
    assert held.lease == lease
    assert held.unknown is not None
    store.faults.heal()
    renewed = await policies.renew_or_hold(store.leases, lease, ttl=AGE)
    assert isinstance(renewed, KeepRunning)
    assert renewed.unknown is None


async def test_a_tenure_the_store_says_is_lost_is_shed(store: FaultyStore) -> None:
    lease = await claim(store)
    await store.leases.release(lease)
    shed = await policies.renew_or_hold(store.leases, lease, ttl=AGE)
    assert shed == Shed(because=LostReason.RELEASED)


async def test_an_acquire_that_could_not_be_asked_does_not_run(store: FaultyStore) -> None:
    store.faults.make_unreachable()
    ask = store.leases.acquire(CEO, owner=ME, ttl=AGE)
    stood_by = await policies.acquire_or_stand_by(ask)
    assert isinstance(stood_by, StandBy)
    assert isinstance(stood_by.because, Exception)


async def test_an_acquire_runs_when_granted_and_stands_by_when_refused(
    store: FaultyStore,
) -> None:
    ran = await policies.acquire_or_stand_by(store.leases.acquire(CEO, owner=ME, ttl=AGE))
    assert isinstance(ran, Run)
    stood_by = await policies.acquire_or_stand_by(store.leases.acquire(CEO, owner=PEER, ttl=AGE))
    assert isinstance(stood_by, StandBy)
    assert getattr(stood_by.because, "because", None) is RefusedReason.HELD


async def test_a_release_that_could_not_be_asked_is_left_to_lapse(store: FaultyStore) -> None:
    ran = await policies.acquire_or_stand_by(store.leases.acquire(CEO, owner=ME, ttl=AGE))
    assert isinstance(ran, Run)
    store.faults.make_unreachable()
    left = await policies.release_or_let_lapse(store.leases, ran.lease)
    assert isinstance(left, LeftToLapse)
    store.faults.heal()
    assert isinstance(await store.leases.get(CEO), Lease)
    assert isinstance(await policies.release_or_let_lapse(store.leases, ran.lease), Released)


async def test_pauses_that_could_not_be_read_are_kept(store: FaultyStore) -> None:
    await store.pauses.create(pause())
    known = await policies.pauses_or_last_known(store.pauses, ())
    assert [one.handle for one in known.pauses] == ["swe"]
    store.faults.make_unreachable()
    kept = await policies.pauses_or_last_known(store.pauses, known.pauses)
    assert isinstance(kept, InForce)
    assert kept.pauses == known.pauses
    assert kept.unknown is not None


async def test_config_that_could_not_be_read_concludes_nothing(
    store: FaultyStore, config: Config
) -> None:
    assert await policies.target_or_nothing(config) == Pointed(target=Absent())
    await config.activate("r-1", b"", at=MANUAL_START)
    store.faults.make_unreachable()
    assert isinstance(await policies.target_or_nothing(config), NothingConcluded)


def test_every_direction_cites_its_source() -> None:
    assert {name: policy.direction for name, policy in policies.POLICIES.items()} == {
        "leases.renew": Direction.HOLD,
        "leases.acquire": Direction.DO_NOT_RUN,
        "leases.release": Direction.LET_LAPSE,
        "pauses.list": Direction.KEEP,
        "config.target": Direction.CONCLUDE_NOTHING,
    }
    assert all("coordination.txt" in policy.source for policy in policies.POLICIES.values())
