"""Placement: which seats a node gives back and which it claims, from what everybody can see.

Seats are grouped by their selector. A group's share is its size over the nodes that may hold it,
rounded up; a node's capacity is the sum over the groups it may hold. Every node judges for itself
from the same listings, and the lease decides where two judge alike.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from company.document import Placement

RELEASE_MOST: Final = 2  # seats over capacity given back in one sweep
REBALANCE_MOST: Final = 4  # released seats of others claimed in one sweep

type Selector = tuple[str | None, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A live node as its presence describes it."""

    node: str
    labels: Mapping[str, str] = field(default_factory=dict)
    holds_seats: bool = True  # has the role, and is not draining


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatView:
    """A seat of the applied revision."""

    handle: str
    placement: Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a node sees at a sweep.

    Attributes:
        me: this node's id.
        nodes: every live node, this one included.
        seats: the agent seats of the applied revision.
        mine: handles this process holds.
        taken: handles somebody else holds.
        hinted: handles whose placement hint is this node.
        released: free handles that were given back, as opposed to lapsed or never held.
    """

    me: str
    nodes: tuple[NodeView, ...]
    seats: tuple[SeatView, ...]
    mine: Set[str] = frozenset()
    taken: Set[str] = frozenset()
    hinted: Set[str] = frozenset()
    released: Set[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One sweep's work.

    Attributes:
        release: handles to give back, sorted.
        claim: handles to claim, in this order.
        unplaceable: handles no live node may hold, sorted.
        capacity: how many seats this node should hold at most.
    """

    release: tuple[str, ...] = ()
    claim: tuple[str, ...] = ()
    unplaceable: tuple[str, ...] = ()
    capacity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    handles: tuple[str, ...]
    eligible: frozenset[str]

    @property
    def share(self) -> int:
        return -(-len(self.handles) // len(self.eligible)) if self.eligible else 0


def plan_sweep(scene: Scene) -> Plan:
    """Judge one sweep. Pure: the same scene gives the same plan."""
    groups = _cut_groups(scene)
    capacity = sum(group.share for group in groups if scene.me in group.eligible)
    fitting = {h for group in groups if scene.me in group.eligible for h in group.handles}
    strays = scene.mine - fitting
    kept = scene.mine & fitting
    wanted = _plan_claims(scene, groups)
    # A group over its share must not keep seats waiting that nobody else may hold.
    surplus = max(0, len(kept) + len(wanted) - capacity)
    return Plan(
        release=tuple(sorted(strays | set(_plan_surplus(scene, groups, surplus)))),
        claim=wanted[: max(0, capacity - len(kept))],
        unplaceable=tuple(sorted(h for g in groups if not g.eligible for h in g.handles)),
        capacity=capacity,
    )


def _cut_groups(scene: Scene) -> tuple[_Group, ...]:
    by_selector: dict[Selector, list[SeatView]] = {}
    for seat in scene.seats:
        by_selector.setdefault(_selector_of(seat.placement), []).append(seat)
    return tuple(
        _Group(
            handles=tuple(sorted(seat.handle for seat in seats)),
            eligible=frozenset(
                node.node
                for node in scene.nodes
                if node.holds_seats and seats[0].placement.admits(node.node, node.labels)
            ),
        )
        for seats in by_selector.values()
    )


def _selector_of(placement: Placement) -> Selector:
    return placement.node, tuple(sorted(placement.labels.items()))


def _plan_surplus(scene: Scene, groups: Iterable[_Group], surplus: int) -> list[str]:
    """Seats to give back: from the groups most over their share, those hinted elsewhere first."""
    given: list[str] = []
    held = {group: sorted(scene.mine & set(group.handles)) for group in groups}
    for _ in range(min(surplus, RELEASE_MOST)):
        fullest = max(held, key=lambda group: (len(held[group]) - group.share, group.handles))
        if len(held[fullest]) <= fullest.share:
            break
        choice = min(held[fullest], key=lambda h: (h in scene.hinted, _rank(scene.me, h)))
        held[fullest].remove(choice)
        given.append(choice)
    return given


def _plan_claims(scene: Scene, groups: Iterable[_Group]) -> tuple[str, ...]:
    """Free seats that this node's share of their group has room for, in the order of claiming."""
    free = {
        handle: group
        for group in groups
        if scene.me in group.eligible
        for handle in group.handles
        if handle not in scene.mine and handle not in scene.taken
    }
    held = Counter({group: len(scene.mine & set(group.handles)) for group in set(free.values())})
    at_once: list[str] = []
    later: list[str] = []
    order = sorted(free, key=lambda h: (h not in scene.hinted, _rank(scene.me, h)))
    for handle in order:
        group = free[handle]
        if held[group] >= group.share:
            continue
        is_rebalancing = (
            handle in scene.released and handle not in scene.hinted and len(group.eligible) > 1
        )
        if is_rebalancing and len(later) >= REBALANCE_MOST:
            continue
        held[group] += 1
        (later if is_rebalancing else at_once).append(handle)
    return (*at_once, *later)


def _rank(node: str, handle: str) -> int:
    """A different order on each node, so that two nodes seldom reach for the same seat."""
    return zlib.crc32(f"{node}:{handle}".encode())
