"""GAT-01 to GAT-14: no seat for a newer build while an older one is alive."""

import asyncio
from typing import Final

from coordination.contract.answers import Absent, Refused, RefusedReason
from coordination.contract.leases import Lease
from coordination.contract.store import Store
from coordination.rules.keys import Resource
from coordination.rules.leases import PROTOCOL
from tests.contract.backends import Backend
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.terms import (
    CEO,
    NODE,
    SHORT,
    WINDOW,
    A,
    B,
    ask,
    claim,
    names,
    node,
    release,
    renew,
    seat,
    standing,
)

ENGINEER: Final = seat("engineer")
OLD: Final = "old-node:1"
NEW: Final = "new-node:1"
OLDER: Final = Refused(because=RefusedReason.PROTOCOL)
HELD: Final = Refused(because=RefusedReason.HELD)
FEW: Final = 10
MANY: Final = 2_000
CLAIMS: Final = 20
SPARE: Final = 20  # messages a claim may cost more in the large fleet than in the small one


async def blocked(store: Store, resource: Resource = ENGINEER) -> None:
    """The newer build is refused a seat, and the refusal leaves nobody on it."""
    assert await ask(store, resource, NEW, protocol=2) == OLDER
    assert await store.leases.get(resource) == Absent()


@case("GAT-01")
async def test_an_older_holder_of_one_seat_keeps_a_newer_build_from_every_seat(
    store: Store,
) -> None:
    await claim(store, CEO, OLD, protocol=1)
    await blocked(store)


@case("GAT-02")
async def test_a_hold_outranks_the_gate_and_the_holders_record_is_unchanged(store: Store) -> None:
    await claim(store, CEO, OLD, protocol=1, hint="old-node")
    before = await standing(store, CEO)
    assert await ask(store, CEO, NEW, protocol=2, hint="new-node") == HELD
    after = await standing(store, CEO)
    assert after == before
    assert (after.owner, after.protocol, after.hint) == (OLD, 1, "old-node")


@case("GAT-03")
async def test_the_gate_only_looks_down(store: Store) -> None:
    await claim(store, CEO, NEW, protocol=2)
    assert (await claim(store, ENGINEER, OLD, protocol=1)).protocol == 1


@case("GAT-04")
async def test_two_nodes_of_one_build_claim_beside_each_other(store: Store) -> None:
    await claim(store, CEO, A, protocol=2)
    assert (await claim(store, ENGINEER, B, protocol=2)).protocol == 2


@case("GAT-05")
async def test_an_older_hold_that_lapsed_blocks_nobody(backend: Backend, store: Store) -> None:
    await claim(store, CEO, OLD, WINDOW, protocol=1)
    await blocked(store)
    await backend.lapse(WINDOW)
    lease = await claim(store, ENGINEER, NEW, protocol=2)
    assert lease.protocol == 2
    assert (await standing(store, ENGINEER)).protocol == 2


@case("GAT-06")
async def test_an_older_hold_that_was_released_blocks_nobody(store: Store) -> None:
    lease = await claim(store, CEO, OLD, protocol=1)
    await blocked(store)
    await release(store, lease)
    await claim(store, ENGINEER, NEW, protocol=2)


@case("GAT-07")
async def test_an_older_build_that_joins_refuses_a_re_claim_and_takes_no_seat_away(
    store: Store,
) -> None:
    lease = await claim(store, CEO, NEW, protocol=2)
    await claim(store, ENGINEER, OLD, protocol=1)
    assert await ask(store, CEO, NEW, protocol=2) == OLDER
    await renew(store, lease)
    held = await standing(store, CEO)
    assert (held.owner, held.epoch) == (NEW, lease.epoch)


@case("GAT-08")
async def test_an_older_presence_that_holds_no_seat_counts(store: Store) -> None:
    await claim(store, node("old"), OLD, protocol=1)
    await blocked(store)


@case("GAT-09")
async def test_presence_is_never_gated(store: Store) -> None:
    await claim(store, node("old"), OLD, protocol=1)
    assert (await claim(store, node("new"), NEW, protocol=2)).protocol == 2
    assert names(await store.leases.list_live(NODE)) == ["node:new", "node:old"]


@case("GAT-10")
async def test_a_duty_states_its_build_and_holds_no_seat_back(store: Store) -> None:
    duty = Resource.parse("worker:scheduler")
    await claim(store, duty, A, protocol=3)
    assert (await standing(store, duty)).protocol == 3
    assert (await claim(store, CEO, B, protocol=3)).protocol == 3
    older = Resource.parse("worker:maintenance")
    await claim(store, older, A, protocol=1)
    await claim(store, ENGINEER, B, protocol=3)


@case("GAT-11")
async def test_a_claim_that_names_no_build_is_this_builds(store: Store) -> None:
    lease = await claim(store, CEO, A)
    assert lease.protocol == PROTOCOL
    assert (await standing(store, CEO)).protocol == PROTOCOL
    assert await store.leases.protocol_floor() == PROTOCOL
    assert (await claim(store, ENGINEER, B, protocol=PROTOCOL)).owner == B


@case("GAT-12")
async def test_the_floor_is_the_oldest_build_alive_at_each_step(
    backend: Backend, store: Store
) -> None:
    assert await store.leases.protocol_floor() == Absent()
    await claim(store, CEO, A, protocol=3)
    assert await store.leases.protocol_floor() == 3
    await claim(store, seat("eng"), B, WINDOW, protocol=1)
    assert await store.leases.protocol_floor() == 1
    await backend.lapse(WINDOW)
    assert await store.leases.protocol_floor() == 3


@case("GAT-13")
async def test_what_was_released_and_what_lapsed_leave_no_floor(
    backend: Backend, store: Store
) -> None:
    lease = await claim(store, CEO, A, protocol=1)
    await release(store, lease)
    await claim(store, ENGINEER, A, SHORT, protocol=1)
    await backend.lapse(SHORT)
    assert await store.leases.protocol_floor() == Absent()


@case("GAT-14", scope="kv")
async def test_a_gated_claim_costs_no_more_among_two_thousand_seats_than_among_ten(
    wired: BrokerBackend,
) -> None:
    few, many = await wired.open(handles=2)
    template = await claim(few, CEO, A)
    await held_by_others(wired, template, FEW - 1)
    small = await messages_of_claims(wired, few, 0)
    await held_by_others(wired, template, MANY - FEW - CLAIMS - 1)
    assert len(await few.leases.list_live(CEO.resource_class)) == MANY
    large = await messages_of_claims(wired, many, 1)
    assert large - small <= SPARE * (CLAIMS + 1), f"{small} messages became {large}"


async def held_by_others(wired: BrokerBackend, template: Lease, number: int) -> None:
    """More seats held, each by a record such as the one that stands."""
    body = await wired.raw("leases", template.resource.key)
    assert body is not None
    first = (await wired.bucket("leases").position()).last_sequence
    for start in range(0, number, 100):
        await asyncio.gather(
            *(
                wired.put_raw("leases", seat(f"other-{first + at}").key, body)
                for at in range(start, min(start + 100, number))
            )
        )


async def messages_of_claims(wired: BrokerBackend, store: Store, handle: int) -> int:
    """What twenty gated claims and a floor have the broker send, once the view is warm."""
    wire = wired.wires[handle]
    await claim(store, seat(f"warm-{handle}"), A)
    wire.deliveries = wire.replies = 0
    wire.sent.clear()
    for number in range(CLAIMS):
        await claim(store, seat(f"fresh-{handle}-{number}"), A)
    assert await store.leases.protocol_floor() == PROTOCOL
    assert wire.count(r"\.STREAM\.INFO\.") >= 2 * CLAIMS + 1, "the claims were not gated"
    return wire.deliveries + wire.replies
