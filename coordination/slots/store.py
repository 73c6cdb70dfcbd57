"""The store: every slot over one set of buckets, whichever backend opened them."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, override

from coordination.contract.store import Store
from coordination.rules.instants import Instant
from coordination.slots.buckets import Buckets
from coordination.slots.config import ConfigSlot
from coordination.slots.leases import LeaseSlot
from coordination.slots.markers import MarkerSlot
from coordination.slots.pauses import PauseSlot
from coordination.slots.status import StatusSlot

_LOG: Final = logging.getLogger("coordination")


class SlotStore(Store):
    """As the contract.

    Args:
        buckets: opened by a backend.
        close: ends the backend's watches, then its connection.
        ticks: as for `coordination.slots.clock.ClockFloor`.
    """

    def __init__(
        self,
        buckets: Buckets,
        *,
        close: Callable[[], Awaitable[None]],
        ticks: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.buckets = buckets
        self.ticks = ticks
        self._close = close
        self._leases = LeaseSlot(
            buckets.leases,
            buckets.duties,
            buckets.epochs,
            _LOG,
            ticks=ticks,
        )
        self._config = ConfigSlot(buckets.config)
        self._status = StatusSlot(buckets.status, _LOG)
        self._pauses = PauseSlot(buckets.positions, _LOG)
        self._markers = MarkerSlot(buckets.swept())

    @property
    @override
    def leases(self) -> LeaseSlot:
        return self._leases

    @property
    @override
    def config(self) -> ConfigSlot:
        return self._config

    @property
    @override
    def status(self) -> StatusSlot:
        return self._status

    @property
    @override
    def pauses(self) -> PauseSlot:
        return self._pauses

    @property
    @override
    def markers(self) -> MarkerSlot:
        return self._markers

    @override
    async def probe(self) -> Instant:
        return await self.buckets.config.now()

    @override
    async def close(self) -> None:
        await self._leases.finish()
        await self._close()
