"""What the hub tells its subscribers, and the bounded queue each of them has.

A notice is a nudge: what stands is in the projection. So a subscriber that falls behind loses
nothing by having its queue dropped and being told to read again.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

QUEUE_LIMIT: Final = 64  # notices a subscriber may be behind by


class State(StrEnum):
    """Whether a topic's projection is the present answer."""

    KNOWN = "known"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something a reader would want to know changed in a topic.

    Attributes:
        topic: its name; `link` for the probe.
        rev: counts this topic's notices from 1; the one before was `rev - 1`.
        state: known or not, at the time of the notice.
        keys: records whose meaning changed, sorted; a bare renewal is no change.
        appeared: records that were not there before, sorted.
        left: records that are not there any more, sorted.
    """

    topic: str
    rev: int
    state: State
    keys: tuple[str, ...] = ()
    appeared: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resync:
    """Notices were dropped: read every topic again."""


class Subscription:
    """One subscriber's notices, on the loop that subscribed: an async iterator and context.

    Args:
        subscribers: where it is registered until it is closed.
        limit: notices kept; one more drops them all and leaves a `Resync`.
    """

    def __init__(self, subscribers: "Subscribers", limit: int) -> None:
        self._subscribers = subscribers
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._lock = threading.Lock()
        self._queue: deque[Notice | Resync] = deque()

    def offer(self, notice: Notice) -> None:
        """Queue a notice; from any thread, never waits."""
        with self._lock:
            was_empty = not self._queue
            if len(self._queue) >= self._limit:
                self._queue.clear()
                self._queue.append(Resync())
            else:
                self._queue.append(notice)
        if was_empty:
            # A subscriber whose loop has ended is unregistered by whoever ended it.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake.set)

    def close(self) -> None:
        """Take no more notices. Safe to call twice."""
        self._subscribers.remove(self)

    async def next(self) -> Notice | Resync:
        """The next notice, awaited."""
        while True:
            with self._lock:
                if self._queue:
                    return self._queue.popleft()
                self._wake.clear()
            await self._wake.wait()

    def __aiter__(self) -> AsyncIterator[Notice | Resync]:
        return self

    async def __anext__(self) -> Notice | Resync:
        """As `next`; the iteration never ends by itself."""
        return await self.next()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Subscribers:
    """Everybody who listens."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: tuple[Subscription, ...] = ()

    def add(self, *, limit: int = QUEUE_LIMIT) -> Subscription:
        """Subscribe the running loop's caller from the next notice on."""
        subscription = Subscription(self, limit)
        with self._lock:
            self._all = (*self._all, subscription)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Forget one."""
        with self._lock:
            self._all = tuple(one for one in self._all if one is not subscription)

    def offer(self, notice: Notice) -> None:
        """Hand a notice to everybody."""
        for subscription in self._all:
            subscription.offer(notice)
