"""A small company and a node over any store."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from company.document import Company, Seat, SeatKind
from company.following import Applied, NothingToFollow, Outcome
from coordination.contract.store import Store
from coordination.rules.keys import ResourceClass
from fleet.node.node import Node
from fleet.node.profile import Profile
from runtime.identity import mint_owner

SEAT = ResourceClass.parse("seat")
NODE = ResourceClass.parse("node")
STARTED = datetime(2026, 9, 23, 8, tzinfo=UTC)


def company_of(count: int) -> Company:
    agents = tuple(
        Seat(handle=f"agent-{n:02}", name="A", role="r", kind=SeatKind.AGENT) for n in range(count)
    )
    person = Seat(handle="ana", name="Ana", role="Founder", kind=SeatKind.PERSON)
    return Company(name="Harbourline", timezone="UTC", seats=(*agents, person))


def profile(node: str = "core-1", *, ttl: timedelta, is_local: bool = False) -> Profile:
    return Profile(
        node=node,
        roles=("data", "ingress", "seats", "workers"),
        labels={"zone": "eu"},
        started_at=STARTED,
        ttl=ttl,
        is_local=is_local,
    )


@dataclass
class Directory:
    """The company as a node's database and pointer have it."""

    company: Company | None = field(default_factory=lambda: company_of(6))
    epoch: int = 1

    async def apply(self, _store: Store) -> Outcome:
        if self.company is None:
            return NothingToFollow()
        return Applied(revision_id="r-1", epoch=self.epoch, company=self.company, is_new=False)

    async def current(self) -> Company | None:
        return self.company


@asynccontextmanager
async def running(
    store: Store, profile: Profile, directory: Directory
) -> AsyncIterator[tuple[Node, Callable[[], Awaitable[None]]]]:
    """A running node and how to kill it: nothing is given back."""
    owner = mint_owner(profile.node, "node")
    node = Node(store, profile, owner, apply=directory.apply, current=directory.current)
    task = asyncio.create_task(node.run())

    async def kill() -> None:
        task.cancel()
        await asyncio.wait((task,))

    try:
        yield node, kill
    finally:
        await kill()
        if not task.cancelled():
            task.result()


async def holders(store: Store) -> dict[str, tuple[str, int]]:
    """Handle -> (owner, epoch) of every live seat."""
    leases = await store.leases.list_live(SEAT)
    return {lease.resource.name: (lease.owner, lease.epoch) for lease in leases}
