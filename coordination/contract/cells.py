"""A plain record slot: one record a name, compared and set by version.

The slots that are no more than a kept record are this protocol with names and a record type; the
others build on its verbs. Source: coordination.txt, "What the fleet shares".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from coordination.contract.answers import Absent, Answer, Conflict, Revision, Written
from coordination.rules.instants import Instant

type Name = tuple[str, ...]  # what a record is filed under, one segment of its key each


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell[R: msgspec.Struct](Answer):
    """A record as the leader read it."""

    name: Name
    record: R
    version: Revision
    at: Instant  # the broker's own time of the write


@dataclass(frozen=True, slots=True, kw_only=True)
class Created(Answer):
    """It was written where no record stood."""

    version: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Exists[R: msgspec.Struct](Answer):
    """A record stands there; nothing was written."""

    cell: Cell[R]


@dataclass(frozen=True, slots=True)
class Removed(Answer):
    """No record stands there any more."""


@dataclass(frozen=True, slots=True)
class Replace[R: msgspec.Struct]:
    """A judgement: write this record."""

    record: R


@dataclass(frozen=True, slots=True)
class Drop:
    """A judgement: remove the record."""


@dataclass(frozen=True, slots=True)
class Leave[A: Answer]:
    """A judgement: write nothing and answer this."""

    answer: A


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced[R: msgspec.Struct](Answer):
    """What a judgement wrote, and the version it stands at."""

    record: R
    version: Revision


type Judge[R: msgspec.Struct, A: Answer] = Callable[
    [Cell[R] | Absent], Replace[R] | Drop | Leave[A]
]


class Cells[R: msgspec.Struct](Protocol):
    """The verbs. Every answer may instead be `Unavailable`.

    An undecodable record is unavailable wherever it is read by name, since nobody knows what it
    says; in a listing it is skipped with a warning or fails the listing, as the slot chose.
    """

    async def create(self, name: Name, record: R) -> Created | Exists[R]:
        """Write where no record stands, over the marker of a removed one too.

        Cost: one write; one leader read and perhaps a write more where something stands.
        """

    async def read(self, name: Name) -> Cell[R] | Absent:
        """What stands. Cost: one leader read."""

    async def put(self, name: Name, record: R) -> Written:
        """Write whatever stands. Cost: one write."""

    async def update(self, name: Name, record: R, version: Revision) -> Written | Conflict:
        """Write over the version the caller saw; version 0 is always a conflict, unasked."""

    async def change[A: Answer](self, name: Name, judge: Judge[R, A]) -> Replaced[R] | Removed | A:
        """Read, judge and write, again from the reading when another writer was faster.

        Args:
            name: of the record.
            judge: pure; asked once a round with what stands then.

        Returns:
            What was written, or the answer of the judgement that left it.

        Raises:
            Unavailable: could not be asked, or sixteen rounds met another writer.
            OutcomeUnknown: the last write may have landed.
        """

    async def remove(self, name: Name, version: Revision) -> Removed | Conflict:
        """Remove the version the caller saw; version 0 is always a conflict, unasked."""

    async def discard(self, name: Name) -> Removed:
        """Remove whatever stands. Cost: one write."""

    async def list(self, *, under: Name = ()) -> tuple[Cell[R], ...]:
        """Every record, or those whose names begin with these, sorted by key."""
