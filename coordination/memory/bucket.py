"""The bucket port over memory: one handle's view of a stream.

Each verb lets other tasks run first and then answers in one step, so cancelling a call either comes
before it or finds it done.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final, override

from coordination.contract.answers import NO_REVISION, Absent, Conflict, Revision, Written
from coordination.contract.bucket import Bucket, BucketWatch, Entry, Listed, Operation, Position
from coordination.contract.watch import Heard
from coordination.errors import InvalidRequest, Unavailable
from coordination.memory.stream import EVERY_KEY, MemoryStream
from coordination.rules.instants import Instant

HEARTBEAT: Final = timedelta(seconds=5)  # a watch with nothing to say says so this often


class Handle:
    """One opening of the twin: closing it ends its watches and refuses its later calls."""

    def __init__(self) -> None:
        self.closed = False
        self.watches: set[MemoryWatch] = set()

    async def reach(self, operation: str, subject: str) -> None:
        """Let others run, then go on, unless the store was closed.

        Raises:
            Unavailable: it was.
        """
        await asyncio.sleep(0)
        if self.closed:
            raise store_closed(operation=operation, subject=subject)

    async def close(self) -> None:
        """End every watch, and all later calls."""
        self.closed = True
        for watch in tuple(self.watches):
            watch.cut()


class MemoryBucket(Bucket):
    """As the port."""

    def __init__(self, stream: MemoryStream, handle: Handle) -> None:
        self._stream = stream
        self._handle = handle

    @property
    @override
    def name(self) -> str:
        return self._stream.name

    @property
    @override
    def age(self) -> timedelta | None:
        return self._stream.age

    @override
    async def read(self, key: str) -> Entry | Absent:
        await self._handle.reach("read", key)
        entry = self._stream.newest(key)
        return Absent() if entry is None else entry

    @override
    async def read_revision(self, key: str, revision: Revision) -> Entry | Absent:
        await self._handle.reach("read", key)
        entry = self._stream.at(key, revision)
        return Absent() if entry is None else entry

    @override
    async def put(self, key: str, value: bytes, *, message_id: str = "") -> Written:
        await self._handle.reach("put", key)
        return self._stream.put(key, value, message_id=message_id)

    @override
    async def put_beside(
        self, key: str, value: bytes, *, other: str, expected: Revision
    ) -> Written | Conflict:
        await self._handle.reach("put", key)
        standing = self._stream.newest(other)
        if expected != (NO_REVISION if standing is None else standing.revision):
            return Conflict()
        return self._stream.put(key, value)

    @override
    async def update(
        self, key: str, value: bytes, expected: Revision, *, message_id: str = ""
    ) -> Written | Conflict:
        await self._handle.reach("update", key)
        return self._stream.compare_and_set(key, value, expected, message_id=message_id)

    @override
    async def remove(
        self,
        key: str,
        operation: Operation,
        expected: Revision | None = None,
        *,
        message_id: str = "",
    ) -> Written | Conflict:
        if operation is Operation.PUT:
            msg = "a removal leaves a delete or a purge marker"
            raise InvalidRequest(msg, operation="remove", subject=key)
        if expected == NO_REVISION:
            return Conflict()
        await self._handle.reach("remove", key)
        if expected is None:
            return self._stream.put(key, b"", operation=operation, message_id=message_id)
        return self._stream.compare_and_set(
            key, b"", expected, operation=operation, message_id=message_id
        )

    @override
    async def listing(self, key_filter: str, *, what: str) -> Listed:
        await self._handle.reach("listing", what)
        return listed_of(self._stream, key_filter)

    @override
    async def watch(self, key_filter: str, *, what: str) -> BucketWatch:
        await self._handle.reach("watch", what)
        return MemoryWatch(self._stream, self._handle, key_filter, what)

    @override
    async def markers(self, *, before: Instant) -> tuple[Entry, ...]:
        await self._handle.reach("markers", self.name)
        return tuple(
            entry
            for entry in self._stream.matching(EVERY_KEY)
            if not entry.is_live and entry.written_at < before
        )

    @override
    async def purge_through(self, key: str, revision: Revision) -> int:
        await self._handle.reach("purge", key)
        return self._stream.purge_through(key, revision)

    @override
    async def now(self) -> Instant:
        await self._handle.reach("now", self.name)
        return self._stream.clock.now()

    @override
    async def position(self) -> Position:
        await self._handle.reach("position", self.name)
        last = NO_REVISION if self._stream.is_empty else self._stream.last
        return Position(last_sequence=last, now=self._stream.clock.now())


class MemoryWatch(BucketWatch):
    """A listing and everything written after it, in order."""

    def __init__(self, stream: MemoryStream, handle: Handle, key_filter: str, what: str) -> None:
        self._stream = stream
        self._handle = handle
        self._what = what
        self._listed = listed_of(stream, key_filter)
        self._reached = stream.last
        self._queue: asyncio.Queue[Entry | None] = asyncio.Queue()
        self._closed = False
        self._cut = False
        self._follower = self._queue.put_nowait
        stream.follow(key_filter, self._follower)
        handle.watches.add(self)

    @property
    @override
    def listed(self) -> Listed:
        return self._listed

    @property
    @override
    def reached(self) -> Revision:
        return self._reached

    @override
    async def events(self) -> AsyncIterator[Entry | Heard]:
        while not self._closed:
            if self._cut:
                raise store_closed(operation="watch", subject=self._what)
            event = await self._next()
            if event is not None:
                yield event

    @override
    async def close(self) -> None:
        self._closed = True
        self._leave()

    def cut(self) -> None:
        """End it as a broker that went away does."""
        self._cut = True
        self._leave()

    def _leave(self) -> None:
        self._stream.unfollow(self._follower)
        self._handle.watches.discard(self)
        self._queue.put_nowait(None)

    async def _next(self) -> Entry | Heard | None:
        """The next message, a heartbeat, or None when the watch has ended."""
        try:
            async with asyncio.timeout(HEARTBEAT.total_seconds()):
                entry = await self._queue.get()
        except TimeoutError:
            if self._queue.empty():
                self._reached = self._stream.last
            return Heard(at=self._stream.clock.now())
        if entry is not None:
            self._reached = entry.revision
        return entry


def listed_of(stream: MemoryStream, key_filter: str) -> Listed:
    """A stream's answer under a filter, at this instant."""
    found = stream.matching(key_filter)
    return Listed(
        entries=tuple(entry for entry in found if entry.is_live),
        seen={entry.key: entry.revision for entry in found},
        as_of=stream.clock.now(),
    )


def store_closed(*, operation: str, subject: str) -> Unavailable:
    """The error of a call on a closed store."""
    msg = "the store was closed"
    return Unavailable(msg, operation=operation, subject=subject)
