"""How this process stands with the store: the probe's answer and each watch's own."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SourceState(StrEnum):
    """Whether a projection is the present answer."""

    LIVE = "live"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One watched slot.

    Attributes:
        name: its topic, such as `seats`.
        state: live while its watch is heard.
        answered_at: when it was last heard; None before the first time.
    """

    name: str
    state: SourceState
    answered_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The link as a whole.

    Attributes:
        up: the store answers this process's probe.
        answered_at: the probe's last answer; None before the first one.
        since: when the present state began.
        sources: the watched slots, by name.
    """

    up: bool
    answered_at: datetime | None
    since: datetime | None
    sources: tuple[Source, ...] = ()
