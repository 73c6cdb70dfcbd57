"""Instants with nanoseconds, as records carry them.

A record's instant must survive a read and a write unchanged to the last digit, and `datetime` keeps
six of nine. So an instant is an integer of nanoseconds since 1970 UTC with its RFC 3339 text both
ways, and a `datetime` only for display.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import total_ordering
from typing import Final, Self, override

from coordination.errors import InvalidRequest

NANOS: Final = 1_000_000_000  # in a second
_FORM: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_NANOS: Final = -62_135_596_800 * NANOS  # 0001-01-01T00:00:00Z: other writers' "not set"
_LAST_NANOS: Final = 253_402_300_800 * NANOS - 1  # the year 9999 ends, and with it every calendar


@total_ordering
class Instant:
    """One moment, UTC, as nanoseconds since 1970. Immutable, ordered, hashable.

    It is no dataclass on purpose: a JSON codec would then write its field instead of its text.
    """

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        self._nanos = nanos

    @property
    def nanos(self) -> int:
        """Nanoseconds since 1970 UTC."""
        return self._nanos

    @property
    def is_set(self) -> bool:
        """Whether it names a moment; some writers spell *not set* as year 1's first instant."""
        return self._nanos != _ZERO_NANOS

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read RFC 3339 text with up to nine fraction digits.

        Raises:
            InvalidRequest: the text is no such instant.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            msg = f"{text!r} is no RFC 3339 instant, such as 2026-09-23T08:02:11.5Z"
            raise InvalidRequest(msg)
        *parts, fraction, zone = found.groups()
        try:
            whole = datetime.fromisoformat("{}-{}-{}T{}:{}:{}".format(*parts) + zone.upper())
        except ValueError as fault:
            msg = f"{text!r} is no instant: {fault}"
            raise InvalidRequest(msg) from fault
        nanos = _whole_nanos(whole) + int((fraction or "").ljust(9, "0"))
        if not _ZERO_NANOS <= nanos <= _LAST_NANOS:
            msg = f"{text!r} is no instant of the years 1 to 9999 UTC"
            raise InvalidRequest(msg)
        return cls(nanos)

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """The instant of an aware `datetime` (microsecond precision)."""
        if moment.tzinfo is None:
            msg = f"{moment!r} names no timezone"
            raise InvalidRequest(msg)
        return cls(_whole_nanos(moment))

    def text(self) -> str:
        """RFC 3339 UTC with `Z`, trailing zeros of the fraction trimmed."""
        seconds, fraction = divmod(self.nanos, NANOS)
        whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        tail = f".{fraction:09d}".rstrip("0") if fraction else ""
        return f"{whole.rjust(19, '0')}{tail}Z"

    def as_datetime(self) -> datetime:
        """The same moment for display, cut to microseconds."""
        return _EPOCH + timedelta(microseconds=self.nanos // 1000)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and self._nanos == other._nanos

    def __lt__(self, other: "Instant") -> bool:
        return self._nanos < other._nanos

    @override
    def __hash__(self) -> int:
        return hash(self._nanos)

    @override
    def __repr__(self) -> str:
        return f"Instant({self.text()})"

    def __add__(self, span: timedelta) -> "Instant":
        return Instant(self.nanos + nanos_of(span))

    def __sub__(self, other: "Instant") -> timedelta:
        return timedelta(microseconds=(self.nanos - other.nanos) / 1000)


def nanos_of(span: timedelta) -> int:
    """A span in whole nanoseconds."""
    return (span.days * 86_400 + span.seconds) * NANOS + span.microseconds * 1000


def span_of(nanos: int) -> timedelta:
    """A span of nanoseconds, cut to microseconds."""
    return timedelta(microseconds=nanos // 1000)


def _whole_nanos(moment: datetime) -> int:
    return nanos_of(moment - _EPOCH)


def set_or_none(instant: Instant | None) -> Instant | None:
    """The instant, or None when a record left it unset in either spelling."""
    return instant if instant is not None and instant.is_set else None
