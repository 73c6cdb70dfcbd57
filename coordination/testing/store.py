"""A store whose buckets fail as planned: the double every fault case is written with."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import override

from coordination.contract.answers import Absent, Conflict, Revision, Written
from coordination.contract.bucket import Bucket, BucketWatch, Entry, Listed, Operation, Position
from coordination.contract.watch import Heard
from coordination.errors import Unavailable
from coordination.rules.instants import Instant
from coordination.slots.store import SlotStore
from coordination.testing.faults import Faults, Verb


class FaultyBucket(Bucket):
    """A bucket that fails as planned."""

    def __init__(self, inner: Bucket, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    @property
    @override
    def name(self) -> str:
        return self._inner.name

    @property
    @override
    def age(self) -> timedelta | None:
        return self._inner.age

    @override
    async def read(self, key: str) -> Entry | Absent:
        return await self._faults.meet(self, Verb.READ, lambda: self._inner.read(key))

    @override
    async def read_revision(self, key: str, revision: Revision) -> Entry | Absent:
        return await self._faults.meet(
            self, Verb.READ_REVISION, lambda: self._inner.read_revision(key, revision)
        )

    @override
    async def put(self, key: str, value: bytes, *, message_id: str = "") -> Written:
        return await self._faults.meet(
            self, Verb.PUT, lambda: self._inner.put(key, value, message_id=message_id)
        )

    @override
    async def put_beside(
        self, key: str, value: bytes, *, other: str, expected: Revision
    ) -> Written | Conflict:
        return await self._faults.meet(
            self,
            Verb.PUT,
            lambda: self._inner.put_beside(key, value, other=other, expected=expected),
        )

    @override
    async def update(
        self, key: str, value: bytes, expected: Revision, *, message_id: str = ""
    ) -> Written | Conflict:
        return await self._faults.meet(
            self,
            Verb.UPDATE,
            lambda: self._inner.update(key, value, expected, message_id=message_id),
        )

    @override
    async def remove(
        self,
        key: str,
        operation: Operation,
        expected: Revision | None = None,
        *,
        message_id: str = "",
    ) -> Written | Conflict:
        return await self._faults.meet(
            self,
            Verb.REMOVE,
            lambda: self._inner.remove(key, operation, expected, message_id=message_id),
        )

    @override
    async def listing(self, key_filter: str, *, what: str) -> Listed:
        return await self._faults.meet(
            self, Verb.LISTING, lambda: self._inner.listing(key_filter, what=what)
        )

    @override
    async def watch(self, key_filter: str, *, what: str) -> BucketWatch:
        source = await self._faults.meet(
            self, Verb.WATCH, lambda: self._inner.watch(key_filter, what=what)
        )
        return FaultyWatch(source, self._faults, what=what)

    @override
    async def markers(self, *, before: Instant) -> tuple[Entry, ...]:
        return await self._faults.meet(
            self, Verb.MARKERS, lambda: self._inner.markers(before=before)
        )

    @override
    async def purge_through(self, key: str, revision: Revision) -> int:
        return await self._faults.meet(
            self, Verb.PURGE, lambda: self._inner.purge_through(key, revision)
        )

    @override
    async def now(self) -> Instant:
        return await self._faults.meet(self, Verb.NOW, self._inner.now)

    @override
    async def position(self) -> Position:
        return await self._faults.meet(self, Verb.POSITION, self._inner.position)


class FaultyWatch(BucketWatch):
    """A bucket watch that ends when the store is made unreachable.

    One pump takes events as fast as they come: a watch that took one a turn of the loop would fall
    behind writers that write several.
    """

    def __init__(self, source: BucketWatch, faults: Faults, *, what: str) -> None:
        self._source = source
        self._faults = faults
        self._what = what
        self._reached = source.reached

    @property
    @override
    def listed(self) -> Listed:
        return self._source.listed

    @property
    @override
    def reached(self) -> Revision:
        return self._reached

    @override
    async def events(self) -> AsyncIterator[Entry | Heard]:
        taken: asyncio.Queue[tuple[Entry | Heard, Revision] | None] = asyncio.Queue()
        pump = asyncio.create_task(self._pump(taken))
        down = asyncio.create_task(self._faults.down())
        for task in (pump, down):
            task.add_done_callback(lambda _: taken.put_nowait(None))
        try:
            while (event := await taken.get()) is not None and not down.done():
                upcoming, self._reached = event
                yield upcoming
            if down.done():
                msg = f"the watch of {self._what} broke: the store went away"
                raise Unavailable(msg, operation="watch", subject=self._what)
            await pump
        finally:
            pump.cancel()
            down.cancel()
            await asyncio.wait({pump, down})

    async def _pump(self, taken: asyncio.Queue[tuple[Entry | Heard, Revision] | None]) -> None:
        async for event in self._source.events():
            taken.put_nowait((event, self._source.reached))

    @override
    async def close(self) -> None:
        await self._source.close()


class FaultyStore(SlotStore):
    """The same slots over buckets that fail as planned.

    Args:
        inner: a store of either backend; closing this one closes it.
        faults: shared with other handles when they are to fail together.
    """

    def __init__(self, inner: SlotStore, faults: Faults | None = None) -> None:
        self.faults = Faults() if faults is None else faults
        super().__init__(
            inner.buckets.each(lambda bucket: FaultyBucket(bucket, self.faults)),
            close=inner.close,
            ticks=inner.ticks,
        )
