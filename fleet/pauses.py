"""Pausing and resuming a seat: one use case for pages, API and command line.

What must stay true: a second person's pause never overwrites the first's reason; a resume acts on
the record its reader saw or not at all; a write whose acknowledgement did not come is told apart
from one that was refused; the same `request_id` is the same operation, however often it is sent.
"""

import logging
import os
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import assert_never
from zoneinfo import ZoneInfo

import company.services
from company.document import Company
from coordination.contract.answers import Absent, Answer, Conflict, Revision, Written
from coordination.contract.pauses import Created, Exists, Lifted, Pause
from coordination.rules import uuid7
from coordination.rules.instants import Instant
from fleet import pause_rules
from fleet.pause_rules import Problem
from runtime import components
from runtime.reading import Failed, attempt

_log = logging.getLogger("crewlet.fleet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who asks. `name` stands in the record as its author."""

    name: str
    operator_id: str = ""
    seat: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseWish:
    """What somebody asks for, as it came in.

    Attributes:
        handle: the seat.
        reason: 1 to 500 characters on one line; may be empty where the company allows it.
        request_id: the operation, a UUIDv7 not older than two minutes.
        stop_running: ask a running turn to stop at its next round.
        review_by: a day on the company's calendar on which somebody should look again.
    """

    handle: str
    reason: str
    request_id: str
    stop_running: bool = False
    review_by: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Answer):
    """The pause stands, by this very operation."""

    pause: Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyPaused(Answer):
    """Somebody's pause stood before; nothing was overwritten."""

    pause: Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked(Answer):
    """The standing pause now asks the running turn to stop as well."""

    pause: Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed(Answer):
    """The pause was lifted; `pause` is the record that stood."""

    pause: Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPaused(Answer):
    """Nothing stood there; nothing changed."""

    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedAgain(Answer):
    """The record is not the one the reader saw; nothing changed."""

    pause: Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAsked(Answer):
    """The store could not be asked; nothing was written."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeOpen(Answer):
    """The write left and no acknowledgement came: it may have landed."""

    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSuchSeat(Answer):
    """The company document has no seat of this handle."""

    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsSeat(Answer):
    """A person's seat: nothing runs there that could be paused."""

    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid(Answer):
    """The request itself is wrong; each problem names its field."""

    problems: tuple[Problem, ...]


type NotDone = NotAsked | OutcomeOpen
type Refusal = NoSuchSeat | PersonsSeat | Invalid
type PauseOutcome = Recorded | AlreadyPaused | NotPaused | NotDone | Refusal
type AmendOutcome = StopAsked | NotPaused | PausedAgain | NotDone | Refusal
type ResumeOutcome = Resumed | NotPaused | PausedAgain | NotDone | Refusal
type CheckOutcome = Recorded | AlreadyPaused | NotPaused | NotAsked | NoSuchSeat | PersonsSeat


def mint_request_id(now: datetime | None = None) -> str:
    """A fresh operation id, as a form carries it."""
    moment = now or datetime.now(UTC)
    unix_ms = int(moment.timestamp() * 1000)
    return str(uuid7.mint(unix_ms, os.urandom(uuid7.TAIL_BYTES)))


def freshen_request_id(request_id: str, now: datetime) -> str:
    """The id, or a fresh one where somebody took their time and nothing was sent under the old."""
    return mint_request_id(now) if pause_rules.has_expired(request_id, now) else request_id


def pause(wish: PauseWish, author: Author, *, now: datetime | None = None) -> PauseOutcome:
    """Record a pause unless one stands."""
    moment = now or datetime.now(UTC)
    document = company.services.current()
    refused = _refuse_seat(document, wish.handle)
    if refused is not None:
        return refused
    required = document.pause_require_reason if document else True
    problems = (
        *pause_rules.judge_reason(wish.reason, required=required),
        *pause_rules.judge_request_id(wish.request_id, moment),
        *pause_rules.judge_review_by(wish.review_by, _zone(document), moment),
    )
    if problems:
        return Invalid(problems=problems)
    record = Pause(
        handle=wish.handle,
        by=author.name,
        at=Instant.of(moment),
        reason=wish.reason.strip(),
        stop_running=wish.stop_running,
        operator_id=author.operator_id,
        seat=author.seat,
        request_id=wish.request_id.lower(),
        review_by=_start_of(wish.review_by, _zone(document)),
    )
    return _create(record)


def _create(record: Pause) -> PauseOutcome:
    answer = attempt(_send_create, record)
    if isinstance(answer, Failed):
        return _not_done(answer, "pause", record.handle, record.request_id)
    match answer.value:
        case Created() as created:
            _log.info("seat_paused handle=%s by=%s", record.handle, record.by)
            return _read_back(replace(record, revision=created.version))
        case Exists() as exists:
            if exists.pause.request_id == record.request_id:
                return Recorded(pause=exists.pause)
            return AlreadyPaused(pause=exists.pause)
        case never:
            assert_never(never)


def _read_back(record: Pause) -> PauseOutcome:
    """What the write left: a retry's answer is the first one's record, if it still stands."""
    answer = attempt(_read, record.handle)
    if isinstance(answer, Failed):
        return Recorded(pause=record)
    match answer.value:
        case Absent():
            return NotPaused(handle=record.handle)
        case Pause() as stands:
            own = stands.revision == record.revision
            return Recorded(pause=stands) if own else AlreadyPaused(pause=stands)
        case never:
            assert_never(never)


def stop_turn(
    handle: str, version: int, request_id: str, author: Author, *, now: datetime | None = None
) -> AmendOutcome:
    """Ask the running turn of a paused seat to stop, at the version the reader saw."""
    stands = _find_standing(handle, request_id, now or datetime.now(UTC))
    if not isinstance(stands, Pause):
        return stands
    if stands.request_id == request_id.lower() and stands.stop_running:
        return StopAsked(pause=stands)
    if int(stands.revision) != version:
        return PausedAgain(pause=stands)
    wanted = replace(stands, stop_running=True, request_id=request_id.lower())
    return _amend(wanted, Revision(version), author)


def _find_standing(
    handle: str, request_id: str, moment: datetime
) -> Pause | Invalid | NoSuchSeat | NotAsked | NotPaused | PersonsSeat:
    """The pause an operation on one that stands is about, or why there is none to act on."""
    problems = pause_rules.judge_request_id(request_id, moment)
    if problems:
        return Invalid(problems=problems)
    if not pause_rules.is_handle(handle):
        return NoSuchSeat(handle=handle)
    answer = attempt(_read, handle)
    if isinstance(answer, Failed):
        return NotAsked(why=answer.why)
    match answer.value:
        case Absent():
            return find_nothing(handle)
        case Pause() as stands:
            return stands
        case never:
            assert_never(never)


def _amend(wanted: Pause, version: Revision, author: Author) -> AmendOutcome:
    answer = attempt(_send_amend, wanted, version)
    if isinstance(answer, Failed):
        return _not_done(answer, "amend", wanted.handle, wanted.request_id)
    match answer.value:
        case Written() as written:
            _log.info("seat_stop_asked handle=%s by=%s", wanted.handle, author.name)
            return StopAsked(pause=replace(wanted, revision=written.revision))
        case Conflict():
            return _what_stands(wanted.handle)
        case never:
            assert_never(never)


def resume(
    handle: str,
    version: int | None,
    request_id: str,
    author: Author,
    *,
    now: datetime | None = None,
) -> ResumeOutcome:
    """Lift the pause its reader saw; one that changed meanwhile is left alone."""
    stands = _find_standing(handle, request_id, now or datetime.now(UTC))
    if not isinstance(stands, Pause):
        return stands
    if version is None:
        return Invalid(problems=(pause_rules.VERSION_REQUIRED,))
    if int(stands.revision) != version:
        return PausedAgain(pause=stands)
    return _lift(stands, request_id.lower(), author)


def _lift(stands: Pause, request_id: str, author: Author) -> ResumeOutcome:
    answer = attempt(_send_lift, stands.handle, stands.revision, request_id)
    if isinstance(answer, Failed):
        return _not_done(answer, "resume", stands.handle, request_id)
    match answer.value:
        case Lifted():
            _log.info("seat_resumed handle=%s by=%s", stands.handle, author.name)
            return Resumed(pause=stands)
        case Conflict():
            return _what_stands(stands.handle)
        case never:
            assert_never(never)


def check(handle: str, request_id: str) -> CheckOutcome:
    """Read the record from the leader: did this operation land?"""
    if not pause_rules.is_handle(handle):
        return NoSuchSeat(handle=handle)
    answer = attempt(_read, handle)
    if isinstance(answer, Failed):
        return NotAsked(why=answer.why)
    match answer.value:
        case Absent():
            return find_nothing(handle)
        case Pause() as stands:
            own = stands.request_id == request_id.lower()
            return Recorded(pause=stands) if own else AlreadyPaused(pause=stands)
        case never:
            assert_never(never)


def find_nothing(handle: str) -> NotPaused | NoSuchSeat | PersonsSeat:
    """Why no pause stands there: nobody made one, or none can be."""
    refused = _refuse_seat(company.services.current(), handle)
    return NotPaused(handle=handle) if refused is None else refused


def _what_stands(handle: str) -> NotPaused | PausedAgain | NotAsked:
    answer = attempt(_read, handle)
    if isinstance(answer, Failed):
        return NotAsked(why=answer.why)
    match answer.value:
        case Absent():
            return NotPaused(handle=handle)
        case Pause() as stands:
            return PausedAgain(pause=stands)
        case never:
            assert_never(never)


def _not_done(failed: Failed, operation: str, handle: str, request_id: str) -> NotDone:
    _log.warning(
        "seat_write_unanswered operation=%s handle=%s request_id=%s may_have_landed=%s",
        operation,
        handle,
        request_id,
        failed.may_have_landed,
    )
    if failed.may_have_landed:
        return OutcomeOpen(request_id=request_id)
    return NotAsked(why=failed.why)


def _refuse_seat(document: Company | None, handle: str) -> NoSuchSeat | PersonsSeat | None:
    seat = document.seat(handle) if document else None
    if seat is None:
        return NoSuchSeat(handle=handle)
    return None if seat.is_agent else PersonsSeat(handle=handle)


def _zone(document: Company | None) -> ZoneInfo:
    return ZoneInfo(document.timezone if document else "UTC")


def _start_of(day: date | None, zone: ZoneInfo) -> Instant | None:
    return Instant.of(datetime.combine(day, time.min, tzinfo=zone)) if day else None


async def _send_create(record: Pause) -> Created | Exists:
    store = await components.store()
    return await store.pauses.create(record)


async def _send_amend(wanted: Pause, version: Revision) -> Written | Conflict:
    store = await components.store()
    return await store.pauses.amend(wanted, version)


async def _send_lift(handle: str, version: Revision, request_id: str) -> Lifted | Conflict:
    store = await components.store()
    return await store.pauses.lift(handle, version, request_id=request_id)


async def _read(handle: str) -> Pause | Absent:
    store = await components.store()
    return await store.pauses.get(handle)
