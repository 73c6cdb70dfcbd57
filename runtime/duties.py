"""The registry of singleton duties, and one tick of one duty.

A duty is run by whichever node's worker holds the lease `worker:<name>` at its tick. An app
registers its duties when it is ready; Celery's schedule and the pages are built from the registry.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings

from coordination.errors import Unavailable
from runtime import portal
from runtime.duty_runner import DutyRunner, Tenure

TICK_DEADLINE: Final = timedelta(seconds=10)  # for a claim, and for noting the outcome

_log = logging.getLogger("crewlet.duties")


class DutyLost(Exception):
    """The lease is gone: stop before the next effect."""


@dataclass(frozen=True, slots=True)
class DutyRun:
    """What a running duty is handed."""

    tenure: Tenure

    def check(self) -> None:
        """Call it before every effect.

        Raises:
            DutyLost: somebody else may be running this duty by now.
        """
        if not self.tenure.is_held:
            msg = "the lease of this duty was lost while it ran"
            raise DutyLost(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """One singleton job.

    Attributes:
        name: of its lease, under `worker:`.
        cadence: span between ticks.
        ttl: of its lease; about three ticks, at most three hours.
        run: does one pass in a thread and says in a few figures what it found.
    """

    name: str
    cadence: timedelta
    ttl: timedelta
    run: Callable[[DutyRun], Mapping[str, object]]


_registry: dict[str, Duty] = {}
_locks: dict[str, threading.Lock] = {}
_runner: DutyRunner | None = None


def register(duty: Duty) -> None:
    """Add a duty to this process's registry.

    Raises:
        ValueError: another duty has this name.
    """
    if _registry.setdefault(duty.name, duty) != duty:
        msg = f"two duties are called {duty.name}"
        raise ValueError(msg)
    _locks.setdefault(duty.name, threading.Lock())


def registered() -> tuple[Duty, ...]:
    """Every duty, by name."""
    return tuple(_registry[name] for name in sorted(_registry))


def run(name: str) -> None:
    """One tick, in a worker thread: run the duty if this process wins or holds its lease.

    Raises:
        KeyError: there is no such duty.
    """
    duty = _registry[name]
    if "workers" not in settings.NODE_ROLES:
        return
    if not _locks[name].acquire(blocking=False):
        _log.info("duty_busy duty=%s", name)
        return
    try:
        _tick(duty)
    except Unavailable as unknown:
        _log.warning("duty_unanswered duty=%s error=%s", name, unknown)
    except DutyLost as lost:
        _log.warning("duty_lost duty=%s error=%s", name, lost)
    finally:
        _locks[name].release()


def _tick(duty: Duty) -> None:
    runner = _current_runner()
    tenure = portal.run(runner.begin, duty.name, duty.ttl, deadline=TICK_DEADLINE)
    if tenure is None:
        return
    began, outcome = time.monotonic(), "failed"
    said: Mapping[str, object] = {}
    try:
        said = duty.run(DutyRun(tenure))
        outcome = "ok"
    finally:
        took = timedelta(seconds=time.monotonic() - began)
        portal.run(
            runner.end,
            tenure,
            outcome=outcome,
            said=said,
            took=took,
            cadence=duty.cadence,
            deadline=TICK_DEADLINE,
        )


def _current_runner() -> DutyRunner:
    global _runner
    if _runner is None:
        _runner = DutyRunner.of_settings()
    return _runner


def _forget() -> None:
    global _runner
    _runner = None


portal.on_reset(_forget)
