"""Nodes that left, as values, and the judgement of who did. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fleet.services.index import NodeEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed:
    """A node whose presence ended.

    Attributes:
        node: its id.
        owner: the process incarnation that held the lease.
        seen_at: its last renewal.
        left_at: when the lease lapsed or was given back.
        has_lapsed: it lapsed; otherwise it was released.
        seats: how many seats it held when last seen.
    """

    node: str
    owner: str
    seen_at: datetime
    left_at: datetime
    has_lapsed: bool
    seats: int


def judge_departures(
    before: Mapping[str, NodeEntry], after: Mapping[str, NodeEntry], now: datetime
) -> tuple[Departed, ...]:
    """Who was live before and is not now.

    Args:
        before: the nodes of an earlier answer.
        after: those of the present one; a node that came back as another process has not left.
        now: the moment of the present one.
    """
    gone = []
    for node, entry in before.items():
        if node in after:
            continue
        has_lapsed = entry.expires_at <= now
        gone.append(
            Departed(
                node=node,
                owner=str(entry.lease.owner),
                seen_at=entry.renewed_at,
                left_at=entry.expires_at if has_lapsed else now,
                has_lapsed=has_lapsed,
                seats=len(entry.seats),
            )
        )
    return tuple(gone)
