"""The memory twin under certification: a clock the case moves, faults at its bucket port."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import override

from coordination.contract.store import Store
from coordination.memory.clock import ManualClock
from coordination.memory.store import MemoryBroker, open_memory
from coordination.testing import FaultyStore
from tests.contract.backends import Backend, Certified, register


@dataclass(kw_only=True)
class MemoryBackend(Backend):
    """One memory, several handles."""

    clock: ManualClock = field(default_factory=ManualClock)
    memory: MemoryBroker | None = None
    stores: list[FaultyStore] = field(default_factory=list)

    @property
    @override
    def can_move_clock(self) -> bool:
        return True

    @override
    async def connect(self, index: int, *, lease_ttl: timedelta) -> Store:
        if self.memory is None:
            self.memory = MemoryBroker(self.clock, lease_ttl=lease_ttl)
        store = FaultyStore(await open_memory(broker=self.memory))
        self.stores.append(store)
        return store

    @override
    async def advance(self, span: timedelta) -> None:
        self.clock.advance(span)

    @override
    async def make_unreachable(self, *, silent: bool = False) -> None:
        # A bucket never stays silent: turning silence into an error in time is a backend's work.
        for store in self.stores:
            store.faults.make_unreachable()

    @override
    async def heal(self) -> None:
        for store in self.stores:
            store.faults.heal()

    @override
    async def close(self) -> None:
        for store in self.stores:
            await store.close()


def register_twin() -> None:
    """Certify the twin."""
    register(Certified(name="memory", factory=MemoryBackend))
