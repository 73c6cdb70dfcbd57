"""`/api/fleet` and `/api/seats`: what `./crewlet fleet` and `./crewlet seats` use.

A store that could not be asked is 503 with Retry-After, never an empty list. A write that may have
landed is 503 with `outcome: unknown`: send the same `request_id` again.
"""

from typing import NoReturn

from django.http import HttpRequest
from ninja import Router, Status

from coordination.errors import OutcomeUnknown, Unavailable
from fleet import api_schemas as shapes
from fleet import api_views as show
from fleet import pauses
from fleet.services.picture import Told
from fleet.services.standing import standings_of
from fleet.services.taking import take_duties, take_picture
from runtime.access import Caller, Permission, demand

router = Router(tags=["fleet"])

type Receipt = Status[shapes.ReceiptOut] | Status[shapes.Refusal]


@router.get("/fleet", response=shapes.FleetOut, exclude_none=True)
def read_fleet(request: HttpRequest) -> shapes.FleetOut:
    """Nodes, held seats, duties, and what no node can do."""
    demand(_caller(request), Permission.READ)
    picture, duties = take_picture(), take_duties()
    _need(picture.presences, "presence leases")
    _need(picture.seats, "seat leases")
    _need(picture.statuses, "config statuses")
    _need(duties, "duty leases")
    return show.show_fleet(picture, duties)


@router.get("/seats", response=shapes.SeatsOut, exclude_none=True)
def list_seats(request: HttpRequest) -> shapes.SeatsOut:
    """Every seat, with holder and pause."""
    demand(_caller(request), Permission.READ)
    picture = take_picture()
    _need(picture.pauses, "seat pauses")
    _need(picture.seats, "seat leases")
    _need(picture.presences, "presence leases")
    return show.show_seats(picture)


@router.get(
    "/seats/{handle}",
    response={200: shapes.SeatOut, 404: shapes.Refusal},
    exclude_none=True,
)
def read_seat(request: HttpRequest, handle: str) -> Status[shapes.SeatOut] | Status[shapes.Refusal]:
    """One seat."""
    demand(_caller(request), Permission.READ)
    picture = take_picture()
    _need(picture.pauses, "seat pauses")
    _need(picture.seats, "seat leases")
    _need(picture.presences, "presence leases")
    standing = standings_of(picture).of(handle)
    if standing.seat is None and standing.lease is None and standing.pause is None:
        return _refuse(pauses.NoSuchSeat(handle=handle))
    return Status(200, show.show_seat(standing, picture.store_now))


_REFUSALS = {400: shapes.Refusal, 404: shapes.Refusal, 409: shapes.Refusal, 422: shapes.Refusal}


@router.post(
    "/seats/{handle}/pause",
    response={200: shapes.ReceiptOut, **_REFUSALS},
    exclude_none=True,
)
def pause_seat(request: HttpRequest, handle: str, body: shapes.PauseIn) -> Receipt:
    """Pause a seat; one that is paused keeps its record and answers `changed: false`."""
    caller = _caller(request)
    demand(caller, Permission.PAUSE)
    if body.stop_running and body.version is not None:
        asked = pauses.stop_turn(handle, body.version, body.request_id, _author(caller))
        if isinstance(asked, pauses.StopAsked):
            return Status(200, show.show_receipt(asked.pause, changed=True))
        return _refuse(asked)
    wish = pauses.PauseWish(
        handle=handle,
        reason=body.reason,
        request_id=body.request_id,
        stop_running=body.stop_running,
        review_by=body.review_by,
    )
    outcome = pauses.pause(wish, _author(caller))
    match outcome:
        case pauses.Recorded(pause=record):
            return Status(200, show.show_receipt(record, changed=True))
        case pauses.AlreadyPaused(pause=stands):
            return Status(200, show.show_receipt(stands, changed=False))
        case _:
            return _refuse(outcome)


@router.post(
    "/seats/{handle}/resume",
    response={200: shapes.ReceiptOut, **_REFUSALS},
    exclude_none=True,
)
def resume_seat(request: HttpRequest, handle: str, body: shapes.ResumeIn) -> Receipt:
    """Resume the pause whose version the caller saw."""
    caller = _caller(request)
    demand(caller, Permission.PAUSE)
    outcome = pauses.resume(handle, body.version, body.request_id, _author(caller))
    match outcome:
        case pauses.Resumed():
            return Status(200, shapes.ReceiptOut(handle=handle, paused=False, changed=True))
        case pauses.NotPaused():
            return Status(200, shapes.ReceiptOut(handle=handle, paused=False, changed=False))
        case _:
            return _refuse(outcome)


def _refuse(
    outcome: pauses.NotDone | pauses.Refusal | pauses.PausedAgain | pauses.NotPaused,
) -> Status[shapes.Refusal]:
    match outcome:
        case pauses.NotAsked(why=why):
            msg = f"nothing was written: {why}"
            raise Unavailable(msg, operation="pause")
        case pauses.OutcomeOpen(request_id=request_id):
            msg = f"it may have landed; send request_id {request_id} again"
            raise OutcomeUnknown(msg, operation="pause", subject=request_id)
        case pauses.NoSuchSeat(handle=handle):
            detail = f"The company document has no seat {handle}."
            return Status(404, shapes.Refusal(error="not_found", detail=detail))
        case pauses.PersonsSeat(handle=handle):
            detail = f"{handle} is a person's seat: nodes run nothing for it."
            hint = "Only agent seats are paused."
            return Status(404, shapes.Refusal(error="not_found", detail=detail, hint=hint))
        case pauses.PausedAgain(pause=stands):
            return _refuse_stale(
                f"The pause is at version {int(stands.revision)}, set by {stands.by}.",
                show.show_pause(stands),
            )
        case pauses.NotPaused(handle=handle):
            return _refuse_stale(f"{handle} is not paused any more.", None)
        case pauses.Invalid(problems=problems):
            problem = problems[0]
            status = {"invalid_request_id": 400, "op_expired": 409}.get(problem.code, 422)
            detail = " ".join(each.message for each in problems)
            body = shapes.Refusal(error=problem.code, detail=detail, field=problem.field)
            return Status(status, body)


def _refuse_stale(detail: str, standing: shapes.PauseOut | None) -> Status[shapes.Refusal]:
    hint = "Read the seat, then decide again."
    body = shapes.Refusal(error="stale_version", detail=detail, hint=hint, standing=standing)
    return Status(409, body)


def _need[T](told: Told[T], what: str) -> None:
    if not told.is_known:
        _could_not_list(what, told.why)


def _could_not_list(what: str, why: str) -> NoReturn:
    msg = f"{what} could not be listed ({why})"
    raise Unavailable(msg, operation="list", subject=what)


def _author(caller: Caller) -> pauses.Author:
    return pauses.Author(name=caller.name)


def _caller(request: HttpRequest) -> Caller:
    caller = getattr(request, "auth", None)
    if not isinstance(caller, Caller):
        msg = "the API has to be mounted with an authentication that answers a Caller"
        raise TypeError(msg)
    return caller
