"""Opening the twin: the same slots as on a broker, over buckets in memory."""

from datetime import timedelta
from typing import Final

from coordination.memory.bucket import Handle, MemoryBucket
from coordination.memory.clock import Clock, SystemClock
from coordination.memory.stream import MemoryStream
from coordination.rules.leases import DEFAULT_LEASE_TTL
from coordination.rules.retention import every_bucket
from coordination.slots.buckets import Buckets
from coordination.slots.store import SlotStore

PREFIX: Final = "crewlet"


class MemoryBroker:
    """What several handles share, as nodes share a broker.

    Args:
        clock: the broker's; real time when None.
        lease_ttl: the lease bucket's age.

    Raises:
        InvalidRequest: a lease TTL no broker keeps.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        lease_ttl: timedelta = DEFAULT_LEASE_TTL,
    ) -> None:
        self.clock = clock if clock is not None else SystemClock()
        self._streams = {
            kept.suffix: MemoryStream(f"{PREFIX}_{kept.suffix}", age=kept.age, clock=self.clock)
            for kept in every_bucket(lease_ttl)
        }

    def open(self) -> SlotStore:
        """One more handle."""
        handle = Handle()
        return SlotStore(
            Buckets.of({name: MemoryBucket(kept, handle) for name, kept in self._streams.items()}),
            close=handle.close,
            ticks=lambda: self.clock.now().nanos,
        )


async def open_memory(
    clock: Clock | None = None,
    *,
    lease_ttl: timedelta = DEFAULT_LEASE_TTL,
    broker: MemoryBroker | None = None,
) -> SlotStore:
    """Open the in-process twin.

    Args:
        clock: the broker's clock, such as a `ManualClock`; real time when None.
        lease_ttl: the lease bucket's age, which bounds seats and presence.
        broker: an existing one to open another handle on; the other arguments are then not used.
    """
    if broker is None:
        broker = MemoryBroker(clock, lease_ttl=lease_ttl)
    return broker.open()
