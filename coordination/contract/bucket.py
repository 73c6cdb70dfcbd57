"""The port between slots and a backend: one bucket, and the few verbs a backend is left with.

Every slot's algorithm is written once over this port (`coordination.slots`); the memory twin and
the JetStream backend differ only in how they read, compare-and-set, list, follow and expire.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from coordination.contract.answers import Absent, Answer, Conflict, Revision, Written
from coordination.contract.watch import Heard
from coordination.rules.instants import Instant


class Operation(StrEnum):
    """What a message on a key says."""

    PUT = "put"
    DELETE = "delete"
    PURGE = "purge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Answer):
    """The newest message on a key: a value, or the marker a removal left."""

    key: str
    value: bytes
    revision: Revision
    written_at: Instant  # the broker's own time of the write
    operation: Operation = Operation.PUT

    @property
    def is_live(self) -> bool:
        """Whether it is a value."""
        return self.operation is Operation.PUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A certified listing: live entries sorted by key, and what each seen key's revision was.

    `seen` holds the markers too, so that a watch can drop a late delivery of one.
    """

    entries: tuple[Entry, ...]
    seen: dict[str, Revision]
    as_of: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a bucket's writes have come, and the broker's clock when it said so."""

    last_sequence: Revision  # of its newest message, removed since or not; 0 while it holds none
    now: Instant


class BucketWatch(Protocol):
    """A certified listing whose consumer goes on delivering."""

    @property
    def listed(self) -> Listed:
        """The first answer."""

    @property
    def reached(self) -> Revision:
        """How far it has come: what its filter held at or below this was handed over.

        Not every message is: one that was replaced or removed first is passed over. It moves with
        `events`, so it is read after an event was taken.
        """

    def events(self) -> AsyncIterator[Entry | Heard]:
        """Entries newer than anything handed over for their key, markers included.

        `Heard` when the broker's heartbeat came, or something that was handed over before. Ends
        only by `Unavailable`, or by `close`.
        """

    async def close(self) -> None:
        """Delete the consumer. Safe to call twice."""


class Bucket(Protocol):
    """One KV bucket. Every read is the leader's; every listing is certified."""

    @property
    def name(self) -> str:
        """The whole bucket name, such as `crewlet_leases`."""

    @property
    def age(self) -> timedelta | None:
        """The retention in force; None when the bucket forgets nothing."""

    async def read(self, key: str) -> Entry | Absent:
        """The newest message on a key, a marker included."""

    async def read_revision(self, key: str, revision: Revision) -> Entry | Absent:
        """That very message; Absent when it is gone or stands on another key."""

    async def put(self, key: str, value: bytes, *, message_id: str = "") -> Written:
        """Write whatever stands there."""

    async def put_beside(
        self, key: str, value: bytes, *, other: str, expected: Revision
    ) -> Written | Conflict:
        """Write whatever stands there, only while another key stands at `expected` (0: nothing)."""

    async def update(
        self, key: str, value: bytes, expected: Revision, *, message_id: str = ""
    ) -> Written | Conflict:
        """Write only over `expected`; 0 means that nothing, not even a marker, stands there."""

    async def remove(
        self,
        key: str,
        operation: Operation,
        expected: Revision | None = None,
        *,
        message_id: str = "",
    ) -> Written | Conflict:
        """Leave a delete or purge marker; `expected` None is unconditional, 0 always conflicts."""

    async def listing(self, key_filter: str, *, what: str) -> Listed:
        """Every key live throughout, or `Unavailable` naming `what` was being listed.

        Args:
            key_filter: `>`, `<class>.>` or one whole key, in key vocabulary; never empty.
            what: the listing's name for errors and logs, such as `seat leases`.
        """

    async def watch(self, key_filter: str, *, what: str) -> BucketWatch:
        """A certified listing whose consumer stays open."""

    async def markers(self, *, before: Instant) -> tuple[Entry, ...]:
        """The removal markers written before an instant, sorted by key.

        From one pass that nothing certifies: a marker it misses is swept another time.
        """

    async def purge_through(self, key: str, revision: Revision) -> int:
        """Remove a key's messages up to a revision; how many. Leaves no marker of its own."""

    async def now(self) -> Instant:
        """The broker's clock, from this bucket's stream."""

    async def position(self) -> Position:
        """The last write of this bucket, from its stream's leader.

        A watch of every key that has `reached` it holds everything written before this was asked.
        """
