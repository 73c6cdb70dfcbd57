"""Keys: how a name becomes a subject the broker can filter, and back.

A key is a list of segments joined by `.`. Each segment is escaped on its own, so no name can reach
into another's class, and a key that does not decode belongs to nobody: a listing skips it.
Source: coordination.txt, "That is why a resource name is segmented".
"""

from dataclasses import dataclass
from typing import Final, Self, override

from coordination.errors import InvalidRequest

_LITERAL: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
)
_HEX: Final = frozenset("0123456789ABCDEF")
MAX_SUBJECT_BYTES: Final = 3_500  # a longer subject is a protocol error that looks like a time-out


def escape(segment: str) -> str:
    """One segment with every byte outside `A-Z a-z 0-9 _ -` written as `=` and two hex digits."""
    return "".join(chr(b) if b in _LITERAL else f"={b:02X}" for b in _utf8(segment))


def unescape(segment: str) -> str | None:
    """The name a segment stands for, or None when it is no escape of anything."""
    out = bytearray()
    at = 0
    while at < len(segment):
        char = segment[at]
        if char == "=":
            digits = segment[at + 1 : at + 3]
            if len(digits) != 2 or not _HEX.issuperset(digits) or int(digits, 16) in _LITERAL:
                return None
            out.append(int(digits, 16))
            at += 3
            continue
        if ord(char) > 127 or ord(char) not in _LITERAL:
            return None
        out.append(ord(char))
        at += 1
    try:
        return out.decode() or None
    except UnicodeDecodeError:
        return None


def key_of(*names: str) -> str:
    """The key of these names, one escaped segment each.

    Raises:
        InvalidRequest: a name is empty, no text, or the key would be too long for a subject.
    """
    if not names or not all(names):
        msg = f"a key may not have an empty segment: {names!r}"
        raise InvalidRequest(msg, subject=":".join(names))
    key = ".".join(escape(name) for name in names)
    if len(key) > MAX_SUBJECT_BYTES:
        msg = f"the name is too long: its key has {len(key)} bytes of {MAX_SUBJECT_BYTES}"
        raise InvalidRequest(msg, subject=names[0][:80])
    return key


def names_of(key: str) -> tuple[str, ...] | None:
    """The names in a key, or None when it does not decode (then it belongs to nobody)."""
    names = tuple(unescape(part) for part in key.split("."))
    return None if any(name is None for name in names) else tuple(name or "" for name in names)


@dataclass(frozen=True, slots=True)
class ResourceClass:
    """The first segment of a resource, a subject token of its own: `seat`, `node`, `worker`."""

    name: str

    @classmethod
    def parse(cls, name: str) -> Self:
        """A class that can address keys.

        Raises:
            InvalidRequest: empty, or not equal to its own escape; there is no all-classes listing.
        """
        if not name or escape(name) != name:
            msg = f"{name!r} is no resource class: a class is letters, digits, '_' and '-'"
            raise InvalidRequest(msg, subject=name)
        return cls(name)

    @property
    def filter(self) -> str:
        """The key filter of every resource of this class."""
        return f"{self.name}.>"

    @property
    def is_seat_lane(self) -> bool:
        """Whether its leases live under the lease TTL (seats and presence) or as duties."""
        return self.name in ("seat", "node")


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    """What can be leased: `class:name[:name…]`, no empty segment.

    Raises:
        InvalidRequest: made of parts whose key no listing would read back.
    """

    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        text = ":".join(self.parts)
        if len(self.parts) < 2 or not all(self.parts) or text.count(":") >= len(self.parts):
            msg = f"{text!r} is no resource: write class:name with no empty part, such as seat:ceo"
            raise InvalidRequest(msg, subject=text)
        ResourceClass.parse(self.parts[0])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `seat:ceo`.

        Raises:
            InvalidRequest: empty, one segment only, an empty segment, or a class that cannot
                address keys.
        """
        resource = cls(tuple(text.split(":")))
        key_of(*resource.parts)
        return resource

    @classmethod
    def of_key(cls, key: str) -> Self | None:
        """The resource filed under a key, or None when the key is no resource's."""
        names = names_of(key)
        if names is None:
            return None
        try:
            return cls(names)
        except InvalidRequest:
            return None

    @property
    def key(self) -> str:
        """Its key in the lease, duty and epoch buckets."""
        return key_of(*self.parts)

    @property
    def resource_class(self) -> ResourceClass:
        """Its class."""
        return ResourceClass(self.parts[0])

    @property
    def name(self) -> str:
        """What follows the class: `ceo` of `seat:ceo`."""
        return ":".join(self.parts[1:])

    @override
    def __str__(self) -> str:
        return ":".join(self.parts)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as fault:
        msg = f"{text!r} is no Unicode text"
        raise InvalidRequest(msg) from fault
