"""Answers for display: known, or not known with what was known last.

This is where `Unavailable` becomes something to draw. What must stay true: an `Unknown` is never a
shorter list, a zero or an absence; it says since when, why, and keeps the last answer beside it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from coordination.errors import OutcomeUnknown, Unavailable
from runtime import portal


@dataclass(frozen=True, slots=True)
class Known[T]:
    """The store's answer, and when it was true."""

    value: T
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Unknown[T]:
    """The store could not be asked.

    Attributes:
        why: one sentence for people.
        since: when asking began to fail.
        last: the answer before that, where there ever was one.
    """

    why: str
    since: datetime
    last: Known[T] | None = None


type Reading[T] = Known[T] | Unknown[T]


@dataclass(frozen=True, slots=True)
class Done[T]:
    """A request the store answered; a refusal is an answer too."""

    value: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A request without an answer.

    Attributes:
        why: one sentence for people.
        may_have_landed: a write may have left before the silence; read before deciding.
    """

    why: str
    may_have_landed: bool


def read[T](
    fn: Callable[..., Awaitable[T]], *args: object, deadline: timedelta = portal.DEADLINE
) -> Reading[T]:
    """Ask on the loop thread for something to show; from synchronous code only."""
    asked_at = datetime.now(UTC)
    try:
        return Known(portal.run(fn, *args, deadline=deadline), datetime.now(UTC))
    except Unavailable as unknown:
        return Unknown(str(unknown), asked_at)


def attempt[T](
    fn: Callable[..., Awaitable[T]], *args: object, deadline: timedelta = portal.DEADLINE
) -> Done[T] | Failed:
    """Carry out a request on the loop thread and say whether it was answered."""
    try:
        return Done(portal.run(fn, *args, deadline=deadline))
    except OutcomeUnknown as unknown:
        return Failed(why=str(unknown), may_have_landed=True)
    except Unavailable as unknown:
        return Failed(why=str(unknown), may_have_landed=False)
