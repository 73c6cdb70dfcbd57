"""The mixed-version gate: no seat for a newer build while an older one is alive.

Seats and presences count, because they are what the lease bucket holds; duties never do. Liveness
here is always the record's own deadline, even at full age.

A judgement is one request: it asks the leader for the bucket's last write and waits until a view
kept by a watch (`protocol_view`) has taken that in. So the one before a claim and the one behind it
each see every write before them, and neither costs more in a fleet of 10,000 seats than in one of
ten. Nothing is watched in a process that claims nothing through the gate.

::

    first judgement ──> view opens ──> shared by all ──> idle for a minute ──> closed
                           ^                │
                           └── next use ────┴── its watch broke, or it did not catch up in 5 s

Source: coordination.txt, "Neither holds a newer build back".
"""

import asyncio
import logging
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, Final

from coordination.contract.answers import Absent
from coordination.contract.bucket import Bucket
from coordination.errors import Unavailable
from coordination.slots.protocol_view import WHAT, ProtocolView

IDLE: Final = timedelta(minutes=1)  # without a judgement, then the view is closed
CATCHES_UP_WITHIN: Final = timedelta(seconds=5)  # two beats of a watch that has nothing to say


class Gate:
    """Judges claims against the lowest protocol alive.

    Args:
        leases: the bucket whose records count.
        log: where records left out are told.
        idle: how long the view outlives its last use.
        within: how long a judgement waits for the view.
    """

    def __init__(
        self,
        leases: Bucket,
        log: logging.Logger,
        *,
        idle: timedelta = IDLE,
        within: timedelta = CATCHES_UP_WITHIN,
    ) -> None:
        self._leases = leases
        self._log = log
        self._idle = idle.total_seconds()
        self._within = within.total_seconds()
        self._view: ProtocolView | None = None
        self._opening: asyncio.Task[ProtocolView] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._judging = 0
        self._used_at = 0.0  # loop time
        self._is_closed = False

    async def blocks(self, protocol: int) -> bool:
        """Whether a live record is older than this protocol.

        Raises:
            Unavailable: nobody knows who is alive.
        """
        lowest = await self.floor()
        return not isinstance(lowest, Absent) and lowest < protocol

    async def floor(self) -> int | Absent:
        """The lowest protocol among live seats and presences; a claim being made counts.

        Raises:
            Unavailable: nobody knows who is alive.
        """
        self._judging += 1
        try:
            return await self._judge()
        finally:
            self._judging -= 1
            self._used_at = asyncio.get_running_loop().time()

    async def close(self) -> None:
        """End the view; later judgements are unavailable. Safe to call twice."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        self._retire()
        if self._closing:
            await asyncio.wait(self._closing)

    async def _judge(self) -> int | Absent:
        view = await self._opened()
        position = await self._leases.position()
        if position.last_sequence == 0:
            return Absent()
        try:
            async with asyncio.timeout(self._within):
                await view.catch_up(position.last_sequence)
        except TimeoutError as fault:
            if self._view is view:
                self._retire()
            msg = f"the view of {WHAT} did not catch up within {self._within:g} s"
            raise Unavailable(msg, operation="gate", subject=WHAT) from fault
        return view.lowest(position.now)

    async def _opened(self) -> ProtocolView:
        """The view, opened anew where there is none; callers at once share one opening."""
        if self._is_closed:
            raise _store_closed()
        if self._view is not None and not self._view.is_over:
            return self._view
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"open {WHAT}")
            self._opening.add_done_callback(_look_at)
        opening = self._opening
        await asyncio.wait({opening})
        if opening.cancelled():
            raise _store_closed()
        return opening.result()

    async def _open(self) -> ProtocolView:
        self._retire()
        view = await ProtocolView.open(self._leases, self._log)
        self._view = view
        if self._timer is None:
            self._look_after(self._idle)
        return view

    def _look_after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """Close an idle view; uses only leave their time, so that they cost no timer."""
        self._timer = None
        left = self._used_at + self._idle - asyncio.get_running_loop().time()
        if self._judging or left > 0:
            self._look_after(max(left, self._idle / 2))
        else:
            self._retire()

    def _retire(self) -> None:
        view, self._view = self._view, None
        if view is not None:
            self._in_background(view.close())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"close {WHAT}")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _look_at(opened: "asyncio.Task[ProtocolView]") -> None:
    """A failure whose askers have all been cancelled is nobody's."""
    if not opened.cancelled():
        opened.exception()


def _store_closed() -> Unavailable:
    return Unavailable("the store was closed", operation="gate", subject=WHAT)
