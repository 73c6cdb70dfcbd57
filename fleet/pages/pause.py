"""The form that pauses a seat, and the sheet that shows what stands instead.

Every outcome has its sentence here, so that page and dialog say the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from coordination.contract.pauses import Pause
from fleet import pauses
from fleet.pages import cells, dom, seat_cells
from fleet.pages.lines import Line
from fleet.services.picture import Picture
from fleet.services.standing import Standing, standings_of
from runtime import facts
from runtime.facts import Fact
from runtime.moments import Clock, moment_words

RECENT_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a press; no title before there was one."""

    title: str = ""
    text: str = ""
    tone: str = "note"
    mark: str = ""


NOTHING_YET: Final = Outcome()


@dataclass(frozen=True, slots=True, kw_only=True)
class PausePage:
    """The form, or what stands.

    Attributes:
        title: heading of page and dialog.
        template: which of the two bodies.
        attempt: `first`, or `retry` after an outcome that stayed open.
        is_open: whether the last press may or may not have landed.
        is_dialog: drawn into the page's dialog, which brings its own head.
        version: the record's revision that the reader sees.
        is_silent: whether the store does not answer now, so that a press may come to nothing.
    """

    title: str
    template: str
    handle: str
    seat_url: str
    author: str
    request_id: str
    is_dialog: bool = False
    role: str = ""
    holder: Fact | None = None
    since: Fact | None = None
    turn: Fact | None = None
    outcome: Outcome = NOTHING_YET
    attempt: str = "first"
    is_open: bool = False
    is_reason_required: bool = True
    reason: str = ""
    stop_running: bool = False
    review_by: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    recent: tuple[str, ...] = ()
    record: tuple[Line, ...] = ()
    version: int = 0
    can_stop: bool = False
    can_resume: bool = False
    is_silent: bool = False


def draw_pause_form(picture: Picture, handle: str, *, author: str, request_id: str) -> PausePage:
    """An empty form."""
    standing = standings_of(picture).of(handle)
    company = picture.company
    return replace(
        _about(picture, standing, author=author, request_id=request_id),
        title=f"Pause {handle}",
        template="fleet/_pause_form.html",
        is_reason_required=company.pause_require_reason if company else True,
        recent=recent_reasons(picture),
    )


def draw_standing(
    picture: Picture,
    handle: str,
    stands: Pause | None,
    *,
    author: str,
    request_id: str,
    outcome: Outcome = NOTHING_YET,
    offer: str = "",
) -> PausePage:
    """What stands instead of what was asked.

    Args:
        picture: for the seat's holder.
        handle: the seat.
        stands: the record as the leader or the projection has it; None when there is none.
        author: who reads.
        request_id: a fresh operation id for what is offered.
        outcome: why this is shown.
        offer: `stop`, `resume` or nothing.
    """
    standing = standings_of(picture).of(handle)
    page = _about(picture, standing, author=author, request_id=request_id)
    return replace(
        page,
        title=f"{handle} is paused" if stands is not None else handle,
        template="fleet/_standing.html",
        outcome=outcome,
        record=record_lines(stands) if stands is not None else (),
        version=int(stands.revision) if stands is not None else 0,
        can_stop="stop" in offer and stands is not None and not stands.stop_running,
        can_resume="resume" in offer and stands is not None,
    )


def _about(picture: Picture, standing: Standing, *, author: str, request_id: str) -> PausePage:
    told, seat = picture.seats, standing.seat
    is_agent = not standing.is_person and (seat is not None or standing.lease is not None)
    has_page = seat is not None or standing.pause is not None
    turn = cells.quick(cells.quick(_turn(standing), picture.presences), told)
    return PausePage(
        title=standing.handle,
        template="fleet/_standing.html",
        handle=standing.handle,
        seat_url=dom.seat_url(standing.handle) if has_page else "/seats/",
        author=author,
        request_id=request_id,
        role=seat.role if seat else "",
        holder=cells.quick(seat_cells.holder(standing), told) if is_agent else None,
        since=cells.slow(_since(standing), told)
        if is_agent and standing.lease is not None
        else None,
        turn=turn if is_agent else None,
        is_silent=not picture.link.up or not picture.pauses.is_known,
    )


def _since(standing: Standing) -> Fact:
    at = standing.lease.acquired_at if standing.lease is not None else None
    return facts.value("", moment=at.as_datetime(), form="at") if at else facts.unsaid()


def _turn(standing: Standing) -> Fact:
    fact = seat_cells.turn(standing)
    return facts.none("not on a turn") if fact.state is facts.FactState.NONE else fact


def record_lines(pause: Pause) -> tuple[Line, ...]:
    """A record as the leader has it."""
    at = pause.at.as_datetime()
    reason = facts.value(pause.reason) if pause.reason else facts.none("no reason given")
    return (
        Line(key="Reason", fact=reason),
        Line(key="Paused by", fact=facts.value(pause.by)),
        Line(key="When", fact=facts.value("", moment=at, note_moment=at)),
        Line(key="Running turn", fact=facts.value(seat_cells.asked_of_turn(pause))),
    )


def recent_reasons(picture: Picture) -> tuple[str, ...]:
    """The newest reasons that stand, each once."""
    newest = sorted(picture.index.pauses.values(), key=lambda pause: pause.at, reverse=True)
    reasons = dict.fromkeys(pause.reason for pause in newest if pause.reason)
    return tuple(reasons)[:RECENT_SHOWN]


def say_outcome(outcome: pauses.PauseOutcome | pauses.AmendOutcome, clock: Clock) -> Outcome:
    """The sentence of an outcome that is not simply done."""
    match outcome:
        case pauses.AlreadyPaused(pause=stands):
            return _say_already(stands, clock)
        case pauses.PausedAgain(pause=stands):
            return say_changed(stands, clock)
        case pauses.NotPaused(handle=handle):
            return Outcome(title=f"{handle} is not paused", text="Nothing was changed.")
        case pauses.OutcomeOpen():
            return Outcome(
                title="The pause may or may not have been recorded.",
                text=(
                    "The store did not answer in time. Check reads the record again; sending it "
                    "again is the same request, so it cannot pause twice or overwrite anybody."
                ),
                tone="unknown",
            )
        case pauses.NotAsked():
            return Outcome(
                title="The pause was not recorded",
                text="The store could not be asked, so nothing was written. Try again.",
                tone="unknown",
            )
        case pauses.NoSuchSeat(handle=handle):
            text = "It may have left the company document. Nothing was changed."
            return Outcome(title=f"There is no seat {handle} any more", text=text, tone="critical")
        case pauses.PersonsSeat(handle=handle):
            text = "Nodes run no turns for it, so there is nothing to pause. Nothing was changed."
            return Outcome(title=f"{handle} is a person's seat", text=text, tone="critical")
        case pauses.Invalid(problems=problems):
            text = " ".join(problem.message for problem in problems)
            return Outcome(title="Nothing was changed", text=text, tone="critical")
        case _:
            return NOTHING_YET


def say_expired(message: str) -> Outcome:
    """For an operation id that cannot be sent any more."""
    return Outcome(title="Nothing was changed", text=message, tone="critical")


def _say_already(stands: Pause, clock: Clock) -> Outcome:
    at = moment_words(stands.at.as_datetime(), "at", clock)
    reason = f": {stands.reason}" if stands.reason else ", with no reason given"
    return Outcome(
        title=f"Already paused by {stands.by} at {at}{reason}",
        text="That record stands; nothing of it was overwritten.",
        tone="warn",
        mark="paused",
    )


def say_changed(stands: Pause, clock: Clock) -> Outcome:
    """For a press on a record that is not the one its reader saw."""
    ago = moment_words(stands.at.as_datetime(), "ago", clock)
    return Outcome(
        title=f"Paused again by {stands.by} {ago}: look first",
        text="The pause is not the one your page showed, so nothing was changed.",
        tone="warn",
        mark="paused",
    )


def say_resume_outcome(outcome: pauses.ResumeOutcome, clock: Clock) -> Outcome:
    """The sentence of a resume that is not simply done."""
    match outcome:
        case pauses.PausedAgain(pause=stands):
            return say_changed(stands, clock)
        case pauses.OutcomeOpen():
            return Outcome(
                title="The resume may or may not have been recorded.",
                text=(
                    "The store did not answer in time. Look at the seat again; pressing Resume "
                    "again acts on the same record or on none."
                ),
                tone="unknown",
            )
        case pauses.NotAsked():
            return Outcome(
                title="The seat was not resumed",
                text="The store could not be asked, so nothing was written. Try again.",
                tone="unknown",
            )
        case pauses.Resumed():
            return NOTHING_YET
        case _:
            return say_outcome(outcome, clock)
