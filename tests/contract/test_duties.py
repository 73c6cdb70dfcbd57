"""DUT-01 to DUT-08: leases that are neither seats nor presences, each with a TTL of its own."""

from datetime import timedelta
from typing import Final

import pytest

from coordination.contract.answers import Absent
from coordination.contract.store import Store
from coordination.errors import TtlTooLong
from coordination.rules.keys import Resource
from coordination.rules.leases import MAX_DUTY_TTL
from tests.contract.backends import Backend
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.terms import (
    CEO,
    HOUR,
    LONG,
    MINUTE,
    NODE,
    SEAT,
    SECOND,
    SHORT,
    WORKER,
    A,
    B,
    ask,
    claim,
    names,
    node,
    release,
    renew,
    standing,
)

LONGEST: Final = 3 * HOUR
SEAT_TTL: Final = 45 * SECOND
MAINTENANCE: Final = Resource.parse("worker:maintenance")
SCHEDULER: Final = Resource.parse("worker:scheduler")
SANDBOX: Final = Resource.parse("worker:sandbox-waiter")
SETUP: Final = Resource.parse("worker:setup-provision-github")
CADENCES: Final = {
    SCHEDULER: 30 * SECOND,
    Resource.parse("worker:integration-reconcile"): 4 * MINUTE + 30 * SECOND,
    SETUP: 5 * MINUTE,
    MAINTENANCE: 45 * MINUTE,
    Resource.parse("worker:skill-curator"): LONGEST,
}


@case("DUT-01")
async def test_a_duty_outlives_the_seat_leases_ttl_by_hours(store: Store) -> None:
    seat = await claim(store, CEO, A, LONG)
    duty = await claim(store, MAINTENANCE, A, LONGEST)
    least = LONGEST - LONG - MINUTE
    assert duty.expires_at - seat.expires_at >= least
    await renew(store, duty, LONGEST)
    renewed = await standing(store, MAINTENANCE)
    assert renewed.expires_at - seat.expires_at >= least
    again = await claim(store, MAINTENANCE, A, LONGEST)
    assert again.epoch == duty.epoch


@case("DUT-02")
async def test_a_duty_longer_than_three_hours_is_an_error_everywhere(store: Store) -> None:
    assert MAX_DUTY_TTL == LONGEST
    with pytest.raises(TtlTooLong):
        await ask(store, MAINTENANCE, A, LONGEST + SECOND)
    assert await store.leases.get(MAINTENANCE) == Absent()
    assert await store.leases.list_live(WORKER) == ()
    live = await claim(store, SCHEDULER, A, LONG)
    before = await standing(store, SCHEDULER)
    with pytest.raises(TtlTooLong):
        await store.leases.renew(live, ttl=LONGEST + SECOND)
    assert await standing(store, SCHEDULER) == before


@case("DUT-03")
async def test_a_duty_ends_at_its_own_deadline_not_at_its_buckets_age(
    backend: Backend, store: Store
) -> None:
    before = await claim(store, SCHEDULER, A, SHORT)
    await backend.lapse(SHORT)
    assert await store.leases.get(SCHEDULER) == Absent()
    assert await store.leases.list_owned(A) == ()
    assert (await claim(store, SCHEDULER, B)).epoch > before.epoch


@case("DUT-04")
async def test_each_class_lists_its_own_and_an_owner_all_of_them(store: Store) -> None:
    for duty in (SCHEDULER, SANDBOX):
        await claim(store, duty, A, LONGEST)
    await claim(store, CEO, A, LONG)
    await claim(store, node("node-a"), A, LONG)
    duties = ["worker:sandbox-waiter", "worker:scheduler"]
    assert names(await store.leases.list_live(WORKER)) == duties
    assert names(await store.leases.list_live(SEAT)) == ["seat:ceo"]
    assert names(await store.leases.list_live(NODE)) == ["node:node-a"]
    assert names(await store.leases.list_owned(A)) == ["node:node-a", "seat:ceo", *duties]


@case("DUT-05")
async def test_a_released_duty_is_claimable_at_once_at_a_higher_epoch(store: Store) -> None:
    before = await claim(store, SETUP, A, LONGEST)
    await release(store, before)
    assert await store.leases.get(SETUP) == Absent()
    assert (await claim(store, SETUP, B, LONGEST)).epoch > before.epoch


@case("DUT-06", scope="kv")
async def test_every_duty_runs_at_its_cadence_whatever_the_seat_leases_ttl(
    backend: Backend,
) -> None:
    (store,) = await backend.open(lease_ttl=SEAT_TTL)
    assert store.leases.ttl_in_force == SEAT_TTL
    for duty, ttl in CADENCES.items():
        lease = await claim(store, duty, A, ttl)
        await renew(store, lease, ttl)
        assert (await standing(store, duty)).ttl == ttl
    with pytest.raises(TtlTooLong):
        await ask(store, CEO, A, SEAT_TTL + SECOND)
    assert await store.leases.get(CEO) == Absent()


@case("DUT-07", scope="kv")
@pytest.mark.parametrize("found", [None, HOUR], ids=["absent", "an hour"])
async def test_the_duty_bucket_keeps_three_hours_whoever_made_it(
    wired: BrokerBackend, found: timedelta | None
) -> None:
    await wired.begin()
    js = await wired.js()
    assert await wired.streams() == []
    name = wired.stream("duties")
    if found is not None:
        await js.add_stream(
            name=name,
            subjects=[wired.subject("duties", ">")],
            max_age=found.total_seconds(),
            max_msgs_per_subject=1,
            num_replicas=wired.replicas,
        )
    (store,) = await wired.open(lease_ttl=LONG)
    assert (await js.stream_info(name)).config.max_age == LONGEST.total_seconds()
    assert wired.bucket("duties").age == LONGEST
    assert (await claim(store, MAINTENANCE, A, LONGEST)).ttl == LONGEST


@case("DUT-08", scope="kv")
async def test_a_duty_is_filed_among_the_duties_and_no_seat(wired: BrokerBackend) -> None:
    (store,) = await wired.open()
    await claim(store, SCHEDULER, A)
    assert await wired.raw("duties", SCHEDULER.key) is not None
    assert await wired.raw("leases", SCHEDULER.key) is None
    lease = await standing(store, SCHEDULER)
    assert await store.leases.list_live(WORKER) == (lease,)
    assert await store.leases.list_owned(A) == (lease,)
    assert await store.leases.list_live(SEAT) == ()
