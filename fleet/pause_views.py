"""The forms that pause, stop a turn and resume: pages first, the same bodies in a dialog."""

from dataclasses import dataclass, replace
from datetime import date
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseRedirectBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from coordination.contract.pauses import Pause
from fleet import pause_rules, pauses
from fleet.context import clock_of
from fleet.pages import dom
from fleet.pages.pause import (
    NOTHING_YET,
    Outcome,
    PausePage,
    draw_pause_form,
    draw_standing,
    say_expired,
    say_outcome,
    say_resume_outcome,
)
from fleet.services.taking import picture_of
from runtime import toasts
from runtime.access import Permission, require

HANDLE_CHARACTERS = 200  # of a handle that is looked up at all


class HttpResponseSeeOther(HttpResponseRedirectBase):
    """After a POST: read the page."""

    status_code = HTTPStatus.SEE_OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a pause form sent."""

    handle: str
    act: str
    reason: str
    request_id: str
    is_retry: bool
    stop_running: bool
    review_by: str
    version: int


@never_cache
@require_http_methods(["GET", "POST"])
@require(Permission.PAUSE)
def pause(request: HttpRequest) -> HttpResponse:
    """Pause a seat, check whether that landed, or ask its running turn to stop as well."""
    if request.method == "GET":
        return _show_form(request, request.GET.get("handle", "")[:HANDLE_CHARACTERS])
    typed = _read_typed(request)
    if typed.act == "stop":
        return _stop(request, typed)
    if typed.act == "check":
        return _check(request, typed)
    return _pause(request, typed)


def _show_form(request: HttpRequest, handle: str) -> HttpResponse:
    picture = picture_of(request)
    seat = picture.company.seat(handle) if picture.company else None
    stands = picture.index.pauses.get(handle)
    if stands is not None:
        page = draw_standing(
            picture,
            handle,
            stands,
            author=_author(request).name,
            request_id=pauses.mint_request_id(),
            offer="stop" if request.GET.get("do") == "stop" else "stop resume",
        )
        return _draw(request, page)
    if seat is None or not seat.is_agent:
        refused: pauses.Refusal = (
            pauses.NoSuchSeat(handle=handle) if seat is None else pauses.PersonsSeat(handle=handle)
        )
        return _refused(request, handle, refused)
    page = draw_pause_form(
        picture, handle, author=_author(request).name, request_id=pauses.mint_request_id()
    )
    kept = request.GET.get("reason", "")[: pause_rules.REASON_CHARACTERS]
    return _draw(request, replace(page, reason=kept))


def _pause(request: HttpRequest, typed: Typed) -> HttpResponse:
    day, odd_day = _read_day(typed.review_by)
    if odd_day:
        return _redraw(request, typed, errors={"review_by": odd_day})
    now = timezone.now()
    if not typed.is_retry:
        typed = replace(typed, request_id=pauses.freshen_request_id(typed.request_id, now))
    wish = pauses.PauseWish(
        handle=typed.handle,
        reason=typed.reason,
        request_id=typed.request_id,
        stop_running=typed.stop_running,
        review_by=day,
    )
    outcome = pauses.pause(wish, _author(request))
    match outcome:
        case pauses.Recorded(pause=record):
            return _paused(request, record)
        case pauses.Invalid(problems=problems):
            errors = {problem.field: problem.message for problem in problems}
            return _redraw(request, typed, errors=errors)
        case pauses.OutcomeOpen() | pauses.NotAsked():
            return _redraw(request, typed, outcome=outcome)
        case _:
            return _refused(request, typed.handle, outcome)


def _paused(request: HttpRequest, record: Pause) -> HttpResponse:
    text = f"Paused {record.handle}."
    if record.stop_running:
        text += " Its running turn ends at its next round and cannot be brought back."
    pressed = f"{int(record.revision)}:{record.handle}"
    toasts.say(request, text, undo=toasts.Undo(url="/seats/resume/", fields={"seat": pressed}))
    return HttpResponseSeeOther(dom.seat_url(record.handle))


def _redraw(
    request: HttpRequest,
    typed: Typed,
    *,
    errors: dict[str, str] | None = None,
    outcome: pauses.NotDone | None = None,
) -> HttpResponse:
    """The form again, with all that was typed."""
    said, wrong = NOTHING_YET, errors or {}
    if outcome is not None:
        said = say_outcome(outcome, clock_of(request))
    elif "request_id" in wrong:
        said = say_expired(wrong["request_id"])
        typed = replace(typed, request_id=pauses.mint_request_id(), is_retry=False)
    is_open = isinstance(outcome, pauses.OutcomeOpen)
    page = draw_pause_form(
        picture_of(request), typed.handle, author=_author(request).name, request_id=typed.request_id
    )
    page = replace(
        page,
        outcome=said,
        attempt="retry" if is_open or typed.is_retry else "first",
        is_open=is_open,
        reason=typed.reason,
        stop_running=typed.stop_running,
        review_by=typed.review_by,
        errors=wrong,
    )
    status = HTTPStatus.UNPROCESSABLE_ENTITY if wrong else HTTPStatus.OK
    return _draw(request, page, status=status)


def _check(request: HttpRequest, typed: Typed) -> HttpResponse:
    outcome = pauses.check(typed.handle, typed.request_id)
    match outcome:
        case pauses.Recorded(pause=record):
            return _paused(request, record)
        case pauses.AlreadyPaused() | pauses.NoSuchSeat() | pauses.PersonsSeat():
            return _refused(request, typed.handle, outcome)
        case pauses.NotPaused():
            errors = {"reason": "The pause was not recorded; send it again."}
            return _redraw(request, typed, errors=errors)
        case pauses.NotAsked():
            return _redraw(request, typed, outcome=pauses.OutcomeOpen(request_id=typed.request_id))


def _stop(request: HttpRequest, typed: Typed) -> HttpResponse:
    outcome = pauses.stop_turn(typed.handle, typed.version, typed.request_id, _author(request))
    if isinstance(outcome, pauses.StopAsked):
        text = f"{typed.handle} stays paused, and its running turn ends at its next round."
        toasts.say(request, text)
        return HttpResponseSeeOther(dom.seat_url(typed.handle))
    return _refused(request, typed.handle, outcome)


@never_cache
@require_http_methods(["GET", "POST"])
@require(Permission.PAUSE)
def resume(request: HttpRequest) -> HttpResponse:
    """Resume a seat at the version its reader saw."""
    if request.method == "GET":
        return _show_resume(request, request.GET.get("handle", "")[:HANDLE_CHARACTERS])
    version, handle = _read_pressed(request.POST.get("seat", ""))
    outcome = pauses.resume(handle, version, pauses.mint_request_id(), _author(request))
    match outcome:
        case pauses.Resumed(pause=record):
            again = {"handle": handle, "do": "pause", "reason": record.reason}
            again |= {"request_id": pauses.mint_request_id(), "attempt": "first"}
            undo = toasts.Undo(url="/seats/pause/", fields=again)
            toasts.say(request, f"Resumed {handle}.", undo=undo)
            return HttpResponseSeeOther(dom.seat_url(handle))
        case pauses.NotPaused():
            toasts.say(request, f"{handle} is not paused: nothing was changed.")
            return HttpResponseSeeOther(dom.seat_url(handle))
        case _:
            return _resume_refused(request, handle, outcome)


def _show_resume(request: HttpRequest, handle: str) -> HttpResponse:
    picture = picture_of(request)
    stands = picture.index.pauses.get(handle)
    if stands is None:
        return _refused(request, handle, pauses.find_nothing(handle))
    page = draw_standing(
        picture,
        handle,
        stands,
        author=_author(request).name,
        request_id=pauses.mint_request_id(),
        offer="resume",
    )
    return _draw(request, page)


def _resume_refused(
    request: HttpRequest, handle: str, outcome: pauses.ResumeOutcome
) -> HttpResponse:
    said = say_resume_outcome(outcome, clock_of(request))
    return _draw_refusal(request, handle, outcome, said, offer="resume")


def _refused(
    request: HttpRequest, handle: str, outcome: pauses.PauseOutcome | pauses.AmendOutcome
) -> HttpResponse:
    said = say_outcome(outcome, clock_of(request))
    return _draw_refusal(request, handle, outcome, said, offer="stop")


def _draw_refusal(
    request: HttpRequest, handle: str, outcome: object, said: Outcome, *, offer: str
) -> HttpResponse:
    """What stands instead; after an open outcome the same operation is offered again."""
    picture = picture_of(request)
    stands: Pause | None = None
    if isinstance(outcome, pauses.PausedAgain | pauses.AlreadyPaused):
        stands = outcome.pause
    elif isinstance(outcome, pauses.OutcomeOpen | pauses.NotAsked):
        stands = picture.index.pauses.get(handle)
    is_open = isinstance(outcome, pauses.OutcomeOpen)
    page = draw_standing(
        picture,
        handle,
        stands,
        author=_author(request).name,
        request_id=outcome.request_id
        if isinstance(outcome, pauses.OutcomeOpen)
        else pauses.mint_request_id(),
        outcome=said,
        offer=offer,
    )
    page = replace(page, is_open=is_open and offer == "stop")
    return _draw(request, page, status=_STATUS.get(type(outcome), HTTPStatus.OK))


_STATUS = {
    pauses.AlreadyPaused: HTTPStatus.CONFLICT,
    pauses.PausedAgain: HTTPStatus.CONFLICT,
    pauses.NoSuchSeat: HTTPStatus.NOT_FOUND,
    pauses.PersonsSeat: HTTPStatus.UNPROCESSABLE_ENTITY,
    pauses.Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
}


def _draw(request: HttpRequest, page: PausePage, *, status: int = HTTPStatus.OK) -> HttpResponse:
    shown = replace(page, is_dialog="X-Crewlet-Dialog" in request.headers)
    return render(request, "fleet/pause.html", {"page": shown}, status=status)


def _author(request: HttpRequest) -> pauses.Author:
    user = request.user
    return pauses.Author(name=user.get_username(), operator_id=str(user.pk or ""))


def _read_typed(request: HttpRequest) -> Typed:
    post = request.POST
    version = post.get("version", "")
    return Typed(
        handle=post.get("handle", "")[:HANDLE_CHARACTERS],
        act=post.get("do", "pause"),
        reason=post.get("reason", "").strip(),
        request_id=post.get("request_id", ""),
        is_retry=post.get("attempt") == "retry",
        stop_running=post.get("turn") == "stop",
        review_by=post.get("review_by", "").strip(),
        version=int(version) if version.isascii() and version.isdigit() else 0,
    )


def _read_pressed(pressed: str) -> tuple[int, str]:
    version, _, handle = pressed.partition(":")
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 19 else 0
    return number, handle[:HANDLE_CHARACTERS]


def _read_day(text: str) -> tuple[date | None, str]:
    if not text:
        return None, ""
    try:
        return date.fromisoformat(text), ""
    except ValueError:
        return None, f"{text[:20]} is no date; write it as 2026-09-30."
