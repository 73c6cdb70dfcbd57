"""The node process: signals on the main thread, everything else on the loop."""

import asyncio
import logging
import os
import signal
import threading
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Final

from django.conf import settings
from django.db import connections

from company import services
from company.document import Company
from company.following import apply_target
from coordination.contract.store import Store
from coordination.errors import ConfigurationMismatch, Unavailable
from fleet.node.node import Node
from fleet.node.profile import Profile
from fleet.node.watchdog import Watchdog
from runtime import components, identity, ping, portal

STORE_AGAIN: Final = 0.5  # seconds between attempts to open the store
EXIT_FAILED: Final = 1
EXIT_AT_ONCE: Final = 130  # a second signal: no more drain
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger("crewlet.node")


class NodeProcess:
    """One run of the process, from the first attempt at the store to the end of the drain."""

    def __init__(self) -> None:
        self._stopping = threading.Event()  # a signal came, or the work ended by itself
        self._asked_to_stop = False
        self._node: Node | None = None
        self._watchdog: Watchdog | None = None
        self._failure = ""

    def run(self) -> int:
        """Work until a signal; the exit code."""
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)
        ping.serve(settings.PING_SOCKET, self._is_ready)
        portal.spawn(self._work, name="node")
        while not self._stopping.wait(1):
            pass
        if self._watchdog is not None:
            self._watchdog.disarm()
        if self._node is not None and self._asked_to_stop:
            portal.run(self._node.drain, deadline=settings.LEASE_TTL)
        portal.close()
        if self._failure:
            _log.error("node_ended why=%r", self._failure)
        return 0 if self._asked_to_stop else EXIT_FAILED

    def _is_ready(self) -> bool:
        """From the first held presence on."""
        return self._node is not None and self._node.presence.held.is_set()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked_to_stop:
            os._exit(EXIT_AT_ONCE)
        self._asked_to_stop = True
        self._stopping.set()

    async def _work(self) -> None:
        try:
            store = await _open_store()
            profile = profile_of_settings(store)
            owner = identity.owner_of(settings.NODE_ID, "node")
            self._node = Node(store, profile, owner, apply=apply_target, current=_current)
            self._watchdog = Watchdog(profile.ttl)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watchdog.run())
                group.create_task(self._node.run())
        except ConfigurationMismatch as mismatch:
            self._failure = str(mismatch)
        finally:
            self._stopping.set()


def profile_of_settings(store: Store) -> Profile:
    """This node as settings and the broker's own TTL have it."""
    return Profile(
        node=settings.NODE_ID,
        roles=tuple(settings.NODE_ROLES),
        labels=settings.NODE_LABELS,
        broker=settings.BROKER_KIND,
        started_at=datetime.now(UTC),
        ttl=ttl_of(settings.LEASE_TTL, store),
        is_local=settings.COORDINATION_TYPE == "local",
        declared={
            "build": settings.BUILD,
            "lease_ttl_seconds": settings.LEASE_TTL.total_seconds(),
            "replicas": _replicas(),
            "coordination": settings.COORDINATION_TYPE,
        },
    )


def _replicas() -> int:
    options = settings.COORDINATION["OPTIONS"]
    return int(options["replicas"]) if isinstance(options, dict) and "replicas" in options else 1


def ttl_of(asked: timedelta, store: Store) -> timedelta:
    """What this node asked for, at most what the lease bucket in force can keep."""
    in_force = store.leases.ttl_in_force
    if in_force != asked:
        _log.warning("lease_ttl_differs asked=%s in_force=%s", asked, in_force)
    return min(asked, in_force)


async def _open_store() -> Store:
    while True:
        try:
            return await components.store()
        except Unavailable as unknown:
            _log.warning("node_waits_for_store error=%s", unknown)
            await asyncio.sleep(STORE_AGAIN)


async def _current() -> Company | None:
    def read() -> Company | None:
        try:
            return services.current()
        finally:
            connections.close_all()

    return await asyncio.to_thread(read)
