"""The terms cases are written in: spans, instants, resources, and short ways to ask.

`SHORT` is for a lease that is meant to lapse: claim it as the last act before. `WINDOW` is for work
that happens while a lease lives. `LONG` outlives any case.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Final

from coordination.contract.answers import (
    Epoch,
    Owner,
    Refused,
    RefusedReason,
    Released,
    Revision,
)
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.contract.store import Store
from coordination.errors import Unavailable
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource, ResourceClass

SECOND: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
SHORT: Final = timedelta(milliseconds=100)
WINDOW: Final = 2 * SECOND
LONG: Final = 5 * MINUTE
AGE: Final = 2 * LONG  # the lease bucket's age where the case fixes none
MARGIN: Final = timedelta(milliseconds=50)  # how far past a deadline a lapse goes
PATIENCE: Final = 10.0  # seconds a contended caller asks again for after an unknown
T0: Final = Instant.of(datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC))

SEAT: Final = ResourceClass.parse("seat")
NODE: Final = ResourceClass.parse("node")
WORKER: Final = ResourceClass.parse("worker")
CEO: Final = Resource.parse("seat:ceo")
CTO: Final = Resource.parse("seat:cto")
PM: Final = Resource.parse("seat:pm")
A: Final = Owner("node-a:1")
B: Final = Owner("node-b:1")
C: Final = Owner("node-c:1")


def seat(handle: str) -> Resource:
    """A seat's resource."""
    return Resource.parse(f"seat:{handle}")


def node(name: str) -> Resource:
    """A node's presence."""
    return Resource.parse(f"node:{name}")


def is_gated(resource: Resource) -> bool:
    """Seats pass the mixed-version gate; presence and duties do not."""
    return resource.resource_class == SEAT


async def ask(
    store: Store,
    resource: Resource,
    owner: str,
    ttl: timedelta = LONG,
    *,
    hint: str | None = None,
    protocol: int | None = None,
    meta: Mapping[str, object] | None = None,
    gated: bool | None = None,
) -> Granted | Refused:
    """Claim as a node does: gated for a seat, ungated for all else, unless the case says."""
    protocols = {} if protocol is None else {"protocol": protocol}
    return await store.leases.acquire(
        resource,
        owner=Owner(owner),
        ttl=ttl,
        hint=hint,
        meta=meta,
        gated=is_gated(resource) if gated is None else gated,
        **protocols,
    )


async def claim(
    store: Store,
    resource: Resource,
    owner: str,
    ttl: timedelta = LONG,
    *,
    hint: str | None = None,
    protocol: int | None = None,
    meta: Mapping[str, object] | None = None,
) -> Lease:
    """Claim, and be granted."""
    answer = await ask(store, resource, owner, ttl, hint=hint, protocol=protocol, meta=meta)
    assert isinstance(answer, Granted), f"{owner} was refused {resource}: {answer}"
    lease = answer.lease
    assert lease.resource == resource
    assert lease.owner == owner
    assert lease.ttl == ttl
    return lease


async def refused(store: Store, resource: Resource, owner: str, ttl: timedelta = LONG) -> None:
    """Claim, and be refused because a peer holds it."""
    answer = await ask(store, resource, owner, ttl)
    assert answer == Refused(because=RefusedReason.HELD)


async def renew(store: Store, lease: Lease, ttl: timedelta = LONG) -> Lease:
    """Renew, and still hold it at the same epoch."""
    answer = await store.leases.renew(lease, ttl=ttl)
    assert isinstance(answer, Renewed), f"{lease.owner} lost {lease.resource}: {answer}"
    assert answer.lease.epoch == lease.epoch
    assert answer.lease.owner == lease.owner
    return answer.lease


async def release(store: Store, lease: Lease) -> None:
    """Give back, and be told so."""
    assert await store.leases.release(lease) == Released()


async def standing(store: Store, resource: Resource) -> Lease:
    """The lease that stands."""
    found = await store.leases.get(resource)
    assert isinstance(found, Lease), f"nobody holds {resource}"
    return found


def tenure(resource: Resource, owner: str, epoch: int) -> Lease:
    """A tenure as a caller would name it, whether or not it ever was."""
    return Lease(
        resource=resource,
        owner=Owner(owner),
        epoch=Epoch(epoch),
        ttl=LONG,
        renewed_at=T0,
        expires_at=T0 + LONG,
        revision=Revision(1),
    )


def names(leases: Iterable[Lease]) -> list[str]:
    """The resources of a listing, in its order."""
    return [str(lease.resource) for lease in leases]


class Crowd:
    """Shows that calls ran beside one another: `most` is how many were under way at once."""

    def __init__(self) -> None:
        self.most = 0
        self._inside = 0

    def __enter__(self) -> None:
        self._inside += 1
        self.most = max(self.most, self._inside)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inside -= 1


async def insist[T](call: Callable[[], Awaitable[T]]) -> T:
    """Ask again after an unknown, as a contended caller may, for at most ten seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while True:
        try:
            return await call()
        except Unavailable:
            if loop.time() > end:
                raise
            await asyncio.sleep(0.01)
