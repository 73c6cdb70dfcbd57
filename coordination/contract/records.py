"""The records on the wire: one declaration gives codec, validation and documentation.

Field order is the wire's. A field with a default is left out when it holds it; one without is
always written. Readers ignore unknown fields. Keys are byte-identical to any other writer's; bodies
are equal when decoded.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from coordination.errors import CorruptRecord, InvalidRequest
from coordination.rules.instants import Instant

MAX_VALUE_BYTES: Final = 8 * 1024 * 1024  # a larger value is refused with both sizes
MAX_META_LEVELS: Final = 64  # objects and lists inside each other; readers bound their recursion

# A number on the wire is a signed 64-bit one; anything else is no number a writer of ours wrote.
type Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
type Token = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # 0 is a claim being made
type Counter = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`leases` and `duties`. Owner "" is a tombstone, epoch 0 a claim being made."""

    resource: str
    owner: str
    epoch: Token
    claim: str = ""
    ttl_ns: Whole
    acquired_at: Instant | None = None
    preferred: str = ""
    protocol: Whole = 0
    meta: dict[str, Any] = {}


class EpochRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`epochs`: the counter tokens are minted from. Never removed; gaps are harmless."""

    resource: str
    epoch: Counter
    preferred: str = ""


class PointerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`config`, key `activation`."""

    revision_id: str
    at: Instant
    summary: str = ""
    author: str = ""
    author_kind: str = ""
    source: str = ""
    created_at: Instant | None = None


class PayloadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`config`, key `revision_payload`; the body is base64 of the sealed bytes."""

    revision_id: str
    payload: bytes


class StatusRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`status`, key = node id."""

    epoch: Whole
    revision_id: str = ""
    status: str
    error: str = ""
    updated_at: Instant


class PauseRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`positions`, key `seat_pause.<handle>`; the handle on a read is the key's."""

    handle: str
    by: str
    operator_id: str = ""
    seat: str = ""
    reason: str = ""
    stop_running: bool = False
    at: Instant
    request_id: str = ""
    review_by: Instant | None = None


def encode(record: msgspec.Struct, *, subject: str) -> bytes:
    """A record's bytes.

    Raises:
        InvalidRequest: it does not encode, or is larger than `MAX_VALUE_BYTES` (sizes named).
    """
    try:
        body = _ENCODER.encode(record)
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as fault:
        msg = f"{subject} cannot be written as JSON: {fault}"
        raise InvalidRequest(msg, operation="encode", subject=subject) from fault
    if len(body) > MAX_VALUE_BYTES:
        msg = f"{subject} is {len(body)} bytes encoded, over the limit of {MAX_VALUE_BYTES}"
        raise InvalidRequest(msg, operation="encode", subject=subject)
    return body


def decode[T: msgspec.Struct](kind: type[T], body: bytes, *, subject: str) -> T:
    """The record in these bytes.

    Raises:
        CorruptRecord: they are not one; nobody knows what the record says.
    """
    try:
        return msgspec.json.decode(body, type=kind, dec_hook=_from_wire)
    except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
        msg = f"the record under {subject} cannot be decoded: {fault}"
        raise CorruptRecord(msg, operation="decode", subject=subject) from fault


def check_meta(meta: Mapping[str, object], *, subject: str) -> dict[str, Any]:
    """A deep copy of a meta object as it will be read back.

    Raises:
        InvalidRequest: a value does not encode, does not decode back to itself, or nests deeper
            than `MAX_META_LEVELS`.
    """
    try:
        body = msgspec.json.encode(meta)
        back = msgspec.json.decode(body, type=dict[str, Any])
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as fault:
        msg = f"the meta of {subject} is no JSON object: {fault}"
        raise InvalidRequest(msg, operation="encode", subject=subject) from fault
    if not _same(meta, back, MAX_META_LEVELS):
        msg = (
            f"the meta of {subject} holds a value that does not read back as it was written,"
            f" or nests deeper than {MAX_META_LEVELS} levels"
        )
        raise InvalidRequest(msg, operation="encode", subject=subject)
    return back


def _same(given: object, back: object, levels: int) -> bool:
    if isinstance(given, Mapping):
        return (
            levels > 0
            and isinstance(back, dict)
            and given.keys() == back.keys()
            and all(_same(value, back[key], levels - 1) for key, value in given.items())
        )
    if isinstance(given, list | tuple):
        return (
            levels > 0
            and isinstance(back, list)
            and len(given) == len(back)
            and all(_same(*both, levels - 1) for both in zip(given, back, strict=True))
        )
    if isinstance(given, int | float) and not _is_finite(given):
        return False
    return given == back and isinstance(given, bool) == isinstance(back, bool)


def _is_finite(number: float) -> bool:
    """Whether a reader that knows numbers as doubles reads it as one."""
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond every double
        return False


def _to_wire(value: object) -> object:
    if isinstance(value, Instant):
        return value.text()
    msg = f"{type(value).__name__} has no JSON form"
    raise TypeError(msg)


def _from_wire(kind: type, value: object) -> object:
    if kind is Instant and isinstance(value, str):
        return Instant.parse(value)
    msg = f"{value!r} is no {kind.__name__}"
    raise ValueError(msg)


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_to_wire)
