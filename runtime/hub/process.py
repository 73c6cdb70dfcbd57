"""This process's one hub, started by its first reader. Safe on every thread."""

import asyncio
import threading
from datetime import timedelta

from django.conf import settings

from coordination.contract.answers import Absent
from coordination.contract.config import Activation
from coordination.contract.leases import Lease
from coordination.contract.pauses import Pause
from coordination.contract.status import ConfigStatus
from runtime import components, portal
from runtime.hub.following import RELIST_EVERY
from runtime.hub.hub import Hub
from runtime.hub.notices import Subscription
from runtime.link import Link, Source
from runtime.reading import Reading

_lock = threading.Lock()
_hub: Hub | None = None


def start() -> Hub:
    """The running hub; a web process calls it early so that its first page has something to show.

    `settings.HUB_RELIST_SECONDS` is the span between two certified listings of a topic.
    """
    global _hub
    if _hub is not None:
        return _hub
    with _lock:
        if _hub is None:
            seconds = getattr(settings, "HUB_RELIST_SECONDS", RELIST_EVERY.total_seconds())
            made = Hub(components.store, relist_every=timedelta(seconds=seconds))
            portal.spawn(made.run, name="hub", restart=True)
            _hub = made
        return _hub


def presences() -> Reading[tuple[Lease, ...]]:
    """Live presence leases, sorted by node id."""
    return _ready().nodes.reading()


def seats() -> Reading[tuple[Lease, ...]]:
    """Live seat leases, sorted by handle."""
    return _ready().seats.reading()


def pauses() -> Reading[tuple[Pause, ...]]:
    """Seat pauses, sorted by handle."""
    return _ready().pauses.reading()


def activation() -> Reading[Activation | Absent]:
    """The configuration pointer."""
    return _ready().activation()


def statuses() -> Reading[tuple[ConfigStatus, ...]]:
    """What each node applied, sorted by node id."""
    return _ready().statuses.reading()


def duties() -> Reading[tuple[Lease, ...]]:
    """Live duty leases, sorted by the duty's name."""
    return _ready().duties.reading()


def link() -> Link:
    """How this process stands with the store."""
    return _ready().link()


def freshness(topic: str) -> Source:
    """Whether one topic's projection is the present answer, and when its watch was last heard."""
    return _ready().freshness(topic)


def subscribe() -> Subscription:
    """Notices of every topic from now on, on the caller's running loop."""
    return start().subscribe()


def _ready() -> Hub:
    hub = start()
    if not hub.has_answered and not _runs_a_loop():
        hub.wait_for_answers()
    return hub


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _forget() -> None:
    global _hub, _lock
    _hub, _lock = None, threading.Lock()


portal.on_reset(_forget)
