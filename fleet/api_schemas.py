"""Shapes of `/api/fleet` and `/api/seats`; what nobody said is absent, never null or zero."""

from datetime import date, datetime
from typing import Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field


class Refusal(Schema):
    """Why nothing was done."""

    error: str
    detail: str
    hint: str | None = None
    field: str | None = None
    standing: "PauseOut | None" = None


class NodeOut(Schema):
    """One node with a live presence lease; what its report left out is absent."""

    id: str
    roles: list[str] | None = None
    broker: str | None = None
    labels: dict[str, str] | None = None
    owner: str
    protocol: int
    seats: int
    expires_in: float
    in_flight: int | None = None
    draining: bool | None = None
    posture: str | None = None
    started_at: datetime | None = None
    config_epoch: int | None = None
    config_status: str | None = None
    config_error: str | None = None


class HeldSeatOut(Schema):
    """One held seat."""

    handle: str
    node: str
    owner: str
    epoch: int
    expires_in: float
    acquired_at: str | None = None


class DutyOut(Schema):
    """One duty that somebody holds."""

    duty: str
    node: str
    expires_in: float


class UnplaceableOut(Schema):
    """A seat that no live node may hold, and what it asks for."""

    handle: str
    placement: str


class FleetOut(Schema):
    """The fleet as the store last listed it."""

    nodes: list[NodeOut]
    seats: list[HeldSeatOut]
    duties: list[DutyOut]
    unplaceable: list[UnplaceableOut]
    unmanned_roles: list[str]
    this_node: str
    as_of: datetime


class PauseOut(Schema):
    """A pause record; `version` is what an amend or a resume has to name."""

    by: str
    seat: str | None = None
    at: str
    reason: str
    stop_running: bool
    review_by: str | None = None
    version: int


class SeatOut(Schema):
    """One seat of the company, and what holds or stops it."""

    handle: str
    name: str | None = None
    role: str | None = None
    kind: Literal["agent", "person"]
    activity: Literal["stopped", "idle"] | None = None
    stopped_reason: Literal["paused", "unplaced", "unheld"] | None = None
    node: str | None = None
    owner: str | None = None
    epoch: int | None = None
    expires_in: float | None = None
    acquired_at: str | None = None
    placement: str | None = None
    paused: PauseOut | None = None


class SeatsOut(Schema):
    """Every seat, in the document's order; seats that only records name come last."""

    seats: list[SeatOut]
    as_of: datetime


# Described, not enforced: what is wrong with one is said by its own code.
REQUEST_ID: Any = Field(
    description="A UUIDv7 made for this operation, at most two minutes ago; the same one sent "
    "again is the same operation.",
    json_schema_extra={"format": "uuid"},
)


class PauseIn(Schema):
    """A pause. `version` with `stop_running` asks the turn of a paused seat to stop as well."""

    model_config = ConfigDict(extra="forbid")

    request_id: str = REQUEST_ID
    reason: str = ""
    stop_running: bool = False
    version: int | None = None
    review_by: date | None = None


class ResumeIn(Schema):
    """A resume of the pause whose version the caller saw."""

    model_config = ConfigDict(extra="forbid")

    request_id: str = REQUEST_ID
    version: int | None = None
    reason: str = ""
    stop_running: bool = False


class ReceiptOut(Schema):
    """What stands after a pause or resume; `changed` tells whether this request made it so."""

    handle: str
    outcome: Literal["applied"] = "applied"
    paused: bool
    changed: bool
    paused_by: str | None = None
    paused_by_seat: str | None = None
    paused_at: str | None = None
    reason: str | None = None
    stop_running: bool | None = None
    review_by: str | None = None
    version: int | None = None
