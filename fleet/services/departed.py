"""Nodes that left, as values, and the judgement of who did. Pure."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime

from coordination.contract.leases import Lease


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A live node as it was last seen, and the most recent seats it held."""

    lease: Lease
    seats: int


def judge_departures(
    before: Mapping[str, Seen], after: Container[str], now: datetime
) -> tuple[Departed, ...]:
    """Who was live before and is not now.

    Args:
        before: the nodes of an earlier answer.
        after: those of the present one; a node that came back as another process has not left.
        now: the moment of the present one.
    """
    gone = []
    for node, seen in before.items():
        if node in after:
            continue
        lease = seen.lease
        expires_at = lease.expires_at.as_datetime()
        has_lapsed = expires_at <= now
        gone.append(
            Departed(
                node=node,
                owner=str(lease.owner),
                seen_at=lease.renewed_at.as_datetime(),
                left_at=expires_at if has_lapsed else now,
                has_lapsed=has_lapsed,
                seats=seen.seats,
            )
        )
    return tuple(gone)
