"""The twin's clocks: real time that never runs back, and one that a test moves."""

import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, override

from coordination.errors import InvalidRequest
from coordination.rules.instants import Instant

MANUAL_START: Final = Instant.of(datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC))


class Clock(Protocol):
    """Where the twin's instants come from."""

    def now(self) -> Instant:
        """The current instant; never earlier than one told before."""


class SystemClock(Clock):
    """This machine's clock."""

    def __init__(self) -> None:
        self._latest = 0

    @override
    def now(self) -> Instant:
        self._latest = max(self._latest, time.time_ns())
        return Instant(self._latest)


class ManualClock(Clock):
    """A clock that stands still until it is moved."""

    def __init__(self, start: Instant = MANUAL_START) -> None:
        self._now = start

    @override
    def now(self) -> Instant:
        return self._now

    def advance(self, span: timedelta) -> None:
        """Move it forward.

        Raises:
            InvalidRequest: the span is negative: a broker's clock does not run back.
        """
        if span < timedelta(0):
            msg = f"a store's clock moves forward only, not by {span}"
            raise InvalidRequest(msg, operation="advance")
        self._now += span
