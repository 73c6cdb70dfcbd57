"""CLU-01 and CLU-04: many handles on one store, and a store that outlives its handles."""

import asyncio
from dataclasses import dataclass
from typing import Final, cast

from coordination.contract.answers import Absent, NodeId, Owner, Refused
from coordination.contract.bucket import Bucket, Entry
from coordination.contract.config import Payload
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.contract.pauses import Created, Pause
from coordination.contract.status import ConfigStatus
from coordination.contract.store import Store
from coordination.errors import Unavailable
from coordination.slots.store import SlotStore
from tests.contract.backends import Backend
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.terms import AGE, CEO, SEAT, T0, Crowd, ask, claim, release, renew, seat

HANDLES: Final = 3
SEATS: Final = 500  # each handle claims
AT_ONCE: Final = 64
WON: Final = 0.9  # the share that must be granted, found and renewed
# What a restarted node has to find: counters, completions and runs, beside what the slots read.
KEPT: Final = ("budgets", "ledger", "sandbox_runs")


@dataclass(slots=True)
class Outcome:
    """How the claims of one handle ended."""

    won: int = 0
    refused: int = 0
    unknown: int = 0


@case("CLU-01")
async def test_fresh_seats_are_never_refused_to_handles_that_claim_at_once(
    backend: Backend,
) -> None:
    stores = await backend.open(handles=HANDLES)
    outcome, crowd = Outcome(), Crowd()
    room = [asyncio.Semaphore(AT_ONCE) for _ in stores]

    async def one(handle: int, number: int) -> None:
        owner = Owner(f"node-{handle}:1")
        async with room[handle]:
            with crowd:
                await settle(
                    outcome, stores[handle], f"s{handle}-{number}", owner, gated=number % 2 == 0
                )

    await asyncio.gather(
        *(one(handle, number) for number in range(SEATS) for handle in range(HANDLES))
    )
    asked = HANDLES * SEATS
    assert crowd.most > AT_ONCE, "the handles never claimed beside one another"
    assert outcome.refused == 0
    assert outcome.won + outcome.unknown == asked
    assert outcome.won >= WON * asked, f"{outcome.unknown} of {asked} could not be asked"


async def settle(outcome: Outcome, store: Store, handle: str, owner: Owner, *, gated: bool) -> None:
    """Claim a fresh seat, read it and renew it; count how that went."""
    resource = seat(handle)
    try:
        answer = await ask(store, resource, owner, gated=gated)
        if isinstance(answer, Refused):
            outcome.refused += 1
            return
        assert isinstance(answer, Granted)
        lease = answer.lease
        found = await store.leases.get(resource)
        assert isinstance(found, Lease), f"{owner} was granted {resource} and nobody holds it"
        assert (found.owner, found.epoch) == (owner, lease.epoch)
        renewed = await store.leases.renew(lease, ttl=lease.ttl)
        assert isinstance(renewed, Renewed), f"{owner} lost {resource}: {renewed}"
        assert renewed.lease.epoch == lease.epoch
    except Unavailable:
        outcome.unknown += 1
    else:
        outcome.won += 1


@case("CLU-04")
async def test_a_restart_keeps_every_shared_record_and_its_own_leases_are_taken_again(
    backend: Backend,
) -> None:
    (before,) = await backend.open()
    earlier = await claim(before, CEO, "node-a:core-1")
    pause = await before.pauses.create(Pause(handle="swe", by="jane", at=T0))
    assert isinstance(pause, Created)
    activation = await before.config.activate("rev-1", b"sealed", at=T0)
    report = ConfigStatus(node=NodeId("node-a"), epoch=activation.epoch, status="ok", updated_at=T0)
    await before.status.report(report)
    for slot in KEPT:
        await bucket_of(before, slot).put("company", slot.encode())

    await before.close()
    if isinstance(backend, BrokerBackend):
        await backend.server.restart()
    after = await backend.connect(1, lease_ttl=AGE)

    assert [one.handle for one in await after.pauses.list()] == ["swe"]
    assert await after.config.target() == activation
    assert await after.config.payload("rev-1") == Payload(body=b"sealed")
    assert [one.node for one in await after.status.list()] == ["node-a"]
    for slot in KEPT:
        found = await bucket_of(after, slot).read("company")
        assert isinstance(found, Entry)
        assert found.value == slot.encode()
    await take_again(after, earlier)


def bucket_of(store: Store, slot: str) -> Bucket:
    """A bucket of a store that is written over the port."""
    found: Bucket = getattr(cast("SlotStore", store).buckets, slot)
    return found


async def take_again(store: Store, earlier: Lease) -> None:
    """As a node does that can have no peer: give back what it held before it, and claim anew.

    Leases may start empty; what is there is nobody's any more.
    """
    for lease in await store.leases.list_live(SEAT):
        assert (lease.owner, lease.epoch) == (earlier.owner, earlier.epoch)
        await release(store, lease)
    assert await store.leases.get(CEO) == Absent()
    again = await claim(store, CEO, "node-a:core-2")
    assert again.epoch > earlier.epoch
    await renew(store, again)
