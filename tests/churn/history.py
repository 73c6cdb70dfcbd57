"""A random history of claims, renewals, releases, take-overs and crashes, told to the model.

In each round some processes call at once; between rounds the store's time passes. A process that
crashes is cancelled in the middle of its call and comes back as another owner; what it held before
is tried again later by a zombie that does not know.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from coordination.contract.answers import Owner, Released
from coordination.contract.bucket import BucketWatch, Entry
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.errors import Unavailable
from coordination.rules.instants import Instant, nanos_of
from coordination.rules.keys import Resource
from coordination.slots.store import SlotStore
from coordination.testing import Held
from tests.churn.model import Answer, Call, Model

RESOURCES: Final = tuple(Resource.parse(name) for name in ("seat:ceo", "seat:cto", "worker:daily"))
NODES: Final = 4
FEW: Final = 6  # calls at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a history is played on.

    Attributes:
        stores: handles on one store, taken in turns.
        now: the broker's clock.
        passes: let this much of the store's time pass.
        ttls: what claims ask for.
        disturb: plan a fault for the next calls; None where there are none.
        hang: keep a handle's next read waiting once it is answered; None where that cannot be.
        slack: as for `Model`.
    """

    stores: Sequence[SlotStore]
    now: Callable[[], Awaitable[Instant]]
    passes: Callable[[timedelta], Awaitable[None]]
    ttls: Sequence[timedelta]
    disturb: Callable[[random.Random], None] | None = None
    hang: Callable[[int], Held] | None = None
    slack: timedelta = timedelta(0)


@dataclass(slots=True)
class _Process:
    """One node's process: its owner id, and the leases it believes in."""

    node: int
    owner: Owner
    held: dict[Resource, Lease] = field(default_factory=dict)


class History:
    """Play it with `play`; equal seeds make equal choices."""

    def __init__(self, ground: Ground, seed: int) -> None:
        self.model = Model(slack=ground.slack)
        self.crashes = 0
        self._ground = ground
        self._chance = random.Random(seed)
        self._born = 0
        self._processes = [self._born_on(node) for node in range(NODES)]
        self._zombies: list[_Process] = []
        self._busy: set[tuple[Owner, Resource]] = set()

    async def play(self, rounds: int) -> None:
        """So many rounds, the accepted writes read back at the end.

        Raises:
            BrokenPromiseError: the store broke a promise.
        """
        buckets = self._ground.stores[0].buckets
        watches = [
            await bucket.watch(">", what="churn") for bucket in (buckets.leases, buckets.duties)
        ]
        following = [asyncio.create_task(self._follow(watch)) for watch in watches]
        try:
            for _ in range(rounds):
                await self._round()
        finally:
            for task in following:
                task.cancel()
            await asyncio.wait(following)
            for watch in watches:
                await watch.close()
        for task in following:
            if not task.cancelled():
                task.result()

    async def _follow(self, watch: BucketWatch) -> None:
        async for event in watch.events():
            if isinstance(event, Entry):
                resource = Resource.of_key(event.key)
                assert resource is not None
                self.model.wrote(str(resource), event)

    async def _round(self) -> None:
        chance = self._chance
        if self._ground.disturb is not None and chance.random() < 0.15:
            self._ground.disturb(chance)
        self._busy.clear()
        if self._ground.hang is not None and chance.random() < 0.2:
            await self._overtaken(self._ground.hang)
        among = RESOURCES if chance.random() < 0.5 else (chance.choice(RESOURCES),)
        calls = [self._one(among) for _ in range(chance.randint(1, FEW))]
        await asyncio.gather(*calls)
        for resource in RESOURCES:
            await self._read(resource)
        if chance.random() < 0.6:
            longest = max(self._ground.ttls)
            await self._ground.passes(longest * chance.choice((0.05, 0.2, 0.5, 1.1)))

    async def _overtaken(self, hang: Callable[[int], Held]) -> None:
        """A holder hangs behind its read while its time runs out and peers claim; then goes on."""
        holders = [
            (one, resource)
            for one in self._processes
            for resource in RESOURCES
            if resource in one.held
        ]
        if not holders:
            return
        process, resource = self._chance.choice(holders)
        self._busy.add((process.owner, resource))
        ttl, verb = min(self._ground.ttls), self._chance.choice(("renew", "release"))
        held = hang(self._handle_of(process))
        lease = process.held[resource]
        late = asyncio.ensure_future(self._run(process, resource, verb, ttl, None, lease=lease))
        reached = asyncio.ensure_future(held.reached.wait())
        await asyncio.wait({late, reached}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        if late.done():  # it had nothing to write, and nobody else's write is to wait for it
            held.release()
        await self._ground.passes(max(self._ground.ttls) * self._chance.choice((0.1, 1.1)))
        await asyncio.gather(*(self._one((resource,)) for _ in range(FEW)))
        held.release()
        await late

    def _handle_of(self, process: _Process) -> int:
        return process.node % len(self._ground.stores)

    async def _read(self, resource: Resource) -> None:
        began = await self._ground.now()
        try:
            found = await self._chance.choice(self._ground.stores).leases.get(resource)
        except Unavailable:
            return
        self.model.read(str(resource), found, began, await self._ground.now())

    def _one(self, among: Sequence[Resource]) -> Awaitable[None]:
        """Choose a call now, so that the choices do not depend on how calls interleave."""
        chance = self._chance
        old = self._zombies and chance.random() < 0.2
        process = chance.choice(self._zombies if old else self._processes)
        resource = chance.choice(among)
        if (process.owner, resource) in self._busy:
            return _nothing()
        self._busy.add((process.owner, resource))
        lease = process.held.get(resource)
        crashes_after = chance.randint(0, 60) if not old and chance.random() < 0.12 else None
        gated = resource.resource_class.name == "seat" and chance.random() < 0.2
        ttl, kind = chance.choice(self._ground.ttls), chance.random()
        if lease is None or (kind < 0.25 and not old):
            return self._run(process, resource, "claim", ttl, crashes_after, gated=gated)
        verb = "renew" if kind < 0.75 else "release"
        return self._run(process, resource, verb, ttl, crashes_after, lease=lease)

    async def _run(
        self,
        process: _Process,
        resource: Resource,
        verb: str,
        ttl: timedelta,
        crashes_after: int | None,
        *,
        gated: bool = False,
        lease: Lease | None = None,
    ) -> None:
        began = await self._ground.now()
        call = self.model.begin(
            verb,
            str(resource),
            process.owner,
            began,
            ttl=nanos_of(ttl),
            epoch=0 if lease is None else lease.epoch,
        )
        leases = self._ground.stores[self._handle_of(process)].leases
        work: Awaitable[Answer]
        if lease is None:
            work = leases.acquire(resource, owner=process.owner, ttl=ttl, gated=gated)
        elif verb == "renew":
            work = leases.renew(lease, ttl=ttl)
        else:
            work = leases.release(lease)
        answer = await self._answer(work, crashes_after)
        if crashes_after is not None:
            self._crash(process)
        self._learn(process, resource, call, answer, await self._ground.now())

    async def _answer(self, work: Awaitable[Answer], crashes_after: int | None) -> Answer:
        task = asyncio.ensure_future(work)
        if crashes_after is not None:
            for _ in range(crashes_after):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait({task})
        if task.cancelled() or isinstance(task.exception(), Unavailable):
            return None
        return task.result()

    def _learn(
        self, process: _Process, resource: Resource, call: Call, answer: Answer, now: Instant
    ) -> None:
        self.model.end(call, answer, now)
        if isinstance(answer, Granted | Renewed):
            process.held[resource] = answer.lease
        elif isinstance(answer, Released) and self._chance_of_forgetting(call):
            process.held.pop(resource, None)

    def _chance_of_forgetting(self, call: Call) -> bool:
        """Some processes go on to renew what they gave back; by the token, so that seeds repeat."""
        return call.epoch % 3 != 0

    def _crash(self, process: _Process) -> None:
        self.crashes += 1
        if process in self._processes:
            self._processes[self._processes.index(process)] = self._born_on(process.node)
            self._zombies = [*self._zombies[-2:], process]

    def _born_on(self, node: int) -> _Process:
        self._born += 1
        return _Process(node=node, owner=Owner(f"node-{node}:{self._born}"))


async def _nothing() -> None:
    await asyncio.sleep(0)
