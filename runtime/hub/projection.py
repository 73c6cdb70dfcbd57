"""A decoded copy of one slot, by key, and what each new record means for a reader.

What must stay true: an older record never replaces a newer one; a bare renewal costs one dictionary
write and is no difference; readers on other threads get an immutable tuple, whole.
"""

import threading
from collections.abc import Callable, Set
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape[T]:
    """How to look at a record.

    Attributes:
        key: its name within the topic.
        revision: orders the records of one key.
        meaning: what a reader would call a change when it differs.
    """

    key: Callable[[T], str]
    revision: Callable[[T], int]
    meaning: Callable[[T], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Keys by what happened to them; all empty when nothing did that means anything."""

    changed: Set[str] = field(default_factory=frozenset)
    appeared: Set[str] = field(default_factory=frozenset)
    left: Set[str] = field(default_factory=frozenset)

    @property
    def keys(self) -> Set[str]:
        """All of them."""
        return {*self.changed, *self.appeared, *self.left}


SAME = Difference()


class Projection[T]:
    """The records of one topic. Written on the loop thread, read from any."""

    def __init__(self, shape: Shape[T]) -> None:
        self._shape = shape
        self._lock = threading.Lock()
        self._items: dict[str, T] = {}
        self._gone: dict[str, int] = {}  # key -> the revision it was dropped at
        self._order: list[str] | None = []  # sorted keys; None when they must be sorted again
        self._read: tuple[T, ...] | None = ()  # the last tuple handed out while nothing changed

    def items(self) -> tuple[T, ...]:
        """Every record, sorted by key; from any thread."""
        with self._lock:
            if self._read is None:
                if self._order is None:
                    self._order = sorted(self._items)
                self._read = tuple(map(self._items.__getitem__, self._order))
            return self._read

    def get(self, key: str) -> T | None:
        """One record."""
        return self._items.get(key)

    def values(self) -> tuple[T, ...]:
        """Every record in no order; on the loop thread, for periodic looks at all of them."""
        return tuple(self._items.values())

    def put(self, item: T) -> Difference:
        """Take a record unless a newer one stands or has been removed."""
        key, revision = self._shape.key(item), self._shape.revision(item)
        before = self._items.get(key)
        if before is None:
            if revision <= self._gone.get(key, -1):
                return SAME
        elif revision <= self._shape.revision(before):
            return SAME
        with self._lock:
            self._items[key] = item
            self._read = None
            if before is None:
                self._gone.pop(key, None)
                self._order = None
        if before is None:
            return Difference(appeared={key})
        if self._shape.meaning(before) != self._shape.meaning(item):
            return Difference(changed={key})
        return SAME

    def drop(self, key: str, revision: int) -> Difference:
        """Remove a record unless a newer one stands."""
        before = self._items.get(key)
        if before is None:
            self._gone[key] = max(revision, self._gone.get(key, -1))
            return SAME
        if revision < self._shape.revision(before):
            return SAME
        with self._lock:
            del self._items[key]
            self._gone[key] = revision
            self._order = self._read = None
        return Difference(left={key})

    def replace(self, items: tuple[T, ...]) -> Difference:
        """Take a watch's first answer: whatever was known before it is over."""
        fresh = {self._shape.key(item): item for item in items}
        before = self._items
        meaning = self._shape.meaning
        with self._lock:
            self._items = fresh
            self._gone = {}
            self._order = self._read = None
        return Difference(
            changed={
                key
                for key, item in fresh.items()
                if key in before and meaning(before[key]) != meaning(item)
            },
            appeared=fresh.keys() - before.keys(),
            left=before.keys() - fresh.keys(),
        )

    def merge(self, items: tuple[T, ...], *, touched: Set[str]) -> Difference:
        """Take a listing that ran beside the watch.

        Args:
            items: the listing.
            touched: keys the watch told of while the listing ran; their absence proves nothing.
        """
        listed = {self._shape.key(item) for item in items}
        missing = self._items.keys() - listed - touched
        differences = [self.put(item) for item in items]
        differences += [self.drop(key, self._shape.revision(self._items[key])) for key in missing]
        return Difference(
            changed=frozenset().union(*(one.changed for one in differences)),
            appeared=frozenset().union(*(one.appeared for one in differences)),
            left=frozenset().union(*(one.left for one in differences)),
        )
