"""Opening the twin: the same slots as on a broker, over buckets in memory."""

from datetime import timedelta
from typing import Final

from coordination.memory.bucket import Handle, MemoryBucket
from coordination.memory.clock import Clock, SystemClock
from coordination.memory.stream import MemoryStream
from coordination.rules import retention
from coordination.rules.leases import DEFAULT_LEASE_TTL
from coordination.rules.retention import Retention
from coordination.slots.store import Buckets, SlotStore

PREFIX: Final = "crewlet"


class MemoryBroker:
    """What several handles share, as nodes share a broker.

    Args:
        clock: the broker's; real time when None.
        lease_ttl: the lease bucket's age.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        lease_ttl: timedelta = DEFAULT_LEASE_TTL,
    ) -> None:
        self.clock = clock if clock is not None else SystemClock()
        self._leases = self._stream(retention.leases(lease_ttl))
        self._duties = self._stream(retention.DUTIES)
        self._epochs = self._stream(retention.EPOCHS)
        self._config = self._stream(retention.CONFIG)
        self._status = self._stream(retention.STATUS)
        self._positions = self._stream(retention.POSITIONS)

    def open(self) -> SlotStore:
        """One more handle."""
        handle = Handle()
        return SlotStore(
            Buckets(
                leases=MemoryBucket(self._leases, handle),
                duties=MemoryBucket(self._duties, handle),
                epochs=MemoryBucket(self._epochs, handle),
                config=MemoryBucket(self._config, handle),
                status=MemoryBucket(self._status, handle),
                positions=MemoryBucket(self._positions, handle),
            ),
            close=handle.close,
            ticks=lambda: self.clock.now().nanos,
        )

    def _stream(self, kept: Retention) -> MemoryStream:
        return MemoryStream(f"{PREFIX}_{kept.suffix}", age=kept.age, clock=self.clock)


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
