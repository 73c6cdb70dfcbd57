"""The placement sweep: every five seconds, and at once when a holder or a node went away."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

from company.document import Company
from coordination.contract.answers import Owner
from coordination.contract.leases import Lease
from coordination.errors import Unavailable
from coordination.rules.instants import Instant
from fleet.node.keeper import SeatKeeper
from fleet.node.profile import Profile
from fleet.rules.placement import NodeView, Plan, Scene, SeatView, plan_sweep
from runtime.hub.hub import Hub
from runtime.reading import Known

EVERY: Final = 5.0  # seconds

_log = logging.getLogger("crewlet.node")


class Sweeper:
    """Judges what this node should hold, and has the keeper do it.

    Args:
        hub: what everybody sees.
        keeper: holds this node's seats.
        profile: this node's.
        owner: this process incarnation.
        company: the document in effect here; None before there is one.
        may_claim: whether this node may take on seats now.
    """

    def __init__(
        self,
        hub: Hub,
        keeper: SeatKeeper,
        profile: Profile,
        owner: Owner,
        *,
        company: Callable[[], Company | None],
        may_claim: Callable[[], bool],
    ) -> None:
        self._hub, self._keeper, self._profile, self._owner = hub, keeper, profile, owner
        self._company, self._may_claim = company, may_claim
        self._woken = asyncio.Event()
        self._is_stopping = False
        self._hinted: set[str] = set()
        self._last_seen: dict[str, Lease] = {}
        self._released: set[str] = set()
        self._unplaceable: tuple[str, ...] = ()

    def wake(self) -> None:
        """Sweep soon instead of at the next five seconds."""
        self._woken.set()

    def prefer(self, handles: set[str]) -> None:
        """Seats this node held before, to be claimed first."""
        self._hinted |= handles

    def stop(self) -> None:
        """Let `run` end once the sweep it is at has ended."""
        self._is_stopping = True
        self.wake()

    async def run(self) -> None:
        """Sweep until stopped."""
        while not self._is_stopping:
            try:
                await self.sweep()
            except Unavailable as unknown:
                _log.warning("sweep_unanswered error=%s", unknown)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._woken.wait()
            self._woken.clear()

    async def sweep(self) -> None:
        """One sweep; nothing is judged from a membership that could not be listed."""
        scene = self._look()
        if scene is None:
            return
        plan = plan_sweep(scene)
        self._note_unplaceable(plan)
        await self._keeper.release(plan.release)
        self._hinted |= set(plan.claim)
        await self._keeper.claim(plan.claim, may_go_on=self._may_claim)

    def _look(self) -> Scene | None:
        company = self._company()
        nodes, seats = self._hub.nodes.reading(), self._hub.seats.reading()
        if company is None or not isinstance(nodes, Known) or not isinstance(seats, Known):
            return None
        others = {lease.resource.name: lease for lease in seats.value if lease.owner != self._owner}
        self._note_released(others, self._hub.probe.now())
        self._hinted -= {h for h, lease in others.items() if lease.hint != self._profile.node}
        return Scene(
            me=self._profile.node,
            nodes=self._views(nodes.value),
            seats=tuple(
                SeatView(handle=seat.handle, placement=seat.placement) for seat in company.agents
            ),
            mine=self._keeper.held.keys(),
            taken=others.keys(),
            hinted=self._hinted,
            released=self._released - others.keys(),
        )

    def _views(self, presences: tuple[Lease, ...]) -> tuple[NodeView, ...]:
        """Every live node; this one as it is set up, whatever its presence says by now."""
        me = self._profile.node
        mine = NodeView(
            node=me, labels=self._profile.labels, holds_seats=self._profile.claims_seats
        )
        rest = (view_of(lease) for lease in presences if lease.resource.name != me)
        return (mine, *rest)

    def _note_released(self, others: dict[str, Lease], now: Instant | None) -> None:
        """Tell seats that were given back from those whose holder lapsed."""
        for handle in self._last_seen.keys() - others.keys():
            if now is not None and self._last_seen[handle].expires_at > now:
                self._released.add(handle)
            else:
                self._released.discard(handle)
        self._released -= others.keys()
        self._last_seen = others

    def _note_unplaceable(self, plan: Plan) -> None:
        if plan.unplaceable != self._unplaceable:
            self._unplaceable = plan.unplaceable
            if plan.unplaceable:
                _log.warning("seats_unplaceable handles=%s", ",".join(plan.unplaceable))


def view_of(presence: Lease) -> NodeView:
    """A peer from its presence; one that does not say is taken for a holder of seats."""
    roles, labels = presence.meta.get("roles"), presence.meta.get("labels")
    status = presence.meta.get("status")
    is_draining = isinstance(status, dict) and status.get("draining") is True
    has_role = not isinstance(roles, list) or "seats" in roles
    return NodeView(
        node=presence.resource.name,
        labels=labels if isinstance(labels, dict) else {},
        holds_seats=has_role and not is_draining,
    )
