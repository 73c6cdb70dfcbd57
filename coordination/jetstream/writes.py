"""One message on one key, acknowledged by the leader once a quorum holds it.

Source: coordination.txt (compare-and-set everywhere); the refusal "in process" that replicated
streams give decides nothing and is asked again.
"""

import asyncio
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec
from nats.aio.msg import Msg

from coordination.contract.answers import Conflict, Revision, Written
from coordination.errors import OutcomeUnknown, Unavailable
from coordination.jetstream.broker import ASK_WITHIN, Broker, Silence
from coordination.jetstream.errors import ApiError, Code, refusal
from coordination.jetstream.reads import MESSAGE_ID_HEADER, find_own, stream_of, subject_of

EXPECTED_HEADER: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_ON_HEADER: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
RETRY_WITHIN: Final = timedelta(seconds=5)
_FIRST_WAIT: Final = 0.001  # seconds, doubling
_LONGEST_WAIT: Final = 0.064
_JITTER: Final = 0.2
_UNDECIDED: Final = (Code.IN_PROCESS, Code.SAME_ID_IN_PROCESS)


class Ack(msgspec.Struct, frozen=True):
    """The answer to a publish."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: ApiError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One message to be written.

    `expected` is the revision it may be written over, None for whatever stands there; with
    `expected_on` it is the revision that this other key has to stand at.
    """

    bucket: str
    key: str
    value: bytes
    operation: str
    expected: Revision | None = None
    expected_on: str = ""
    message_id: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def subject(self) -> str:
        """What errors and logs call it."""
        return f"{self.bucket}/{self.key}"

    def all_headers(self) -> dict[str, str] | None:
        """The headers on the wire."""
        found = dict(self.headers)
        if self.expected is not None:
            found[EXPECTED_HEADER] = str(self.expected)
        if self.expected_on:
            found[EXPECTED_ON_HEADER] = subject_of(self.bucket, self.expected_on)
        if self.message_id:
            found[MESSAGE_ID_HEADER] = self.message_id
        return found or None


async def write(broker: Broker, draft: Draft) -> Written | Conflict:
    """Write it, or lose the comparison.

    Raises:
        OutcomeUnknown: it left and its acknowledgement is lost.
        Unavailable: nothing was written.
        InvalidRequest: no key, or too large for the broker.
    """
    subject_of(draft.bucket, draft.key)
    target = broker.kv_subject(draft.bucket, draft.key)
    headers = draft.all_headers()
    loop = asyncio.get_running_loop()
    ends = loop.time() + RETRY_WITHIN.total_seconds()
    wait = _FIRST_WAIT
    await asyncio.sleep(0)  # a caller that has given up by now sends nothing
    while True:
        reply = await broker.ask(target, draft.value, within=ASK_WITHIN, headers=headers)
        ack = _ack_of(reply, draft)
        if ack.error is None:
            return Written(revision=Revision(ack.seq), duplicate=ack.duplicate)
        if ack.error.err_code == Code.COMPARED_AND_LOST:
            return await _repeat_or_conflict(broker, draft)
        if ack.error.err_code not in _UNDECIDED or loop.time() + wait > ends:
            raise refusal(ack.error, operation=draft.operation, subject=draft.subject)
        await asyncio.sleep(wait * random.uniform(1 - _JITTER, 1 + _JITTER))
        wait = min(2 * wait, _LONGEST_WAIT)


async def _repeat_or_conflict(broker: Broker, draft: Draft) -> Written | Conflict:
    """What a lost comparison means for a message that may have landed before.

    A replicated stream looks at the message id before it compares, one without replicas after, so
    there a repeat of what landed loses to itself. The leader's message tells whose it is.
    """
    if not draft.message_id:
        return Conflict()
    own = await find_own(
        broker, draft.bucket, draft.key, draft.message_id, operation=draft.operation
    )
    return Conflict() if own is None else Written(revision=own, duplicate=True)


def _ack_of(reply: Msg | Silence, draft: Draft) -> Ack:
    if isinstance(reply, Silence):
        kind = OutcomeUnknown if reply.may_have_landed else Unavailable
        msg = f"{draft.operation} of {draft.subject}: {reply.why}"
        raise kind(msg, operation=draft.operation, subject=draft.subject)
    try:
        ack = msgspec.json.decode(reply.data, type=Ack)
    except (msgspec.MsgspecError, ValueError) as fault:
        msg = f"{draft.operation} of {draft.subject}: the acknowledgement cannot be read: {fault}"
        raise OutcomeUnknown(msg, operation=draft.operation, subject=draft.subject) from fault
    if ack.error is None and (ack.seq < 1 or ack.stream != stream_of(draft.bucket)):
        msg = f"{draft.operation} of {draft.subject}: the acknowledgement is {ack.stream!r}'s"
        raise OutcomeUnknown(msg, operation=draft.operation, subject=draft.subject)
    return ack
