"""Records into the shapes of the API. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from coordination.contract.leases import Lease
from coordination.contract.pauses import Pause
from coordination.rules.instants import Instant
from fleet import api_schemas as shapes
from fleet.pages.attention import unmanned_roles
from fleet.services.index import NodeEntry, node_of
from fleet.services.picture import Picture, Told
from fleet.services.standing import Standing, Word, standings_of

type Activity = Literal["stopped", "idle"]
type StoppedReason = Literal["paused", "unplaced", "unheld"]

_STOPPED: Final[Mapping[Word, StoppedReason]] = {
    Word.PAUSED: "paused",
    Word.UNPLACED: "unplaced",
    Word.UNHELD: "unheld",
}


def show_fleet(picture: Picture, duties: Told[tuple[Lease, ...]]) -> shapes.FleetOut:
    """The fleet of a picture whose every part is known."""
    standings = standings_of(picture)
    now = picture.store_now
    moments = [picture.presences.as_of, picture.seats.as_of, picture.statuses.as_of, duties.as_of]
    return shapes.FleetOut(
        nodes=[show_node(picture.index.nodes[node], now) for node in picture.live_nodes],
        seats=[show_held(lease, now) for lease in picture.index.seats.values()],
        duties=[
            shapes.DutyOut(
                duty=lease.resource.name,
                node=node_of(lease.owner),
                expires_in=_left(lease.expires_at, now),
            )
            for lease in duties.value or ()
        ],
        unplaceable=[
            shapes.UnplaceableOut(handle=seat.handle, placement=seat.placement.words())
            for seat in standings.placing.unplaceable
        ],
        unmanned_roles=list(unmanned_roles(picture)),
        this_node=picture.this_node,
        as_of=min(moment for moment in moments if moment is not None),
    )


def show_node(entry: NodeEntry, now: datetime) -> shapes.NodeOut:
    """One node."""
    report, config = entry.report, entry.config
    return shapes.NodeOut(
        id=entry.node,
        roles=list(report.roles) if report.roles is not None else None,
        broker=report.broker,
        labels=dict(report.labels) if report.labels is not None else None,
        owner=str(entry.lease.owner),
        protocol=entry.lease.protocol,
        seats=len(entry.seats),
        expires_in=_left(entry.lease.expires_at, now),
        in_flight=report.in_flight,
        draining=report.draining,
        posture=report.posture,
        started_at=report.started_at,
        config_epoch=int(config.epoch) if config is not None else None,
        config_status=config.status if config is not None else None,
        config_error=config.error if config is not None else None,
    )


def show_held(lease: Lease, now: datetime) -> shapes.HeldSeatOut:
    """One held seat."""
    return shapes.HeldSeatOut(
        handle=lease.resource.name,
        node=node_of(lease.owner),
        owner=str(lease.owner),
        epoch=int(lease.epoch),
        expires_in=_left(lease.expires_at, now),
        acquired_at=_text(lease.acquired_at),
    )


def show_seats(picture: Picture) -> shapes.SeatsOut:
    """Every seat of a picture whose pauses and holders are known."""
    moments = [picture.pauses.as_of, picture.seats.as_of, picture.presences.as_of]
    return shapes.SeatsOut(
        seats=[show_seat(standing, picture.store_now) for standing in standings_of(picture).all],
        as_of=min(moment for moment in moments if moment is not None),
    )


def show_seat(standing: Standing, now: datetime) -> shapes.SeatOut:
    """One seat."""
    seat, lease = standing.seat, standing.lease
    reason = _STOPPED.get(standing.word)
    idle: Activity | None = "idle" if standing.word is Word.IDLE else None
    return shapes.SeatOut(
        handle=standing.handle,
        name=seat.name if seat else None,
        role=seat.role if seat else None,
        kind=seat.kind.value if seat else "agent",
        activity="stopped" if reason else idle,
        stopped_reason=reason,
        node=standing.node or None,
        owner=str(lease.owner) if lease is not None else None,
        epoch=int(lease.epoch) if lease is not None else None,
        expires_in=_left(lease.expires_at, now) if lease is not None else None,
        acquired_at=_text(lease.acquired_at) if lease is not None else None,
        placement=(seat.placement.words() or None) if seat else None,
        paused=show_pause(standing.pause) if standing.pause is not None else None,
    )


def show_pause(pause: Pause) -> shapes.PauseOut:
    """One pause record."""
    return shapes.PauseOut(
        by=pause.by,
        seat=pause.seat or None,
        at=pause.at.text(),
        reason=pause.reason,
        stop_running=pause.stop_running,
        review_by=pause.review_by.text() if pause.review_by else None,
        version=int(pause.revision),
    )


def show_receipt(pause: Pause, *, changed: bool) -> shapes.ReceiptOut:
    """A standing pause as the answer to a request."""
    return shapes.ReceiptOut(
        handle=pause.handle,
        paused=True,
        changed=changed,
        paused_by=pause.by,
        paused_by_seat=pause.seat or None,
        paused_at=pause.at.text(),
        reason=pause.reason,
        stop_running=pause.stop_running,
        review_by=pause.review_by.text() if pause.review_by else None,
        version=int(pause.revision),
    )


def _text(at: Instant | None) -> str | None:
    return at.text() if at is not None else None


def _left(deadline: Instant, now: datetime) -> float:
    return round(max(0.0, (deadline.as_datetime() - now).total_seconds()), 3)
