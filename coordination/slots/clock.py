"""A lower bound of the broker's clock, for stating a renewal's deadline without asking each time.

It decides nothing: whether a lease is held is always judged by the broker's clock itself.
"""

from asyncio import Lock
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
        self._lock = Lock()
        self._heard: tuple[int, int] | None = None  # tick of the answer, nanoseconds to add

    async def read(self) -> Instant:
        """An instant the broker's clock has reached.

        Raises:
            Unavailable: it was due to be asked and did not answer.
        """
        async with self._lock:
            tick = self._ticks()
            if self._heard is None or not 0 <= tick - self._heard[0] < nanos_of(LEARN_EVERY):
                now = await self._bucket.now()
                tick = self._ticks()
                self._heard = (tick, now.nanos - tick)
            return Instant(tick + self._heard[1])
