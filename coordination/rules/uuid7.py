"""UUIDv7 to RFC 9562: 48 bits of Unix milliseconds, then version, variant and a random tail."""

import uuid
from typing import Final

from coordination.errors import InvalidRequest

TAIL_BYTES: Final = 10
_MAX_MS: Final = (1 << 48) - 1


def mint(unix_ms: int, tail: bytes) -> uuid.UUID:
    """A UUIDv7 of this millisecond and these ten random bytes.

    Raises:
        InvalidRequest: the millisecond does not fit 48 bits, or the tail is not ten bytes.
    """
    if not 0 <= unix_ms <= _MAX_MS or len(tail) != TAIL_BYTES:
        msg = f"a UUIDv7 takes a 48-bit millisecond and {TAIL_BYTES} random bytes"
        raise InvalidRequest(msg)
    low = int.from_bytes(tail)
    value = (unix_ms << 80) | (7 << 76) | ((low >> 68) << 64) | (2 << 62) | (low & ((1 << 62) - 1))
    return uuid.UUID(int=value)


def parse(text: str) -> uuid.UUID:
    """Read a UUIDv7 in its canonical text.

    Raises:
        InvalidRequest: the text is no UUIDv7.
    """
    try:
        value = uuid.UUID(text)
    except ValueError as fault:
        msg = f"{text!r} is no UUIDv7"
        raise InvalidRequest(msg) from fault
    read_ms(value)
    if str(value) != text.lower():
        msg = f"{text!r} is no UUIDv7 in its canonical form"
        raise InvalidRequest(msg)
    return value


def read_ms(value: uuid.UUID) -> int:
    """The Unix millisecond a UUIDv7 was minted at.

    Raises:
        InvalidRequest: it is not version 7 of the RFC's variant.
    """
    if value.version != 7 or value.variant != uuid.RFC_4122:
        msg = f"{value} is no UUIDv7"
        raise InvalidRequest(msg)
    return value.int >> 80
