"""Answers: yes and no as values.

Each question has a closed union of frozen dataclasses. Their truth value raises, so
`if await leases.acquire(...)` fails at once instead of reading a refusal as a yes; write `match`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, NoReturn

from coordination.rules.leases import LostReason

Revision = NewType("Revision", int)  # a key's stream sequence; what compare-and-set compares
Epoch = NewType("Epoch", int)  # the fencing token: starts at 1, +1 per tenure, never restarts
Owner = NewType("Owner", str)  # one process incarnation: `{node id}:{process}-{random}`
NodeId = NewType("NodeId", str)

NO_REVISION = Revision(0)  # "the caller has none": every versioned verb answers a lost race for it


class Answer:
    """Base of every answer; has no truth value."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        """An answer is matched, never tested."""
        msg = f"{type(self).__name__} has no truth value: match on its type"
        raise TypeError(msg)


@dataclass(frozen=True, slots=True)
class Absent(Answer):
    """The store said there is none."""


@dataclass(frozen=True, slots=True)
class Conflict(Answer):
    """Compared and lost: somebody wrote first. Nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Answer):
    """Acknowledged by the leader once a quorum held it.

    `duplicate` says that an earlier publish with the same message id had landed and this one
    wrote nothing.
    """

    revision: Revision
    duplicate: bool = False


class RefusedReason(StrEnum):
    """Why an acquire was refused."""

    HELD = "held"  # a peer has it
    PROTOCOL = "protocol"  # an older build is alive: the mixed-version gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(Answer):
    """A definite no with its reason."""

    because: RefusedReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost(Answer):
    """The tenure is not the caller's any more."""

    because: LostReason


@dataclass(frozen=True, slots=True)
class Released(Answer):
    """Given back; claimable at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHeld(Answer):
    """There was nothing of the caller's to give back."""

    because: LostReason
