"""What a request to pause may say. Pure: the clock is an argument."""

import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from coordination.errors import InvalidRequest
from coordination.rules import uuid7
from coordination.rules.keys import key_of

REASON_CHARACTERS: Final = 500
REQUEST_LIVES: Final = timedelta(minutes=2)  # the broker's duplicate window
# Letters and symbols by their class, and yet nothing is drawn for them.
BLANK_LETTERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
CLOCKS_MAY_DIFFER: Final = timedelta(seconds=60)  # how far ahead a sender's clock may run


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a request.

    Attributes:
        field: which field; pages put the message beside it.
        code: the API's word for it.
        message: one sentence for people.
    """

    field: str
    code: str
    message: str


VERSION_REQUIRED: Final = Problem(
    field="version",
    code="invalid",
    message="Send the version of the pause you saw; a resume acts on that record or not at all.",
)


def is_handle(text: str) -> bool:
    """Whether a record could be filed under this handle at all."""
    try:
        key_of("seat_pause", text)
    except InvalidRequest:
        return False
    return True


def judge_reason(reason: str, *, required: bool) -> tuple[Problem, ...]:
    """One line of at most 500 characters, without control characters."""
    text = reason.strip()
    if not has_something_to_read(text):
        if required or text:
            return (_reason("Say why; whoever finds the seat paused will ask."),)
        return ()
    if len(text) > REASON_CHARACTERS:
        over = len(text) - REASON_CHARACTERS
        return (
            _reason(f"The reason has {len(text)} characters, {over} more than the limit of 500."),
        )
    if "\n" in text or "\r" in text or "\u2028" in text or "\u2029" in text:
        return (_reason("Write the reason on one line."),)
    odd = next((char for char in text if unicodedata.category(char) in {"Cc", "Cs"}), None)
    if odd is not None:
        return (_reason(f"The reason holds a control character, U+{ord(odd):04X}; remove it."),)
    return ()


def has_something_to_read(text: str) -> bool:
    """Whether a reader sees anything of it; a control character counts, to be named as one."""
    return any(
        not char.isspace()
        and char not in BLANK_LETTERS
        and unicodedata.category(char) not in {"Cf", "Cn", "Co", "Mn"}
        for char in text
    )


def _reason(message: str) -> Problem:
    return Problem(field="reason", code="invalid", message=message)


def judge_request_id(request_id: str, now: datetime) -> tuple[Problem, ...]:
    """A UUIDv7 whose millisecond lies within the window in which a retry is the same operation."""
    try:
        minted_ms = uuid7.read_ms(uuid7.parse(request_id))
    except InvalidRequest:
        message = "The request id is no UUIDv7; send a fresh one for each operation."
        return (Problem(field="request_id", code="invalid_request_id", message=message),)
    age = timedelta(milliseconds=int(now.timestamp() * 1000) - minted_ms)
    if age > REQUEST_LIVES:
        message = "The request id is older than two minutes: look at the seat, then send a new one."
        return (Problem(field="request_id", code="op_expired", message=message),)
    if -age > CLOCKS_MAY_DIFFER:
        message = "The request id lies in the future: the sender's clock is wrong."
        return (Problem(field="request_id", code="op_expired", message=message),)
    return ()


def judge_review_by(day: date | None, zone: ZoneInfo, now: datetime) -> tuple[Problem, ...]:
    """A day to come, on the company's calendar."""
    if day is None or day >= now.astimezone(zone).date():
        return ()
    message = f"{day.isoformat()} is past; choose today or a later day."
    return (Problem(field="review_by", code="invalid", message=message),)


def has_expired(request_id: str, now: datetime) -> bool:
    """Whether a well-formed id is too old to be sent."""
    return any(problem.code == "op_expired" for problem in judge_request_id(request_id, now))
