"""LSE-23 to LSE-32: deadlines, the start of a tenure, races for a seat, and half-made claims."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from coordination.contract.answers import Absent, Owner, Refused, RefusedReason
from coordination.contract.leases import Granted
from coordination.contract.store import Store
from coordination.errors import InvalidRequest, TtlTooLong, Unavailable
from coordination.testing import Verb
from tests.contract.backends import Backend
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.terms import (
    CEO,
    CTO,
    LONG,
    MINUTE,
    PM,
    SEAT,
    SECOND,
    SHORT,
    A,
    B,
    Crowd,
    ask,
    claim,
    insist,
    release,
    renew,
    standing,
)
from tests.contract.twin import MemoryBackend
from tests.support.waiting import eventually

TICK = timedelta(milliseconds=20)


@case("LSE-23")
async def test_a_longer_ttl_is_refused_or_honoured_never_shortened(store: Store) -> None:
    await claim(store, CEO, A, LONG)
    first = await standing(store, CEO)
    try:
        await claim(store, CTO, A, 2 * LONG)
    except InvalidRequest:
        assert await store.leases.get(CTO) == Absent()
        return
    second = await standing(store, CTO)
    assert second.expires_at - first.expires_at >= LONG / 2


@case("LSE-24", scope="kv")
async def test_a_ttl_above_the_buckets_age_is_an_error_and_the_age_itself_is_granted(
    backend: Backend,
) -> None:
    (store,) = await backend.open(lease_ttl=MINUTE)
    assert store.leases.ttl_in_force == MINUTE
    with pytest.raises(TtlTooLong):
        await ask(store, CEO, A, 2 * MINUTE)
    assert await store.leases.get(CEO) == Absent()
    held = await claim(store, CTO, A, MINUTE / 2)
    before = await standing(store, CTO)
    with pytest.raises(TtlTooLong):
        await store.leases.renew(held, ttl=2 * MINUTE)
    assert await standing(store, CTO) == before
    assert (await claim(store, PM, A, MINUTE)).ttl == MINUTE


@case("LSE-25")
async def test_deadlines_stand_on_the_stores_clock_and_keep_their_distance(store: Store) -> None:
    start = await store.probe()
    long = await claim(store, CEO, A, LONG)
    short = await claim(store, CTO, A, SHORT)
    end = await store.probe()
    for lease in (long, short):
        assert start <= lease.renewed_at <= end
        assert lease.expires_at == lease.renewed_at + lease.ttl
        assert lease.expires_at.text().endswith("Z")
        assert lease.expires_at.nanos > 0
    assert long.expires_at - short.expires_at >= LONG - SHORT - MINUTE


@case("LSE-26")
async def test_a_fresh_claim_says_when_its_tenure_began(store: Store) -> None:
    lease = await claim(store, CEO, A, LONG)
    began = lease.acquired_at
    assert began is not None
    assert began.text().endswith("Z")
    assert timedelta(0) <= (lease.expires_at - began) - LONG <= MINUTE


@case("LSE-27")
async def test_a_tenure_keeps_its_start_through_re_claims_and_renewals(
    backend: Backend, store: Store
) -> None:
    first = await claim(store, CEO, A)
    assert first.acquired_at is not None
    await backend.advance(TICK)
    await claim(store, CEO, A)
    await backend.advance(TICK)
    await renew(store, first)
    (owned,) = await store.leases.list_owned(A)
    (live,) = await store.leases.list_live(SEAT)
    read = await standing(store, CEO)
    assert read.renewed_at > first.renewed_at
    assert {lease.acquired_at for lease in (read, owned, live)} == {first.acquired_at}


@case("LSE-28")
async def test_every_new_tenure_starts_later_than_the_one_before(
    backend: Backend, store: Store
) -> None:
    tenures = [await claim(store, CEO, A, SHORT)]
    await backend.lapse(SHORT)
    tenures.append(await claim(store, CEO, B, SHORT))
    await backend.lapse(SHORT)
    tenures.append(await claim(store, CEO, B))
    await release(store, tenures[-1])
    await backend.advance(TICK)
    tenures.append(await claim(store, CEO, B))
    starts = [lease.acquired_at for lease in tenures]
    epochs = [lease.epoch for lease in tenures]
    assert epochs == sorted(set(epochs))
    for earlier, later in pairwise(starts):
        assert earlier is not None
        assert later is not None
        assert earlier < later


def lease_writes(backend: Backend) -> int | None:
    """How many writes of the seat's lease were tried; None where nobody counts them."""
    match backend:
        case BrokerBackend():
            return sum(wire.count(r"\$KV\.[\w-]+_leases\.seat\.ceo$") for wire in backend.wires)
        case MemoryBackend():
            calls = [call for store in backend.stores for call in store.faults.calls]
            return sum(name.endswith("leases") and verb is Verb.UPDATE for name, verb in calls)
    return None


@case("LSE-29")
@pytest.mark.parametrize("gated", [True, False], ids=["gated", "ungated"])
async def test_of_thirty_two_racers_exactly_one_holds_and_the_others_are_refused(
    backend: Backend, gated: bool
) -> None:
    stores = await backend.open(handles=4)
    owners = [Owner(f"node-{index}:1") for index in range(32)]
    crowd = Crowd()

    async def race(index: int) -> Granted | Refused:
        with crowd:
            return await insist(lambda: ask(stores[index % 4], CEO, owners[index], gated=gated))

    answers = await asyncio.gather(*(race(index) for index in range(32)))
    assert crowd.most == 32, "the claims did not run beside one another: no race happened"
    writes = lease_writes(backend)
    assert writes is None or writes > 2, "only the winner ever wrote: no race happened"
    granted = [answer for answer in answers if isinstance(answer, Granted)]
    others = [answer for answer in answers if not isinstance(answer, Granted)]
    assert len(granted) == 1
    assert others == [Refused(because=RefusedReason.HELD)] * 31
    winner = granted[0].lease
    assert winner.epoch == 1
    for store in stores:
        assert (await standing(store, CEO)).owner == winner.owner


@case("LSE-30")
@pytest.mark.parametrize("gated", [True, False], ids=["gated", "ungated"])
async def test_one_owners_concurrent_claims_are_one_tenure(backend: Backend, gated: bool) -> None:
    stores = await backend.open(handles=4)
    crowd = Crowd()

    async def one(index: int) -> Granted | Refused:
        with crowd:
            return await insist(lambda: ask(stores[index % 4], CEO, A, gated=gated))

    answers = await asyncio.gather(*(one(index) for index in range(16)))
    leases = [answer.lease for answer in answers if isinstance(answer, Granted)]
    assert len(leases) == 16
    assert {lease.epoch for lease in leases} == {1}
    assert {lease.owner for lease in leases} == {A}
    assert crowd.most == 16
    assert len({lease.revision for lease in leases}) > 1, "one write served all: no race happened"
    assert (await standing(stores[0], CEO)).epoch == 1


@case("LSE-31", scope="kv")
@pytest.mark.parametrize("claimant", [A, B], ids=["the-same-owner", "a-peer"])
async def test_a_claim_whose_epoch_was_refused_leaves_the_seat_free(
    wired: BrokerBackend, claimant: Owner
) -> None:
    (store,) = await wired.open()
    async with wired.refusing_writes("epochs"):
        with pytest.raises(Unavailable):
            await ask(store, CEO, A)
        assert wired.wires[0].count(r"\$KV\.[\w-]+_epochs\.seat\.ceo$") >= 1, "no write was refused"
    lease = await claim(store, CEO, claimant)
    assert lease.epoch == 1
    assert (await standing(store, CEO)).owner == claimant


@case("LSE-32", scope="kv")
async def test_a_lease_the_broker_reaped_is_claimed_at_a_higher_epoch(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open(lease_ttl=SECOND)
    lease = await claim(store, CEO, A, SECOND)
    for _ in range(3):
        await wired.advance(SECOND / 2)
        lease = await renew(store, lease, SECOND)
        held = await standing(store, CEO)
        assert (held.owner, held.epoch) == (A, lease.epoch)
    await wired.advance(SECOND * 1.5)
    assert await store.leases.get(CEO) == Absent()

    async def reaped() -> bool:
        return await wired.raw("leases", CEO.key) is None

    await eventually(reaped, within=2, why="the broker removes the lapsed key")
    taken = await claim(store, CEO, B, SECOND)
    assert taken.epoch > lease.epoch
