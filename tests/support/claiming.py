"""Many owners that claim fresh seats at once through different members, and what they are told.

Each seat is claimed by one owner alone, so a refusal is wrong; so is a read that says nobody, or
somebody else, holds what was just granted, and a renewal that says it is lost.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from coordination.contract.answers import Owner
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.contract.store import Store
from coordination.errors import Unavailable
from coordination.rules.keys import Resource

TTL: Final = timedelta(seconds=45)


@dataclass(slots=True)
class Told:
    """What the owners were told, one count a claim."""

    held: int = 0  # granted, read back as theirs, renewed
    unknown: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """How many claims were made."""
        return self.held + self.unknown + len(self.wrong)


async def claim_at_once(stores: Sequence[Store], *, owners: int, each: int) -> Told:
    """Have every owner claim its seats one after the other, all owners beside one another.

    Args:
        stores: handles on one store, such as one through each member; owners take turns.
        owners: how many claim at once.
        each: how many fresh seats each of them claims.
    """
    told = Told()

    async def one(at: int) -> None:
        store = stores[at % len(stores)]
        # What was granted through one member is read through another.
        other = stores[(at + 1) % len(stores)]
        for number in range(each):
            await _claim(told, store, other, Owner(f"node-{at}:1"), f"{at}-{number}")

    await asyncio.gather(*(one(at) for at in range(owners)))
    return told


async def _claim(told: Told, store: Store, other: Store, owner: Owner, handle: str) -> None:
    seat = Resource.parse(f"seat:{handle}")
    try:
        answer = await store.leases.acquire(seat, owner=owner, ttl=TTL)
        if not isinstance(answer, Granted):
            told.wrong.append(f"{seat} fresh: {answer}")
            return
        found = await other.leases.get(seat)
        if not isinstance(found, Lease) or (found.owner, found.epoch) != (owner, 1):
            told.wrong.append(f"{seat} granted to {owner}: {found}")
            return
        renewed = await other.leases.renew(answer.lease, ttl=TTL)
        if not isinstance(renewed, Renewed):
            told.wrong.append(f"{seat} held by {owner}: {renewed}")
            return
    except Unavailable:
        told.unknown += 1
    else:
        told.held += 1
