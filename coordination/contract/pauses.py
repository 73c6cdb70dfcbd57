"""Seat pauses: which seats a person has stopped, by whom and why.

A pause has no expiry: an expiring pause is a resume nobody chose. A second person's pause never
overwrites the first's reason. Source: coordination.txt, slot `positions`, `seat_pause`.
"""

from dataclasses import dataclass
from typing import Protocol

from coordination.contract.answers import NO_REVISION, Absent, Answer, Conflict, Revision, Written
from coordination.contract.watch import Watch
from coordination.rules.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Answer):
    """One seat's pause.

    `revision` is 0 on a pause that has not been written yet. `request_id` is the operation that
    wrote it (a UUIDv7), so that a retry after an unknown outcome knows its own.
    """

    handle: str
    by: str
    at: Instant
    reason: str = ""
    stop_running: bool = False
    operator_id: str = ""
    seat: str = ""
    request_id: str = ""
    review_by: Instant | None = None
    revision: Revision = NO_REVISION


@dataclass(frozen=True, slots=True, kw_only=True)
class Created(Answer):
    """The pause was recorded (or had been, by the same operation)."""

    version: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Exists(Answer):
    """Somebody's pause stands; nothing was overwritten."""

    pause: Pause
    version: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted(Answer):
    """The pause was removed at the version the caller saw."""


class Pauses(Protocol):
    """The pause verbs. Unknown: nodes keep the pauses they last read."""

    async def create(self, pause: Pause) -> Created | Exists:
        """Pause a seat that is not paused.

        The publish carries `pause.request_id` as its message id: a retry within the broker's
        two-minute window is the same operation. When the standing record carries the same
        `request_id` the answer is Created with its version.

        Raises:
            InvalidRequest: no handle, author or instant.
            OutcomeUnknown: may have been recorded; `get` tells, and a retry cannot pause twice.
        """

    async def amend(self, pause: Pause, version: Revision) -> Written | Conflict:
        """Replace the standing record at the version the caller saw; version 0 always conflicts."""

    async def lift(
        self, handle: str, version: Revision, *, request_id: str = ""
    ) -> Lifted | Conflict:
        """Resume a seat at the version the caller saw; version 0 always conflicts."""

    async def get(self, handle: str) -> Pause | Absent:
        """The standing pause, from the leader."""

    async def list(self) -> tuple[Pause, ...]:
        """Every pause, sorted by the key it is filed under; one undecodable record raises."""

    async def watch(self) -> Watch[Pause, str]:
        """A certified listing, then changes; a removal is `Cleared(handle)`."""
