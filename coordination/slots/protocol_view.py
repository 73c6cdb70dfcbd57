"""The mixed-version gate's own view of the lease bucket, kept by one watch.

It holds one small judgement a key, never the records. A reader waits until the view has come as far
as the bucket's last write; what it reads then holds everything written before it asked.
"""

import asyncio
import heapq
import itertools
import logging
from typing import Final, Self

from coordination.contract.answers import Absent, Revision
from coordination.contract.bucket import Bucket, BucketWatch, Entry
from coordination.errors import CorruptRecord, Unavailable
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource
from coordination.rules.protocols import LiveProtocols
from coordination.slots.lease_values import Stood, stood_of
from coordination.slots.listed import log_undecodable

WHAT: Final = "live protocols"


class ProtocolView:
    """Open it with `open`; whoever did closes it, also when it ended by itself.

    Its length is how many records it remembers.
    """

    def __init__(self, source: BucketWatch, bucket: Bucket, log: logging.Logger) -> None:
        self._source = source
        self._bucket = bucket
        self._log = log
        self._live = LiveProtocols(bucket.age)
        self._order = itertools.count()
        self._waiting: list[tuple[Revision, int, asyncio.Future[None]]] = []  # a heap
        for entry in sorted(source.listed.entries, key=_by_revision):
            self._take(entry)
        self._reached = source.reached  # what was taken, which the watch may be ahead of
        self._following = asyncio.create_task(self._follow(), name=f"watch of {WHAT}")
        self._following.add_done_callback(self._end)

    @classmethod
    async def open(cls, bucket: Bucket, log: logging.Logger) -> Self:
        """List the bucket and go on from there.

        Raises:
            Unavailable: the listing failed; nothing is left open.
        """
        return cls(await bucket.watch(">", what=WHAT), bucket, log)

    @property
    def is_over(self) -> bool:
        """Whether its watch has ended, so that it hears of nothing any more."""
        return self._following.done()

    def __len__(self) -> int:
        return len(self._live)

    def lowest(self, now: Instant) -> int | Absent:
        """The lowest live protocol as far as the view has come."""
        lowest = self._live.lowest(now)
        return Absent() if lowest is None else lowest

    async def catch_up(self, revision: Revision) -> None:
        """Wait until the view has taken in this revision.

        Raises:
            Unavailable: the watch ended first.
        """
        if self._reached >= revision:
            return
        if self.is_over:
            raise _ended()
        caught_up = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (revision, next(self._order), caught_up))
        await caught_up

    async def close(self) -> None:
        """End the watch and delete its consumer. Safe to call twice."""
        self._following.cancel()
        await asyncio.wait({self._following})
        await self._source.close()

    async def _follow(self) -> None:
        try:
            async for event in self._source.events():
                if isinstance(event, Entry):
                    self._take(event)
                self._reached = self._source.reached
                self._wake()
        finally:
            await self._source.close()

    def _take(self, entry: Entry) -> None:
        stood = self._judged(entry)
        if stood is None:
            self._live.drop(entry.key)
        else:
            self._live.put(entry.key, stood.record.protocol, stood.standing)

    def _judged(self, entry: Entry) -> Stood | None:
        """A seat's or a presence's record; None where the entry is neither."""
        resource = Resource.of_key(entry.key) if entry.is_live else None
        if resource is None or not resource.resource_class.is_seat_lane:
            return None
        try:
            return stood_of(entry)
        except CorruptRecord as fault:
            log_undecodable(self._log, self._bucket, entry.key, fault)
            return None

    def _wake(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._reached:
            _, _, caught_up = heapq.heappop(self._waiting)
            if not caught_up.done():
                caught_up.set_result(None)

    def _end(self, following: "asyncio.Task[None]") -> None:
        fault = None if following.cancelled() else following.exception()
        while self._waiting:
            _, _, caught_up = self._waiting.pop()
            if not caught_up.done():
                caught_up.set_exception(_ended(fault))


def _by_revision(entry: Entry) -> Revision:
    return entry.revision


def _ended(fault: BaseException | None = None) -> Unavailable:
    msg = f"the watch of {WHAT} ended before it had caught up"
    error = Unavailable(msg if fault is None else f"{msg}: {fault}", operation="gate", subject=WHAT)
    error.__cause__ = fault
    return error
