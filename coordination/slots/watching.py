"""A slot's watch over its bucket's: first the certified listing's records, then each change."""

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self, override

from coordination.contract.bucket import BucketWatch, Entry, Listed
from coordination.contract.watch import Change, Cleared, Event, Heard, Snapshot, Watch
from coordination.errors import Unavailable


class SlotWatch[T, K](Watch[T, K]):
    """The contract's watch, told how to read one slot's entries.

    Args:
        source: the bucket's open watch.
        snapshot: the live records of its listing.
        read: the event an entry stands for, None where it is nobody's. An entry it cannot decode
            ends the watch by what it raises.
        what: what is being watched, for the error.
    """

    def __init__(
        self,
        source: BucketWatch,
        snapshot: Snapshot[T],
        read: Callable[[Entry], Change[T] | Cleared[K] | None],
        *,
        what: str,
    ) -> None:
        self._source = source
        self._snapshot = snapshot
        self._read = read
        self._what = what
        self._closed = False

    @override
    async def __aenter__(self) -> Self:
        return self

    @override
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        await self._source.close()

    @override
    def __aiter__(self) -> AsyncIterator[Event[T, K]]:
        return self._events()

    async def _events(self) -> AsyncIterator[Event[T, K]]:
        yield self._snapshot
        async for event in self._source.events():
            if isinstance(event, Heard):
                yield event
                continue
            change = self._read(event)
            if change is not None:
                yield change
        if not self._closed:
            msg = f"the watch of {self._what} ended; keep what is known and watch again"
            raise Unavailable(msg, operation="watch", subject=self._what)


async def open_watch[T, K](
    source: BucketWatch,
    collect: Callable[[Listed], tuple[T, ...]],
    read: Callable[[Entry], Change[T] | Cleared[K] | None],
    *,
    what: str,
) -> SlotWatch[T, K]:
    """The slot's watch over an open bucket watch, which is closed when its listing cannot be read.

    Args:
        source: the bucket's open watch.
        collect: the listing's records, sorted by key.
        read: as for `SlotWatch`.
        what: as for `SlotWatch`.
    """
    try:
        items = collect(source.listed)
    except BaseException:
        await source.close()
        raise
    return SlotWatch(source, Snapshot(items=items, as_of=source.listed.as_of), read, what=what)
