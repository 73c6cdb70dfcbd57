"""What the slot cases speak of."""

from datetime import timedelta
from typing import Final

from coordination.contract.answers import Owner, Refused
from coordination.contract.leases import Granted, Lease
from coordination.contract.pauses import Pause
from coordination.memory.clock import MANUAL_START
from coordination.rules.keys import Resource, ResourceClass
from coordination.slots.store import SlotStore

AGE: Final = timedelta(minutes=5)  # the lease TTL in force
SHORT: Final = timedelta(seconds=30)
CEO: Final = Resource.parse("seat:ceo")
SEATS: Final = ResourceClass.parse("seat")
ME: Final = Owner("node-a:core-1")
PEER: Final = Owner("node-b:core-1")


async def claim(
    store: SlotStore, owner: Owner = ME, *, ttl: timedelta = AGE, resource: Resource = CEO
) -> Lease:
    """A claim that must be granted."""
    answer = await store.leases.acquire(resource, owner=owner, ttl=ttl)
    assert isinstance(answer, Granted), answer
    return answer.lease


async def is_refused(store: SlotStore, owner: Owner) -> bool:
    """Whether a claim is refused."""
    answer = await store.leases.acquire(CEO, owner=owner, ttl=AGE)
    return isinstance(answer, Refused)


def pause(handle: str = "swe", by: str = "jane", *, request_id: str = "op-1") -> Pause:
    """A pause nobody has written yet."""
    return Pause(handle=handle, by=by, at=MANUAL_START, reason="looping", request_id=request_id)
