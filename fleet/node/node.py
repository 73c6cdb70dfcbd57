"""A node: presence, seats, pauses and the company's revision, as one set of tasks on the loop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from company.document import Company
from company.following import Outcome
from coordination.contract.answers import Owner
from coordination.contract.store import Store
from coordination.errors import Unavailable
from coordination.rules.keys import ResourceClass
from fleet.node.holds import PauseHolds
from fleet.node.keeper import SeatKeeper
from fleet.node.presence import Presence
from fleet.node.profile import Profile
from fleet.node.revision import RevisionFollower
from fleet.node.sweeper import Sweeper
from runtime import identity
from runtime.hub import Notice, topics
from runtime.hub.hub import Hub

_NODE = ResourceClass.parse("node")
_SEAT = ResourceClass.parse("seat")
_FOLLOWED = (topics.NODES, topics.SEATS, topics.PAUSES, topics.ACTIVATION)
_RETRY = 1.0  # seconds between attempts at what has to be done once

_log = logging.getLogger("crewlet.node")


class Node:
    """The node process's work over one open store.

    Args:
        store: open.
        profile: this node's.
        owner: this process incarnation.
        apply: one tick of following the company's revision.
        current: the document in this node's own database.
    """

    def __init__(
        self,
        store: Store,
        profile: Profile,
        owner: Owner,
        *,
        apply: Callable[[Store], Awaitable[Outcome]],
        current: Callable[[], Awaitable[Company | None]],
    ) -> None:
        self._store, self._profile, self._owner = store, profile, owner
        self._draining = False
        self.hub = Hub(self._open, follow=_FOLLOWED)
        self.presence = Presence(store, profile, owner)
        self.keeper = SeatKeeper(store, profile, owner, dropped=lambda _: self.sweeper.wake())
        self.holds = PauseHolds(self.hub)
        self.sweeper = Sweeper(
            self.hub,
            self.keeper,
            profile,
            owner,
            company=lambda: self.revision.company,
            may_claim=self._may_claim,
        )
        self.revision = RevisionFollower(
            store, profile.node, apply=apply, current=current, changed=self.sweeper.wake
        )
        self._seats_work: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Work until cancelled."""
        await self._prepare()
        async with asyncio.TaskGroup() as group:
            loops = (
                self.hub.run,
                self.presence.run,
                self.keeper.run,
                self.revision.run,
                self._follow_notices,
                self._sweep,
            )
            for loop in loops:
                group.create_task(loop())

    async def drain(self) -> None:
        """Give back what is held, within one heartbeat altogether; what is left lapses.

        Claiming stops first: the sweep at work ends with the claims on their way.
        """
        self._draining = self.presence.draining = True
        try:
            async with asyncio.timeout(self._profile.heartbeat.total_seconds()):
                await self._stop_sweeping()
                await self.presence.beat()
                await self.keeper.release(tuple(self.keeper.held))
                await self.presence.release()
        except TimeoutError:
            _log.warning("drain_incomplete seats_left=%d", len(self.keeper.held))
        else:
            _log.info("drain_complete")

    async def _stop_sweeping(self) -> None:
        self.sweeper.stop()
        if self._seats_work is not None:
            await asyncio.wait((self._seats_work,))

    async def _open(self) -> Store:
        return self._store

    async def _prepare(self) -> None:
        """What has to happen once before anything is claimed, however long the store takes."""
        while True:
            try:
                if self._profile.is_local:
                    await identity.release_earlier(self._store, self._owner, _SEAT, _NODE)
                hinted = await self._store.leases.hints(_SEAT, self._profile.node)
            except Unavailable as unknown:
                _log.warning("node_waits_for_store error=%s", unknown)
                await asyncio.sleep(_RETRY)
            else:
                self.sweeper.prefer({resource.name for resource in hinted})
                return

    async def _sweep(self) -> None:
        if not self._profile.claims_seats:
            return
        await self.presence.held.wait()
        self._seats_work = asyncio.create_task(self.sweeper.run())
        try:
            await asyncio.wait((self._seats_work,))
        finally:
            self._seats_work.cancel()
        if not self._seats_work.cancelled():
            self._seats_work.result()

    async def _follow_notices(self) -> None:
        async with self.hub.subscribe() as notices:
            async for notice in notices:
                if not isinstance(notice, Notice):
                    self.sweeper.wake()
                    self.revision.wake()
                    self.holds.refresh()
                elif notice.topic == topics.PAUSES:
                    self.holds.refresh()
                elif notice.topic == topics.ACTIVATION:
                    self.revision.wake()
                elif notice.topic in (topics.SEATS, topics.NODES):
                    self._note_membership(notice)

    def _note_membership(self, notice: Notice) -> None:
        is_first = notice.rev == 1
        has_gone = bool(notice.left) or (notice.topic == topics.NODES and bool(notice.keys))
        if is_first or has_gone or not (notice.keys or notice.appeared):
            self.sweeper.wake()

    def _may_claim(self) -> bool:
        return self.presence.is_held and not self._draining
