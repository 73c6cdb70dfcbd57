"""Remembering who left: a small watcher of the hub's membership, one a web process.

A presence that ended is gone from the store, so whoever wants to name it later must have seen it.
The rows are this dashboard's own; another one may have seen more or less.
"""

import logging
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import DatabaseError, close_old_connections

from coordination.contract.leases import Lease
from fleet.models import LeftNode
from fleet.services.departed import Departed, Seen, judge_departures
from runtime import hub
from runtime.reading import Known

LOOKS_EVERY: Final = timedelta(seconds=2)
REMEMBERED: Final = timedelta(days=30)
SHOWN: Final = timedelta(hours=24)

_log = logging.getLogger("crewlet.fleet")


class Recorder:
    """A daemon thread that compares each certified membership with the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._seen: dict[str, Seen] = {}

    def ensure_started(self) -> None:
        """Start it with the first page; a forked child starts its own."""
        if self._thread is not None and self._thread.is_alive():
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop.clear()
                self._thread = threading.Thread(
                    target=self._follow, name="crewlet-left-nodes", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=LOOKS_EVERY.total_seconds() * 2)
            self._thread = None

    def _follow(self) -> None:
        while not self._stop.wait(LOOKS_EVERY.total_seconds()):
            try:
                self.look(datetime.now(UTC))
            except DatabaseError as fault:
                _log.warning("left_node_unrecorded error=%s", fault)
            finally:
                close_old_connections()

    def look(self, now: datetime) -> tuple[Departed, ...]:
        """Compare once; a membership that could not be listed says nothing about anybody."""
        presences, seats = hub.presences(), hub.seats()
        if not isinstance(presences, Known) or not isinstance(seats, Known):
            return ()
        held = Counter(str(lease.owner) for lease in seats.value)
        live = {lease.resource.name: lease for lease in presences.value}
        gone = judge_departures(self._seen, live, now)
        self._seen = {
            node: _remember(lease, held[str(lease.owner)], self._seen.get(node))
            for node, lease in live.items()
        }
        for departed in gone:
            remember(departed)
        return gone


def _remember(lease: Lease, seats: int, before: Seen | None) -> Seen:
    """With the seats it last held: a draining node gives them back before it goes."""
    if not seats and before is not None and before.lease.owner == lease.owner:
        seats = before.seats
    return Seen(lease=lease, seats=seats)


def remember(departed: Departed) -> None:
    """Keep one row a tenure, and drop those past their time."""
    LeftNode.objects.update_or_create(
        owner=departed.owner,
        defaults={
            "node": departed.node,
            "seen_at": departed.seen_at,
            "left_at": departed.left_at,
            "has_lapsed": departed.has_lapsed,
            "seats": departed.seats,
        },
    )
    LeftNode.objects.filter(left_at__lt=departed.left_at - REMEMBERED).delete()


def recent(now: datetime) -> tuple[Departed, ...]:
    """Who left in the last day, newest first."""
    rows = LeftNode.objects.filter(left_at__gte=now - SHOWN).order_by("-left_at", "node")
    return tuple(_departed(row) for row in rows)


def last_seen(node: str) -> Departed | None:
    """When this dashboard last saw a node go; None when it never did."""
    row = LeftNode.objects.filter(node=node).order_by("-left_at").first()
    return _departed(row) if row else None


def _departed(row: LeftNode) -> Departed:
    return Departed(
        node=row.node,
        owner=row.owner,
        seen_at=row.seen_at,
        left_at=row.left_at,
        has_lapsed=row.has_lapsed,
        seats=row.seats,
    )


recorder: Final = Recorder()
