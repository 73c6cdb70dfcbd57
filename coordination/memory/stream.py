"""One bucket's messages: the newest per key, in the order they were written.

It keeps encoded bytes, so that what a caller reads is what the wire would have carried, never an
object somebody else still holds.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from coordination.contract.answers import NO_REVISION, Conflict, Revision, Written
from coordination.contract.bucket import Entry, Operation
from coordination.memory.clock import Clock
from coordination.rules.instants import Instant
from coordination.rules.retention import duplicate_window

EVERY_KEY: Final = ">"
type Follower = Callable[[Entry], None]


class MemoryStream:
    """What a broker keeps of one bucket, for every handle on it.

    Args:
        name: the whole bucket name.
        age: how long a message is kept; None for ever.
        clock: the broker's.
    """

    def __init__(self, name: str, *, age: timedelta | None, clock: Clock) -> None:
        self.name = name
        self.age = age
        self.clock = clock
        self._window = duplicate_window(age)
        self._last = NO_REVISION
        self._messages: dict[str, Entry] = {}  # oldest first
        self._message_ids: dict[str, tuple[Revision, Instant]] = {}  # oldest first
        self._followers: dict[Follower, str] = {}

    @property
    def last(self) -> Revision:
        """The newest revision ever given."""
        return self._last

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        self._expire()
        return not self._messages

    def newest(self, key: str) -> Entry | None:
        """The newest message on a key."""
        self._expire()
        return self._messages.get(key)

    def at(self, key: str, revision: Revision) -> Entry | None:
        """The message of that revision when it still stands on that key."""
        entry = self.newest(key)
        return entry if entry is not None and entry.revision == revision else None

    def matching(self, key_filter: str) -> tuple[Entry, ...]:
        """The newest message of each key under a filter, markers too, sorted by key."""
        self._expire()
        return tuple(
            self._messages[key] for key in sorted(self._messages) if is_under(key, key_filter)
        )

    def put(
        self,
        key: str,
        value: bytes,
        *,
        operation: Operation = Operation.PUT,
        message_id: str = "",
    ) -> Written:
        """Append a message, unless one of this id was appended lately."""
        self._expire()
        seen = self._message_ids.get(message_id)
        if seen is not None:
            return Written(revision=seen[0], duplicate=True)
        self._last = Revision(self._last + 1)
        entry = Entry(
            key=key,
            value=value,
            revision=self._last,
            written_at=self.clock.now(),
            operation=operation,
        )
        self._messages.pop(key, None)
        self._messages[key] = entry
        if message_id:
            self._message_ids[message_id] = (entry.revision, entry.written_at)
        self._tell(entry)
        return Written(revision=entry.revision)

    def compare_and_set(
        self,
        key: str,
        value: bytes,
        expected: Revision,
        *,
        operation: Operation = Operation.PUT,
        message_id: str = "",
    ) -> Written | Conflict:
        """Append a message over that revision only; its id is looked at first, as a broker does."""
        standing = self.newest(key)
        found = NO_REVISION if standing is None else standing.revision
        if found != expected and message_id not in self._message_ids:
            return Conflict()
        return self.put(key, value, operation=operation, message_id=message_id)

    def purge_through(self, key: str, revision: Revision) -> int:
        """Remove a key's message when it is of that revision or older; how many were removed."""
        entry = self.newest(key)
        if entry is None or entry.revision > revision:
            return 0
        del self._messages[key]
        return 1

    def follow(self, key_filter: str, follower: Follower) -> None:
        """Hand every later message under a filter to a follower."""
        self._followers[follower] = key_filter

    def unfollow(self, follower: Follower) -> None:
        """Stop handing it messages."""
        self._followers.pop(follower, None)

    def _tell(self, entry: Entry) -> None:
        for follower, key_filter in tuple(self._followers.items()):
            if is_under(entry.key, key_filter):
                follower(entry)

    def _expire(self) -> None:
        now = self.clock.now()
        if self.age is not None:
            for key in _over(self._messages, lambda entry: entry.written_at, self.age, now):
                del self._messages[key]
        for message_id in _over(self._message_ids, lambda seen: seen[1], self._window, now):
            del self._message_ids[message_id]


def is_under(key: str, key_filter: str) -> bool:
    """Whether a key is under a filter: all keys, a class, or that very key."""
    if key_filter.endswith(EVERY_KEY):
        return key.startswith(key_filter.removesuffix(EVERY_KEY))
    return key == key_filter


def _over[T](
    kept: dict[str, T], written: Callable[[T], Instant], age: timedelta, now: Instant
) -> tuple[str, ...]:
    """The keys at the front of an oldest-first mapping that are past an age."""

    def front() -> Iterator[str]:
        for key, value in kept.items():
            if written(value) + age > now:
                return
            yield key

    return tuple(front())
