"""Watches: first the whole answer, then what changed since.

A watch begins with a certified listing and goes on from the same consumer, so nothing falls between
the two. It never just stops: it ends by raising `Unavailable`, and whoever follows it keeps what it
last knew and opens another. Source: coordination.txt, "The one watch the store hands its callers".
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from coordination.contract.answers import Revision
from coordination.rules.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot[T]:
    """Every record that was live throughout the listing, sorted by key."""

    items: tuple[T, ...]
    as_of: Instant  # the broker's clock when the listing was certified


@dataclass(frozen=True, slots=True, kw_only=True)
class Change[T]:
    """A record as it now stands, newer than anything handed over before for its key."""

    item: T
    revision: Revision
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared[K]:
    """A record was removed (a pause lifted, a lease released)."""

    name: K
    revision: Revision
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Nothing changed, and the broker said so: the watch is not mute."""

    at: Instant | None = None


type Event[T, K] = Snapshot[T] | Change[T] | Cleared[K] | Heard


class Watch[T, K](Protocol):
    """An open watch: an async context manager and an async iterator of events.

    The first event is always a `Snapshot`. Iteration ends only by `Unavailable` (the broker went
    away, the consumer is gone or mute, a record cannot be decoded) or by leaving the context, which
    deletes the consumer.
    """

    async def __aenter__(self) -> Self:
        """The same watch."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it and delete its consumer."""

    def __aiter__(self) -> AsyncIterator[Event[T, K]]:
        """Its events."""
