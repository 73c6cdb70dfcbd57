"""Holding the lease of a duty while it runs; on the loop thread.

A duty is claimed at a tick and keeps its lease between ticks, so a holder that dies is replaced
after the TTL. Its last outcome rides the lease's meta, which a release keeps.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Self

from django.conf import settings

from coordination.contract.answers import Owner, Refused
from coordination.contract.leases import Lease
from coordination.contract.store import Store
from coordination.policies import (
    KeepRunning,
    Run,
    Shed,
    StandBy,
    acquire_or_stand_by,
    release_or_let_lapse,
    renew_or_hold,
)
from coordination.rules.keys import Resource, ResourceClass
from runtime import components, identity, portal

WORKER = ResourceClass.parse("worker")
HEARTBEATS_A_TTL = 3
RELEASE_WITHIN = 3.0  # seconds all releases at shutdown take together

_log = logging.getLogger("crewlet.duties")


class Tenure:
    """One hold of one duty. `is_held` may be read from any thread."""

    def __init__(self, lease: Lease, ttl: timedelta, asked: float) -> None:
        self.lease = lease
        self.ttl = ttl
        self._until = asked + ttl.total_seconds()
        self._is_lost = False
        self.renewing: asyncio.Task[None] | None = None

    @property
    def is_held(self) -> bool:
        """Whether nobody else can be running it: renewed within the TTL and not lost."""
        return not self._is_lost and time.monotonic() < self._until

    def extend(self, lease: Lease, asked: float) -> None:
        """The lease was renewed by a request sent at `asked` (monotonic)."""
        self.lease, self._until = lease, asked + self.ttl.total_seconds()

    def lose(self) -> None:
        """It is somebody else's, or may be."""
        self._is_lost = True


class DutyRunner:
    """The duties of one process.

    Args:
        store: the process's store.
        owner: this process incarnation.
        is_local: no peer can exist, so leases of earlier incarnations are released at the start.
    """

    def __init__(
        self, store: Callable[[], Awaitable[Store]], *, owner: Owner, is_local: bool
    ) -> None:
        self._store = store
        self._owner = owner
        self._must_clear = is_local
        self._is_registered = False
        self._held: dict[Resource, Lease] = {}

    @classmethod
    def of_settings(cls) -> Self:
        """The one of this process."""
        return cls(
            components.store,
            owner=identity.owner_of(settings.NODE_ID, settings.PROCESS_NAME),
            is_local=settings.COORDINATION_TYPE == "local",
        )

    async def begin(self, name: str, ttl: timedelta) -> Tenure | None:
        """Claim a duty and keep renewing it; None when a peer has it or nobody could be asked."""
        store = await self._store()
        await self._prepare(store)
        resource = Resource((WORKER.name, name))
        asked = time.monotonic()
        claim = store.leases.acquire(resource, owner=self._owner, ttl=ttl, gated=False)
        match await acquire_or_stand_by(claim):
            case Run(lease=lease):
                tenure = Tenure(lease, ttl, asked)
                self._held[resource] = lease
                tenure.renewing = asyncio.create_task(self._renew(store, tenure))
                return tenure
            case StandBy(because=Refused()):
                return None
            case StandBy(because=why):
                _log.warning("duty_claim_failed duty=%s error=%s", name, why)
                return None

    async def end(
        self,
        tenure: Tenure,
        *,
        outcome: str,
        said: Mapping[str, object],
        took: timedelta,
        cadence: timedelta,
    ) -> None:
        """Stop renewing and note the outcome on the lease, which stays held until it lapses."""
        if tenure.renewing is not None:
            tenure.renewing.cancel()
            await asyncio.wait((tenure.renewing,))
        if not tenure.is_held:
            self._held.pop(tenure.lease.resource, None)
            return
        now = datetime.now(UTC)
        last = {
            "at": _text(now),
            "outcome": outcome,
            "took_ms": round(took / timedelta(milliseconds=1)),
            "said": dict(said),
        }
        store = await self._store()
        claim = store.leases.acquire(
            tenure.lease.resource,
            owner=self._owner,
            ttl=tenure.ttl,
            meta={"last": last, "next_due": _text(now + cadence)},
            gated=False,
        )
        match await acquire_or_stand_by(claim):
            case Run(lease=lease):
                self._held[lease.resource] = lease
            case StandBy(because=why):
                _log.warning("duty_outcome_unwritten resource=%s why=%s", lease_name(tenure), why)

    async def release(self) -> None:
        """Give back what is held, within one short allowance; the rest lapses by itself."""
        held, self._held = tuple(self._held.values()), {}
        if not held:
            return
        store = await self._store()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_WITHIN):
                for lease in held:
                    answer = await release_or_let_lapse(store.leases, lease)
                    _log.info("duty_given_back resource=%s answer=%s", lease.resource, answer)

    async def _prepare(self, store: Store) -> None:
        if self._must_clear:
            await identity.release_earlier(store, self._owner, WORKER)
            self._must_clear = False
        if not self._is_registered:
            self._is_registered = True
            portal.on_close(self.release)

    async def _renew(self, store: Store, tenure: Tenure) -> None:
        while tenure.is_held:
            await asyncio.sleep(tenure.ttl.total_seconds() / HEARTBEATS_A_TTL)
            asked = time.monotonic()
            match await renew_or_hold(store.leases, tenure.lease, ttl=tenure.ttl):
                case KeepRunning(lease=lease, unknown=None):
                    tenure.extend(lease, asked)
                    self._held[lease.resource] = lease
                case KeepRunning(unknown=why):
                    _log.warning("duty_renewal_unknown resource=%s why=%s", lease_name(tenure), why)
                case Shed(because=because):
                    _log.warning("duty_lost resource=%s because=%s", lease_name(tenure), because)
                    tenure.lose()


def lease_name(tenure: Tenure) -> str:
    """The duty's resource, for logs."""
    return str(tenure.lease.resource)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
