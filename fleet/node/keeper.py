"""The seats this process holds, and keeping them.

What must stay true: a renewal that could not be asked is not a loss, and is asked again soon. A
seat is let go when the leader says so, or when the TTL has really elapsed, by this machine's
monotonic clock, since the last renewal that was answered had been sent.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from coordination.contract.answers import Owner, Refused, RefusedReason
from coordination.contract.leases import Lease
from coordination.contract.store import Store
from coordination.errors import Unavailable
from coordination.policies import (
    KeepRunning,
    LeftToLapse,
    Run,
    Shed,
    StandBy,
    acquire_or_stand_by,
    release_or_let_lapse,
    renew_or_hold,
)
from coordination.rules.keys import Resource
from fleet.node.profile import Profile

TICK: Final = 0.25  # seconds between looks at what is due
IN_FLIGHT: Final = 64  # renewals or releases at a time
CLAIMS_IN_FLIGHT: Final = 16
RETRY: Final = timedelta(seconds=2)  # at most, after a renewal that was not answered
EARLY: Final = 0.8  # a renewal is due after this share of a heartbeat, to a whole one: spreads load

_log = logging.getLogger("crewlet.node")


@dataclass(slots=True)
class Held:
    """One tenure, in this machine's monotonic seconds."""

    lease: Lease
    until: float  # the TTL has elapsed
    due: float  # the next renewal
    is_unsure: bool = False  # the last renewal was not answered


class SeatKeeper:
    """Holds seats for one owner.

    Args:
        store: where the leases are.
        profile: this node's.
        owner: this process incarnation.
        dropped: called with the handle of each seat that was lost, once.
        monotonic: this machine's clock.
    """

    def __init__(
        self,
        store: Store,
        profile: Profile,
        owner: Owner,
        *,
        dropped: Callable[[str], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases = store.leases
        self._profile, self._owner = profile, owner
        self._ttl = profile.ttl.total_seconds()
        self._retry = min(RETRY, profile.ttl / 15).total_seconds()
        self._dropped = dropped
        self._monotonic = monotonic
        self._held: dict[str, Held] = {}
        self._unsure: dict[str, Unavailable] = {}  # became so in this round of renewals

    @property
    def held(self) -> Mapping[str, Held]:
        """Tenures by handle."""
        return self._held

    async def run(self) -> None:
        """Renew what is due, for ever."""
        while True:
            await self.renew_due()
            await asyncio.sleep(TICK)

    async def renew_due(self) -> None:
        """Renew what is due now and let go of what has lapsed."""
        now = self._monotonic()
        due = [handle for handle, held in self._held.items() if held.due <= now]
        self._unsure = {}
        await _in_turns(due, self._renew, IN_FLIGHT)
        if self._unsure:
            # One line an outage, not one a seat.
            why = next(iter(self._unsure.values()))
            _log.warning("seat_renewals_unanswered seats=%d why=%s", len(self._unsure), why)

    async def claim(self, handles: Iterable[str], *, may_go_on: Callable[[], bool]) -> None:
        """Claim seats in this order, several at a time.

        Stops at the first that could not be asked, at a gate that is shut, and when `may_go_on`
        says so; the next sweep goes on from there.
        """
        is_shut = False

        async def claim(handle: str) -> None:
            nonlocal is_shut
            if not is_shut and may_go_on():
                is_shut = not await self._claim(handle)

        await _in_turns(list(handles), claim, CLAIMS_IN_FLIGHT)

    async def release(self, handles: Iterable[str]) -> None:
        """Give seats back; one that could not be given back is renewed no more and lapses."""
        await _in_turns(list(handles), self._release, IN_FLIGHT)

    async def _claim(self, handle: str) -> bool:
        """Whether claiming may go on."""
        asked = self._monotonic()
        claim = self._leases.acquire(
            Resource(("seat", handle)),
            owner=self._owner,
            ttl=self._profile.ttl,
            hint=self._profile.node,
        )
        match await acquire_or_stand_by(claim):
            case Run(lease=lease):
                self._held[handle] = Held(lease, asked + self._ttl, self._next_due(asked))
                _log.info("seat_claimed handle=%s epoch=%d", handle, lease.epoch)
                return True
            case StandBy(because=Refused(because=RefusedReason.HELD)):
                return True
            case StandBy(because=Refused()):
                _log.warning("seat_claims_blocked_by_older_protocol handle=%s", handle)
                return False
            case StandBy(because=why):
                _log.warning("seat_claim_unanswered handle=%s why=%s", handle, why)
                return False

    async def _renew(self, handle: str) -> None:
        held = self._held.get(handle)
        if held is None:
            return
        asked = self._monotonic()
        if asked >= held.until:
            self._drop(handle, "ttl_elapsed")
            return
        match await renew_or_hold(self._leases, held.lease, ttl=self._profile.ttl):
            case KeepRunning(lease=lease, unknown=None):
                held.lease, held.until, held.due = lease, asked + self._ttl, self._next_due(asked)
                held.is_unsure = False
            case KeepRunning(unknown=Unavailable() as why):
                if not held.is_unsure:
                    held.is_unsure = True
                    self._unsure[handle] = why
                held.due = min(self._monotonic() + self._retry, held.until)
            case Shed(because=because):
                self._drop(handle, because)

    async def _release(self, handle: str) -> None:
        held = self._held.pop(handle, None)
        if held is None:
            return
        match await release_or_let_lapse(self._leases, held.lease):
            case LeftToLapse(because=why):
                _log.warning("seat_left_to_lapse handle=%s why=%s", handle, why)
            case _:
                _log.info("seat_released handle=%s epoch=%d", handle, held.lease.epoch)

    def _drop(self, handle: str, because: str) -> None:
        held = self._held.pop(handle, None)
        if held is not None:
            _log.warning("seat_lost handle=%s epoch=%d why=%s", handle, held.lease.epoch, because)
            self._dropped(handle)

    def _next_due(self, asked: float) -> float:
        heartbeat = self._profile.heartbeat.total_seconds()
        return asked + heartbeat * random.uniform(EARLY, 1)


async def _in_turns(
    handles: list[str], act: Callable[[str], Awaitable[None]], at_once: int
) -> None:
    """Do something for each handle, a bounded number at a time, in order of beginning."""
    left = iter(handles)

    async def work() -> None:
        for handle in left:
            await act(handle)

    workers = [asyncio.create_task(work()) for _ in range(min(at_once, len(handles)))]
    try:
        for worker in workers:
            await worker
    finally:
        for worker in workers:
            worker.cancel()
