"""The lease that says this node is alive, taken anew with its status at every heartbeat."""

import asyncio
import logging
import time
from typing import Final

from coordination.contract.answers import Owner, Refused
from coordination.contract.leases import Lease
from coordination.contract.store import Store
from coordination.policies import Run, StandBy, acquire_or_stand_by, release_or_let_lapse
from coordination.rules.keys import Resource
from fleet.node.profile import Profile

AGAIN: Final = 1.0  # seconds after a heartbeat that was refused or not answered

_log = logging.getLogger("crewlet.node")


class Presence:
    """This node's presence. `is_held` is judged by this machine's monotonic clock."""

    def __init__(self, store: Store, profile: Profile, owner: Owner) -> None:
        self._store, self._profile, self._owner = store, profile, owner
        self._lease: Lease | None = None
        self._until = 0.0
        self._refusal = ""
        self._turn = asyncio.Lock()  # a beat on its way must not land after the release
        self._has_left = False
        self.draining = False
        self.held = asyncio.Event()  # set by the first heartbeat that was granted

    @property
    def is_held(self) -> bool:
        """Whether it was granted and the TTL has not elapsed since the last grant was asked for."""
        return self._lease is not None and time.monotonic() < self._until

    async def run(self) -> None:
        """Beat for ever."""
        while True:
            is_granted = await self.beat()
            heartbeat = self._profile.heartbeat.total_seconds()
            await asyncio.sleep(heartbeat if is_granted else min(AGAIN, heartbeat))

    async def beat(self) -> bool:
        """One heartbeat; whether it was granted."""
        async with self._turn:
            return not self._has_left and await self._beat()

    async def release(self) -> None:
        """Leave the fleet at once instead of lapsing; no beat follows."""
        self._has_left = True
        async with self._turn:
            if self._lease is not None:
                await release_or_let_lapse(self._store.leases, self._lease)
                self._lease = None

    async def _beat(self) -> bool:
        asked = time.monotonic()
        claim = self._store.leases.acquire(
            Resource(("node", self._profile.node)),
            owner=self._owner,
            ttl=self._profile.ttl,
            hint=self._profile.node,
            meta=self._profile.presence_meta(draining=self.draining),
            gated=False,
        )
        match await acquire_or_stand_by(claim):
            case Run(lease=lease):
                if self._lease is None or self._lease.epoch != lease.epoch:
                    _log.info("presence_held epoch=%d owner=%s", lease.epoch, lease.owner)
                self._lease, self._refusal = lease, ""
                self._until = asked + self._profile.ttl.total_seconds()
                self.held.set()
                return True
            case StandBy(because=why):
                self._note_refusal(why)
                return False

    def _note_refusal(self, why: Refused | Exception) -> None:
        said = (
            "another process of this node's id is alive" if isinstance(why, Refused) else str(why)
        )
        if said != self._refusal:
            self._refusal = said
            _log.warning("presence_not_held why=%r", said)
