"""One key, from the leader only.

`STREAM.MSG.GET` is answered by the stream's leader alone. The bucket's own get is a direct get,
which any replica answers, one that is behind with "not found". Source: coordination.txt, "Every
read of one key is the leader's too".
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from coordination.contract.answers import Absent, Revision
from coordination.contract.bucket import Entry, Operation
from coordination.errors import InvalidRequest, Unavailable
from coordination.jetstream.broker import ApiReply, Broker, Silence
from coordination.jetstream.errors import Code, refusal
from coordination.rules.instants import Instant
from coordination.rules.keys import MAX_SUBJECT_BYTES

OPERATION_HEADER: Final = "KV-Operation"
MARKER_HEADER: Final = "Nats-Marker-Reason"
MESSAGE_ID_HEADER: Final = "Nats-Msg-Id"
_OPERATIONS: Final = {"DEL": Operation.DELETE, "PURGE": Operation.PURGE}
_MARKERS: Final = {
    "MaxAge": Operation.PURGE,
    "Purge": Operation.PURGE,
    "Remove": Operation.DELETE,
}
_TELLING: Final = (OPERATION_HEADER.encode(), MARKER_HEADER.encode())
_KEY: Final = re.compile(r"[-/_=a-zA-Z0-9]+(?:\.[-/_=a-zA-Z0-9]+)*")
_NO_HEADERS: Final[Mapping[str, str]] = {}


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as the leader hands it over; `data` and `hdrs` are base64 on the wire."""

    subject: str
    seq: int
    time: str
    data: bytes = b""
    hdrs: bytes = b""


class MessageReply(ApiReply, frozen=True):
    """The answer to `STREAM.MSG.GET`."""

    message: StoredMessage | None = None


def stream_of(bucket: str) -> str:
    """The stream a bucket is."""
    return f"KV_{bucket}"


def subject_of(bucket: str, key: str) -> str:
    """The subject a key is stored under.

    Raises:
        InvalidRequest: no key, or a subject that the broker would cut the connection over.
    """
    subject = f"$KV.{bucket}.{key}"
    if _KEY.fullmatch(key) is None:
        msg = f"{key!r} is no key: segments of letters, digits and -/_= joined by single dots"
        raise InvalidRequest(msg, subject=bucket)
    if len(subject) > MAX_SUBJECT_BYTES:
        msg = f"the key is too long: its subject has {len(subject)} bytes of {MAX_SUBJECT_BYTES}"
        raise InvalidRequest(msg, subject=bucket)
    return subject


def operation_of(headers: Mapping[str, str]) -> Operation:
    """What a message with these headers says about its key."""
    marked = headers.get(OPERATION_HEADER)
    if marked is not None:
        return _OPERATIONS.get(marked, Operation.PUT)
    return _MARKERS.get(headers.get(MARKER_HEADER, ""), Operation.PUT)


def headers_of(block: bytes) -> Mapping[str, str]:
    """The headers of a stored block, which begins with the line `NATS/1.0`."""
    if not block:
        return _NO_HEADERS
    found = {}
    for line in block.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            found[name.strip().decode("utf-8", "replace")] = value.strip().decode(
                "utf-8", "replace"
            )
    return found


async def read_last(broker: Broker, bucket: str, key: str, *, operation: str) -> Entry | Absent:
    """The newest message on a key, a marker included.

    Raises:
        Unavailable: no leader answered, or with anything but a message or its absence.
    """
    subject = subject_of(bucket, key)
    payload = b'{"last_by_subj":"%s"}' % subject.encode()
    message = await _get(broker, bucket, payload, operation, f"{bucket}/{key}")
    if isinstance(message, Absent):
        return message
    if message.subject != subject:
        msg = f"{operation} of {bucket}/{key}: the broker answered with {message.subject}"
        raise Unavailable(msg, operation=operation, subject=bucket)
    return entry_of(message, key)


async def read_at(
    broker: Broker, bucket: str, key: str, revision: Revision, *, operation: str
) -> Entry | Absent:
    """The message of a revision; `Absent` when it is gone or stands on another key.

    Raises:
        Unavailable: as for `read_last`.
    """
    subject = subject_of(bucket, key)
    if revision < 1:
        return Absent()
    message = await _get(broker, bucket, b'{"seq":%d}' % revision, operation, f"{bucket}/{key}")
    if isinstance(message, Absent) or message.subject != subject:
        return Absent()
    return entry_of(message, key)


async def find_own(
    broker: Broker, bucket: str, key: str, message_id: str, *, operation: str
) -> Revision | None:
    """The revision of the newest message on a key when it was published with this message id.

    Raises:
        Unavailable: as for `read_last`.
    """
    payload = b'{"last_by_subj":"%s"}' % subject_of(bucket, key).encode()
    message = await _get(broker, bucket, payload, operation, f"{bucket}/{key}")
    if isinstance(message, Absent):
        return None
    own = headers_of(message.hdrs).get(MESSAGE_ID_HEADER) == message_id
    return Revision(message.seq) if own else None


def entry_of(message: StoredMessage, key: str) -> Entry:
    """A stored message as the port's entry."""
    return Entry(
        key=key,
        value=message.data,
        revision=Revision(message.seq),
        written_at=told_instant(message.time, operation="read", subject=key),
        operation=_stored_operation(message.hdrs),
    )


def told_instant(text: str, *, operation: str, subject: str) -> Instant:
    """An instant in a broker's answer.

    Raises:
        Unavailable: it told none, or nothing that is one.
    """
    try:
        return Instant.parse(text)
    except InvalidRequest as fault:
        msg = f"{operation} of {subject}: the broker told no time: {text!r}"
        raise Unavailable(msg, operation=operation, subject=subject) from fault


def _stored_operation(block: bytes) -> Operation:
    if not any(name in block for name in _TELLING):
        return Operation.PUT  # nearly every message: expectations and ids say nothing about it
    return operation_of(headers_of(block))


async def _get(
    broker: Broker, bucket: str, payload: bytes, operation: str, subject: str
) -> StoredMessage | Absent:
    verb = f"STREAM.MSG.GET.{stream_of(bucket)}"
    reply = await broker.api(verb, MessageReply, payload, operation=operation, subject=subject)
    if isinstance(reply, Silence):
        msg = f"{operation} of {subject}: {reply.why}"
        raise Unavailable(msg, operation=operation, subject=subject)
    if reply.error is not None:
        if reply.error.err_code == Code.NO_MESSAGE:
            return Absent()
        raise refusal(reply.error, operation=operation, subject=subject)
    if reply.message is None:
        msg = f"{operation} of {subject}: the broker's answer holds neither message nor error"
        raise Unavailable(msg, operation=operation, subject=subject)
    return reply.message
