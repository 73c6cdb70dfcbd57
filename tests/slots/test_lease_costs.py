"""What a lease verb costs on the wire, and when it asks for the clock."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from coordination.contract.answers import Owner
from coordination.contract.leases import Renewed
from coordination.errors import Unavailable
from coordination.rules.keys import Resource
from coordination.testing import FaultyStore, ManualClock, Verb
from tests.slots.terms import AGE, CEO, ME, PEER, SEATS, SHORT, claim

READS = (Verb.READ, Verb.READ_REVISION)
WRITES = (Verb.PUT, Verb.UPDATE, Verb.REMOVE)


def cost(store: FaultyStore) -> tuple[int, int, int, int]:
    """Leader reads, writes, listings and clock or position reads since the last look."""
    counted = Counter(verb for _, verb in store.faults.calls)
    store.faults.calls.clear()
    return (
        sum(counted[verb] for verb in READS),
        sum(counted[verb] for verb in WRITES),
        counted[Verb.LISTING] + counted[Verb.WATCH],
        counted[Verb.NOW] + counted[Verb.POSITION],
    )


async def ungated(store: FaultyStore, *, ttl: timedelta = AGE) -> None:
    await store.leases.acquire(CEO, owner=ME, ttl=ttl, gated=False)


async def test_a_new_tenure_costs_four_reads_and_three_writes(store: FaultyStore) -> None:
    await ungated(store)
    assert cost(store) == (4, 3, 0, 0)


async def test_an_extension_costs_two_reads_and_a_write(store: FaultyStore) -> None:
    await ungated(store)
    cost(store)
    await ungated(store)
    assert cost(store) == (2, 1, 0, 0)


async def test_a_gated_claim_asks_how_far_the_bucket_is_before_and_after_its_write(
    store: FaultyStore,
) -> None:
    await claim(store)
    assert cost(store) == (4, 3, 1, 2)  # the first one opens the view
    await claim(store, resource=Resource.parse("seat:cto"))
    assert cost(store) == (4, 3, 0, 2)


async def test_a_refused_claim_writes_nothing_and_judges_no_gate(store: FaultyStore) -> None:
    await claim(store)
    cost(store)
    await store.leases.acquire(CEO, owner=PEER, ttl=AGE)
    assert cost(store) == (1, 0, 0, 0)


async def test_a_renewal_costs_a_read_and_a_write_and_the_clock_once_a_minute(
    store: FaultyStore, clock: ManualClock
) -> None:
    lease = await claim(store)
    cost(store)
    beats = []
    for _ in range(9):
        await store.leases.renew(lease, ttl=AGE)
        beats.append(cost(store))
        clock.advance(timedelta(seconds=15))
    assert [beat[:3] for beat in beats] == [(1, 1, 0)] * 9
    assert [beat[3] for beat in beats] == [1, 0, 0, 0, 1, 0, 0, 0, 1]


async def test_renewals_at_once_ask_for_the_clock_once_whether_it_answers_or_not(
    store: FaultyStore,
) -> None:
    leases = [await claim(store, resource=Resource.parse(f"seat:s{at}")) for at in range(8)]
    for answers in (False, True):
        cost(store)
        if not answers:
            store.faults.fail(Verb.NOW)
        renewals = (store.leases.renew(lease, ttl=AGE) for lease in leases)
        found = await asyncio.gather(*renewals, return_exceptions=True)
        kind = Renewed if answers else Unavailable
        assert [type(answer) for answer in found] == [kind] * 8
        assert cost(store)[3] == 1


async def test_a_release_costs_a_read_and_a_write(store: FaultyStore) -> None:
    lease = await claim(store)
    cost(store)
    await store.leases.release(lease)
    assert cost(store) == (1, 1, 0, 0)


@pytest.mark.parametrize(("ttl", "clock_reads"), [(AGE, 0), (SHORT, 1)])
async def test_a_read_asks_for_the_clock_only_where_the_age_does_not_decide(
    store: FaultyStore, ttl: timedelta, clock_reads: int
) -> None:
    await ungated(store, ttl=ttl)
    cost(store)
    await store.leases.get(CEO)
    assert cost(store) == (1, 0, 0, clock_reads)


async def test_a_listing_is_judged_by_its_own_clock(store: FaultyStore) -> None:
    await ungated(store, ttl=SHORT)
    cost(store)
    await store.leases.list_live(SEATS)
    await store.leases.list_owned(Owner("node-a:core-1"))
    assert cost(store) == (0, 0, 3, 0)


async def test_a_renewal_states_the_deadline_a_read_confirms(
    store: FaultyStore, clock: ManualClock
) -> None:
    lease = await claim(store)
    clock.advance(timedelta(seconds=20))
    answer = await store.leases.renew(lease, ttl=SHORT)
    assert isinstance(answer, Renewed)
    assert answer.lease == await store.leases.get(CEO)
