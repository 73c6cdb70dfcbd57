"""The keys of the bootstrap file: one parser a key, from plain text to a checked value."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from crewlet_site import env
from crewlet_site.errors import StartRefused
from crewlet_site.keyring import decode_material

type Parser = Callable[[Any], Any]


class Odd(Exception):
    """A value its key cannot mean; the text completes a sentence that starts with the key."""


class Problem(Exception):
    """One fault in the file, with its line (1-based) and dotted path."""

    def __init__(self, line: int, path: str, message: str) -> None:
        super().__init__(f"line {line}{': ' + path if path else ''} {message}.")
        self.line = line
        self.path = path


@dataclass(frozen=True, slots=True)
class Found:
    """What a file holds: checked values and the lines of their keys, by dotted path."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def problem(self, path: str, message: str) -> Problem:
        """A fault of a key that another key decides."""
        return Problem(self.lines.get(path, 1), path, message)


def near(path: str) -> str:
    """A guess at what was meant, as the tail of a sentence."""
    guesses = difflib.get_close_matches(path, [*LEAVES, *SECTIONS], n=1, cutoff=0.8)
    return f" (did you mean {guesses[0]}?)" if guesses else ""


def text(value: Any) -> str:
    """Any text, blank included."""
    if not isinstance(value, str):
        msg = "must be one value"
        raise Odd(msg)
    return "" if value in ("~", "null") else value


def filled(value: Any) -> str:
    """Text that says something."""
    result = text(value).strip()
    if not result:
        msg = "must not be empty"
        raise Odd(msg)
    return result


def whole(least: int, most: int) -> Parser:
    """A whole number in a closed range."""

    def parse(value: Any) -> int:
        shown = text(value)
        if not re.fullmatch(r"[0-9]{1,9}", shown) or not least <= int(shown) <= most:
            msg = f"is {shown!r}: give a whole number from {least} to {most}"
            raise Odd(msg)
        return int(shown)

    return parse


def seconds(least: int, most: int) -> Parser:
    """A whole number of seconds as a span."""
    number = whole(least, most)
    return lambda value: timedelta(seconds=number(value))


def one_of(*choices: str) -> Parser:
    """One word out of a few."""

    def parse(value: Any) -> str:
        shown = text(value)
        if shown not in choices:
            msg = f"is {shown!r}: give one of {', '.join(choices)}"
            raise Odd(msg)
        return shown

    return parse


def node_id(value: Any) -> str:
    """A node's name."""
    return _sentence(lambda: env.parse_node_id(filled(value), source="node.id"))


def host(value: Any) -> str:
    """An address to listen on."""
    return _sentence(lambda: env.parse_host(filled(value), source="api.host"))


def roles(value: Any) -> tuple[str, ...]:
    """Some of the four roles, each once, in their usual order."""
    known = ("data", "ingress", "seats", "workers")
    if not isinstance(value, tuple) or not value or len(set(map(str, value))) != len(value):
        msg = f"must be a list of different roles out of {', '.join(known)}"
        raise Odd(msg)
    for role in value:
        if role not in known:
            msg = f"has {role!r}: the roles are {', '.join(known)}"
            raise Odd(msg)
    return tuple(role for role in known if role in value)


def labels(value: Any) -> Mapping[str, str]:
    """Labels: trimmed text to trimmed text; a key has no spaces and at most 63 bytes."""
    if not isinstance(value, dict):
        msg = "must be a block of label: value lines"
        raise Odd(msg)
    result = {}
    for name, shown in value.items():
        key = name.strip()
        if not key or len(key.encode()) > 63 or re.search(r"\s", key):
            msg = f"has the label {name!r}: use 1 to 63 bytes without spaces"
            raise Odd(msg)
        result[key] = text(shown).strip()
    return result


def key_list(value: Any) -> Mapping[str, bytes]:
    """Keys as a list of id and base64 material."""
    if not isinstance(value, tuple):
        msg = "must be a list of id and material"
        raise Odd(msg)
    result: dict[str, bytes] = {}
    for row in value:
        if not isinstance(row, dict) or set(row) != {"id", "material"}:
            msg = "has a row without exactly id and material"
            raise Odd(msg)
        key_id = filled(row["id"])
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", key_id) or key_id in result:
            msg = f"has the id {key_id!r} twice or with characters beyond A-Z 0-9 . _ -"
            raise Odd(msg)
        try:
            result[key_id] = decode_material(filled(row["material"]))
        except ValueError as error:
            msg = f"has a key {key_id} whose material {error}"
            raise Odd(msg) from error
    return result


def broker_url(value: Any) -> str:
    """Where an external broker listens; who signs in belongs under stream.credentials."""
    shown = filled(value)
    try:
        parts = urlsplit(shown)
        usable = parts.scheme in ("nats", "tls") and parts.hostname and "@" not in parts.netloc
        port = parts.port or 4222
    except ValueError as error:
        msg = f"is {shown!r}: give nats://host:port"
        raise Odd(msg) from error
    if not usable:
        msg = f"is {shown!r}: give nats://host:port, without a user in it"
        raise Odd(msg)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{name}:{port}"


def sync(value: Any) -> str:
    """When the broker flushes: this single broker always does, before it acknowledges."""
    if text(value) != "always":
        msg = "must be always: anything faster needs three replicas on several hosts"
        raise Odd(msg)
    return "always"


def _sentence(check: Callable[[], str]) -> str:
    try:
        return check()
    except StartRefused as refusal:
        msg = f"is refused: {str(refusal).rstrip('.')}"
        raise Odd(msg) from refusal


LEAVES: Final[Mapping[str, Parser]] = {
    "node.id": node_id,
    "node.roles": roles,
    "node.labels": labels,
    "node.max_concurrent": whole(0, 10_000),
    "stream.type": one_of("embedded", "nats"),
    "stream.store_dir": text,
    "stream.replicas": whole(1, 5),
    "stream.url": broker_url,
    "stream.credentials.user": filled,
    "stream.credentials.password": filled,
    "stream.token": filled,
    "stream.sync": sync,
    "coordination.type": one_of("local", "embedded-kv"),
    "coordination.lease_ttl_seconds": seconds(3, 3600),
    "secrets.active_key_id": filled,
    "secrets.keys": key_list,
    "api.host": host,
    "api.port": whole(1, 65535),
    "logging.level": one_of("debug", "info", "warning", "error"),
    "logging.format": one_of("console", "json"),
}
SECTIONS: Final = frozenset(
    ".".join(path.split(".")[:depth]) for path in LEAVES for depth in range(1, path.count(".") + 1)
)
