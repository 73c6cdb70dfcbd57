"""A lower bound of the broker's clock, for stating a renewal's deadline without asking each time.

It is one while the broker's clock does not run back; after a step back it may be ahead for up to a
minute. It decides nothing: whether a lease is held is always judged by the broker's clock itself.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from coordination.contract.bucket import Bucket
from coordination.rules.instants import Instant, nanos_of

LEARN_EVERY: Final = timedelta(minutes=1)  # a slewed clock drifts 30 ms from another in this time


class ClockFloor:
    """The broker's clock as heard, carried on by a local counter that never runs back.

    Args:
        bucket: whose clock.
        ticks: nanoseconds of any origin, such as `time.monotonic_ns`.
    """

    def __init__(self, bucket: Bucket, ticks: Callable[[], int]) -> None:
        self._bucket = bucket
        self._ticks = ticks
        self._heard_at: int | None = None  # tick of the last answer
        self._ahead = 0  # nanoseconds to add to a tick
        self._asking: asyncio.Task[None] | None = None

    async def read(self) -> Instant:
        """An instant the broker's clock has reached.

        Whoever needs it while it is being asked shares the one question and its answer.

        Raises:
            Unavailable: it was due to be asked and did not answer.
        """
        if not self._is_fresh():
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask())
                self._asking.add_done_callback(_look_at)
            asking = self._asking
            await asyncio.wait({asking})
            asking.result()
        return Instant(self._ticks() + self._ahead)

    def _is_fresh(self) -> bool:
        heard_at = self._heard_at
        return heard_at is not None and 0 <= self._ticks() - heard_at < nanos_of(LEARN_EVERY)

    async def _ask(self) -> None:
        now = await self._bucket.now()
        self._heard_at = self._ticks()
        self._ahead = now.nanos - self._heard_at


def _look_at(asked: asyncio.Task[None]) -> None:
    """A failure whose askers have all been cancelled is nobody's."""
    if not asked.cancelled():
        asked.exception()
