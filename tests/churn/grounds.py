"""Where histories are played: on the twin, whose clock moves by hand, and on any broker."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final, override

from coordination.contract.bucket import Bucket
from coordination.memory.clock import ManualClock
from coordination.memory.store import MemoryBroker, open_memory
from coordination.rules.instants import Instant
from coordination.slots.store import SlotStore
from coordination.testing import Faults, FaultyStore, Held, Verb
from tests.churn.history import Ground, History
from tests.churn.model import BrokenPromiseError

AGE: Final = timedelta(seconds=45)
ON_THE_TWIN: Final = (timedelta(seconds=5), timedelta(seconds=20), AGE)
ON_A_BROKER: Final = (timedelta(milliseconds=60), timedelta(milliseconds=200))
STALLS: Final = (timedelta(seconds=2), timedelta(seconds=6), timedelta(seconds=21))  # of a call
LATE: Final = timedelta(milliseconds=500)  # a cancelled call's write is carried out within this


class UnevenFaults(Faults):
    """Calls that take differently long, so that one may overtake another between two steps of it.

    Without them all tasks go in step, and a claim never falls between a peer's read and its write.
    """

    def __init__(self, chance: random.Random, clock: ManualClock) -> None:
        super().__init__()
        self._chance = chance
        self._clock = clock

    @override
    async def meet[A](self, bucket: Bucket, verb: Verb, call: Callable[[], Awaitable[A]]) -> A:
        if self._chance.random() < 0.02:
            self._clock.advance(self._chance.choice(STALLS))
        for _ in range(self._chance.choice((0, 0, 1, 4, 16, 64))):
            await asyncio.sleep(0)
        return await super().meet(bucket, verb, call)


@asynccontextmanager
async def twin_ground(seed: int) -> AsyncIterator[Ground]:
    """Two handles on a fresh memory, uneven and with faults at the bucket port.

    Args:
        seed: the history's, which also decides how calls interleave.
    """
    clock = ManualClock()
    memory = MemoryBroker(clock, lease_ttl=AGE)
    chance = random.Random(f"uneven {seed}")
    stores = [
        FaultyStore(await open_memory(broker=memory), UnevenFaults(chance, clock)) for _ in range(2)
    ]

    async def now() -> Instant:
        return clock.now()

    async def passes(span: timedelta) -> None:
        clock.advance(span)

    def disturb(chance: random.Random) -> None:
        faults = chance.choice(stores).faults
        plan = faults.lose if chance.random() < 0.7 else faults.fail
        plan(Verb.UPDATE, nth=chance.randint(1, 4))

    def hang(handle: int) -> Held:
        return stores[handle].faults.hold(Verb.READ, after=True)

    try:
        yield Ground(
            stores=stores, now=now, passes=passes, ttls=ON_THE_TWIN, disturb=disturb, hang=hang
        )
    finally:
        for store in stores:
            await store.close()


def broker_ground(stores: Sequence[SlotStore]) -> Ground:
    """Handles on one broker; time passes by itself, so the leases are short."""

    async def passes(span: timedelta) -> None:
        await asyncio.sleep(span.total_seconds())

    return Ground(stores=stores, now=stores[0].probe, passes=passes, ttls=ON_A_BROKER, slack=LATE)


async def play(ground: Ground, seed: int, rounds: int) -> History:
    """Play one seed.

    Raises:
        BrokenPromiseError: naming the seed.
    """
    history = History(ground, seed)
    try:
        await history.play(rounds)
    except BrokenPromiseError as broken:
        msg = f"seed {seed}, {rounds} rounds: {broken}; keep it in tests/churn/regressions.md"
        raise BrokenPromiseError(msg) from broken
    return history
