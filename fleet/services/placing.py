"""Which seats no live node may hold: judged from what nodes said of themselves.

A node that did not say its roles or labels might fit; a seat that only such a node could hold is
neither placeable nor unplaceable, so it is counted apart. Source: fleet placement, "the selector is
never widened".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from company.document import Placement, Seat
from fleet.services.index import NodeEntry

SEATS_ROLE: Final = "seats"


class Fit(StrEnum):
    """Whether some live node may hold a seat."""

    YES = "yes"
    NO = "no"
    UNSAID = "unsaid"  # only a node that did not describe itself might


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """The verdict for each agent seat.

    Attributes:
        fits: by handle.
        unplaceable: the seats no node may hold, in the order given.
        unsaid: the nodes that did not say enough to be judged, sorted.
    """

    fits: Mapping[str, Fit]
    unplaceable: tuple[Seat, ...]
    unsaid: tuple[str, ...]


def judge_placing(seats: Iterable[Seat], nodes: Iterable[NodeEntry]) -> Placing:
    """Judge every agent seat against the live nodes, once for each distinct placement."""
    live = tuple(nodes)
    verdicts: dict[str, Fit] = {}
    fits: dict[str, Fit] = {}
    unplaceable: list[Seat] = []
    for seat in seats:
        words = seat.placement.words()
        if words not in verdicts:
            verdicts[words] = judge_fit(seat.placement, live)
        fits[seat.handle] = verdicts[words]
        if verdicts[words] is Fit.NO:
            unplaceable.append(seat)
    unsaid = tuple(
        entry.node for entry in live if entry.report.roles is None or entry.report.labels is None
    )
    return Placing(fits=fits, unplaceable=tuple(unplaceable), unsaid=unsaid)


def judge_fit(placement: Placement, nodes: Iterable[NodeEntry]) -> Fit:
    """Whether one placement has a node."""
    worst = Fit.NO
    for entry in nodes:
        fit = _fit(placement, entry)
        if fit is Fit.YES:
            return Fit.YES
        if fit is Fit.UNSAID:
            worst = Fit.UNSAID
    return worst


def eligible_nodes(placement: Placement, nodes: Iterable[NodeEntry]) -> int:
    """How many nodes said enough to be known to qualify."""
    return sum(_fit(placement, entry) is Fit.YES for entry in nodes)


def _fit(placement: Placement, entry: NodeEntry) -> Fit:
    report = entry.report
    if placement.node is not None and placement.node != entry.node:
        return Fit.NO
    if report.roles is not None and SEATS_ROLE not in report.roles:
        return Fit.NO
    if report.labels is not None and not placement.admits(entry.node, report.labels):
        return Fit.NO
    if report.roles is None or (report.labels is None and placement.labels):
        return Fit.UNSAID
    return Fit.YES
