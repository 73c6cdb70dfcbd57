"""Pictures of a fleet, made by hand: every state a page can meet, without a store."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from company.document import Company, Placement, Seat, SeatKind
from coordination.contract.answers import Absent, Epoch, NodeId, Owner, Revision
from coordination.contract.config import Activation
from coordination.contract.leases import Lease
from coordination.contract.pauses import Pause
from coordination.contract.status import ConfigStatus
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource
from fleet.services.picture import Picture, Told
from runtime.link import Link

NOW = datetime(2026, 9, 23, 12, 5, tzinfo=UTC)
TTL = timedelta(seconds=45)
ACTIVE = Activation(revision_id="r-41", epoch=Epoch(41), at=Instant.of(NOW - timedelta(days=1)))
FELL_SILENT = NOW + timedelta(seconds=15)
ALL_ROLES = ("data", "ingress", "seats", "workers")


def said(
    roles: tuple[str, ...] = ALL_ROLES,
    labels: Mapping[str, str] | None = None,
    **status: object,
) -> dict[str, object]:
    """A whole presence meta."""
    return {
        "roles": list(roles),
        "labels": dict(labels or {}),
        "status": {
            "in_flight": 0,
            "draining": False,
            "posture": "serve",
            "started_at": "2026-09-11T06:00:00Z",
        }
        | status,
    }


def lease(name: str, owner: str, meta: Mapping[str, object] | None = None, age: float = 6) -> Lease:
    """A lease renewed `age` seconds ago."""
    renewed_at = Instant.of(NOW - timedelta(seconds=age))
    return Lease(
        resource=Resource.parse(name),
        owner=Owner(owner),
        epoch=Epoch(3),
        ttl=TTL,
        renewed_at=renewed_at,
        expires_at=renewed_at + TTL,
        acquired_at=Instant.of(NOW - timedelta(days=12)),
        protocol=4,
        meta=meta or {},
        revision=Revision(7),
    )


def presence(node: str, meta: Mapping[str, object] | None = None, age: float = 6) -> Lease:
    """A node's presence; no meta means that it said nothing of itself."""
    return lease(f"node:{node}", f"{node}:node-8f2a", meta, age)


def held(handle: str, node: str) -> Lease:
    """A seat lease."""
    return lease(f"seat:{handle}", f"{node}:node-8f2a")


def applied(node: str, epoch: int = 41, status: str = "ok", error: str = "") -> ConfigStatus:
    """A node's config status."""
    return ConfigStatus(
        node=NodeId(node),
        epoch=Epoch(epoch),
        status=status,
        updated_at=Instant.of(NOW - timedelta(seconds=9)),
        revision_id=f"r-{epoch}",
        error=error,
    )


def pause(
    handle: str, reason: str = "Vendor incident", minutes: float = 3, **more: object
) -> Pause:
    """A pause record."""
    record = Pause(
        handle=handle,
        by="mira",
        at=Instant.of(NOW - timedelta(minutes=minutes)),
        reason=reason,
        revision=Revision(20_418),
    )
    return replace(record, **more)  # type: ignore[arg-type]  # any of the record's fields


def seat(handle: str, **placement: object) -> Seat:
    """An agent seat."""
    return Seat(
        handle=handle,
        name=handle.title(),
        role="Engineer",
        kind=SeatKind.AGENT,
        placement=Placement(**placement),  # type: ignore[arg-type]  # node or labels
    )


def person(handle: str) -> Seat:
    """A person's seat."""
    return Seat(handle=handle, name=handle.title(), role="Founder", kind=SeatKind.PERSON)


def firm(*seats: Seat) -> Company:
    """A company of these seats."""
    return Company(name="Harbourline", timezone="Europe/Berlin", seats=seats)


def known[T](value: T) -> Told[T]:
    """The present answer."""
    return Told(value=value, as_of=NOW, is_known=True)


def silent[T](told: Told[T]) -> Told[T]:
    """The last answer, when the store stopped answering 15 s after it."""
    return replace(told, is_known=False, as_of=NOW, since=FELL_SILENT, why="no leader")


def never[T]() -> Told[T]:
    """Never answered."""
    since = NOW - timedelta(seconds=100)
    return Told(value=None, as_of=None, is_known=False, since=since, why="no leader")


def picture(
    presences: tuple[Lease, ...] = (),
    seats: tuple[Lease, ...] = (),
    pauses: tuple[Pause, ...] = (),
    statuses: tuple[ConfigStatus, ...] = (),
    active: Activation | Absent = ACTIVE,
    company: Company | None = None,
) -> Picture:
    """A picture of which everything is known."""
    return Picture(
        now=NOW,
        store_now=NOW,
        this_node="core-2",
        build="0.4.1",
        company=company,
        link=Link(up=True, answered_at=NOW, since=NOW),
        presences=known(presences),
        seats=known(seats),
        pauses=known(pauses),
        statuses=known(statuses),
        activation=known(active),
    )


def fell_silent(before: Picture) -> Picture:
    """The same picture 100 s after the store fell silent."""
    return replace(
        before,
        now=FELL_SILENT + timedelta(seconds=100),
        link=Link(up=False, answered_at=NOW, since=FELL_SILENT),
        presences=silent(before.presences),
        seats=silent(before.seats),
        pauses=silent(before.pauses),
        statuses=silent(before.statuses),
        activation=silent(before.activation),
    )


def knows_nothing(company: Company | None = None) -> Picture:
    """A process that the store never answered."""
    since = NOW - timedelta(seconds=100)
    return Picture(
        now=NOW,
        store_now=NOW,
        this_node="core-2",
        build="0.4.1",
        company=company,
        link=Link(up=False, answered_at=None, since=since),
        presences=never(),
        seats=never(),
        pauses=never(),
        statuses=never(),
        activation=never(),
    )


def example() -> Picture:
    """Five nodes, one of them late and silent, one draining and behind; eight seats, one paused."""
    company = firm(
        *(seat(f"s-{number}") for number in range(6)),
        seat("vera-ml", labels={"gpu": "a100"}),
        seat("tess-res"),
        person("mira"),
    )
    draining = said(("data", "seats", "workers"), {"zone": "c"}, draining=True, in_flight=1)
    return picture(
        presences=(
            presence("core-1", said(labels={"zone": "a", "disk": "nvme"}, in_flight=3)),
            presence("core-2", said(labels={"zone": "b"}, in_flight=2)),
            presence("core-3", draining, age=3),
            presence("edge-1", said(("ingress",), {"zone": "a"}), age=9),
            presence("gpu-1", {"roles": ["seats"], "labels": {"gpu": "l40s"}}, age=34),
        ),
        seats=(
            held("s-0", "core-1"),
            held("s-1", "core-1"),
            held("s-2", "core-2"),
            held("s-3", "core-3"),
            held("s-4", "gpu-1"),
            held("s-5", "edge-2"),
        ),
        pauses=(pause("s-0"),),
        statuses=(applied("core-1"), applied("core-2"), applied("core-3", 40), applied("edge-1")),
        company=company,
    )
