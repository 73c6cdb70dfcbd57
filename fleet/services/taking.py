"""Taking the picture: the hub's projections and the document applied here, at one moment."""

from datetime import UTC, datetime

from django.conf import settings
from django.http import HttpRequest

import company.services
from coordination.contract.leases import Lease
from fleet.services import left
from fleet.services.picture import Picture, Told, open_reading
from runtime import hub


def take_picture(now: datetime | None = None) -> Picture:
    """The hub's projections as they stand. Asks no store; one row of the node's database."""
    left.recorder.ensure_started()
    moment = now or datetime.now(UTC)
    stored = hub.start().probe.now()
    return Picture(
        now=moment,
        store_now=stored.as_datetime() if stored is not None else moment,
        this_node=settings.NODE_ID,
        build=settings.BUILD,
        company=company.services.current(),
        link=hub.link(),
        presences=open_reading(hub.presences()),
        seats=open_reading(hub.seats()),
        pauses=open_reading(hub.pauses()),
        statuses=open_reading(hub.statuses()),
        activation=open_reading(hub.activation()),
    )


def picture_of(request: HttpRequest) -> Picture:
    """The picture of this request, taken once."""
    held = getattr(request, "crewlet_picture", None)
    if isinstance(held, Picture):
        return held
    picture = take_picture()
    request.crewlet_picture = picture  # type: ignore[attr-defined]  # ours, on Django's request
    return picture


def take_duties() -> Told[tuple[Lease, ...]]:
    """The duty leases as they stand."""
    return open_reading(hub.duties())
