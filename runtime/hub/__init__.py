"""Live projections of the store for this process: `hub.seats()`, `hub.subscribe()` and so on."""

from runtime.hub.notices import Notice, Resync, State, Subscription
from runtime.hub.process import (
    activation,
    duties,
    freshness,
    link,
    pauses,
    presences,
    seats,
    start,
    statuses,
    subscribe,
)
from runtime.link import Link, Source, SourceState

__all__ = [
    "Link",
    "Notice",
    "Resync",
    "Source",
    "SourceState",
    "State",
    "Subscription",
    "activation",
    "duties",
    "freshness",
    "link",
    "pauses",
    "presences",
    "seats",
    "start",
    "statuses",
    "subscribe",
]
