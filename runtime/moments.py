"""Moments in words: one instant, read relative to the server's clock and in the reader's zone.

The browser script ``static/js/moments.js`` speaks the same words from the same forms; a change here
is a change there.

Forms: ``ago`` "2 min ago" · ``span`` "2 h 9 min" · ``in`` "in 11 s" · ``at`` "14:03:21", with the
date when it is another day · ``full`` "23 Sep 2026, 14:03:21 UTC+2".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MODES: Final = ("company", "reader", "utc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The instant a page was made at, and the zone it is read in.

    Args:
        now: the server's clock, aware, UTC.
        mode: whose zone: "company", "reader" or "utc".
        company: the company's zone.
        reader: the reader's, as the browser last told it in the cookie ``zone``.
    """

    now: datetime
    mode: str = "utc"
    company: tzinfo = UTC
    reader: tzinfo = UTC

    @property
    def zone(self) -> tzinfo:
        """The zone in use."""
        return {"company": self.company, "reader": self.reader}.get(self.mode, UTC)

    @property
    def offset(self) -> str:
        """The zone in use as an offset now, like "UTC+2"."""
        return offset_of(self.now.astimezone(self.zone))


def read_clock(
    query: Mapping[str, str], cookies: Mapping[str, str], *, company: tzinfo, now: datetime
) -> Clock:
    """The clock of one request: ``?tz=`` wins over the cookie ``tz``; odd values are ignored."""
    asked = query.get("tz", "") or cookies.get("tz", "")
    mode = asked if asked in MODES else "company"
    return Clock(now=now, mode=mode, company=company, reader=zone_named(cookies.get("zone", "")))


def zone_named(name: str) -> tzinfo:
    """The zone of that IANA name ("Europe/Berlin" or "Europe-Berlin" in a cookie), else UTC."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def offset_of(local: datetime) -> str:
    """The offset of a local time: "UTC", "UTC+2", "UTC+5:30"."""
    minutes = int((local.utcoffset() or timedelta()).total_seconds() // 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02}' if rest else ''}"


def span_words(span: timedelta, *, fine: bool = True) -> str:
    """A span in words: "34 s", "11 min", "2 h 9 min", "1 day", "12 days"; never negative.

    Args:
        span: the length.
        fine: keep the minutes of hours, and the seconds of the first ten minutes.
    """
    seconds = max(0, int(span.total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 60:
        return f"{seconds} s"
    if minutes < 60:
        rest = f" {seconds % 60} s" if fine and minutes < 10 and seconds % 60 else ""
        return f"{minutes} min{rest}"
    if hours < 24:
        rest = f" {minutes % 60} min" if fine and minutes % 60 else ""
        return f"{hours} h{rest}"
    return f"{days} day{'' if days == 1 else 's'}"


def moment_words(at: datetime, form: str, clock: Clock) -> str:
    """One instant in one form, as the reader's clock reads it."""
    if form == "ago":
        age = clock.now - at
        if age < timedelta():
            return (
                f"in {span_words(-age, fine=False)}" if age < -timedelta(seconds=1) else "0 s ago"
            )
        return f"{span_words(age, fine=False)} ago"
    if form == "span":
        return span_words(clock.now - at)
    if form == "in":
        left = at - clock.now
        if left < timedelta():
            return f"overdue by {span_words(-left)}"
        return f"in {span_words(left)}"
    local = at.astimezone(clock.zone)
    if form == "full":
        day = f"{local.day} {MONTHS[local.month - 1]} {local.year}"
        return f"{day}, {local:%H:%M:%S} {offset_of(local)}"
    return _at_words(local, clock.now.astimezone(clock.zone))


def _at_words(local: datetime, now: datetime) -> str:
    if local.date() == now.date():
        return f"{local:%H:%M:%S}"
    day = f"{local.day} {MONTHS[local.month - 1]}"
    if local.year != now.year:
        return f"{day} {local.year}, {local:%H:%M}"
    return f"{day}, {local:%H:%M}"
