"""One question to a NATS server over a plain socket: does JetStream answer?

The supervisor asks this before anything of the library runs and while the broker may be paused, so
it speaks the few lines of protocol itself, blocking and bounded by one deadline.
"""

import json
import secrets
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


class NotAnswering(Exception):
    """JetStream gave no answer; the text says how it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a server says of itself when asked."""

    version: str
    max_payload_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens and how to sign in there."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    domain: str = ""


def ask(address: Address, *, within: float = 2.0) -> Server:
    """Ask JetStream for its account information.

    Args:
        address: the server and the sign-in.
        within: seconds for the whole exchange.

    Raises:
        NotAnswering: no connection, a refused sign-in, no JetStream, or silence.
    """
    deadline = time.monotonic() + within
    parts = urlsplit(address.url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 4222), within) as plain:
            return _converse(plain, address, parts.scheme, parts.hostname or "", deadline)
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = str(error) or type(error).__name__
        raise NotAnswering(message) from error


def _converse(
    plain: socket.socket, address: Address, scheme: str, host: str, deadline: float
) -> Server:
    first = _Lines(plain, deadline).line()
    if not first.startswith(b"INFO "):
        msg = "what listens there is not a NATS server"
        raise NotAnswering(msg)
    info = json.loads(first[5:])
    connection = plain
    if scheme == "tls" or info.get("tls_required"):
        connection = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    inbox = f"_INBOX.{secrets.token_hex(8)}"
    prefix = f"$JS.{address.domain}.API" if address.domain else "$JS.API"
    connection.sendall(
        f"CONNECT {json.dumps(_sign_in(address))}\r\nSUB {inbox} 1\r\n"
        f"PUB {prefix}.INFO {inbox} 0\r\n\r\n".encode()
    )
    answer = _read_answer(connection, deadline)
    if "error" in answer:
        raise NotAnswering(str(answer["error"].get("description", "JetStream refused")))
    return Server(version=str(info["version"]), max_payload_bytes=int(info["max_payload"]))


def _sign_in(address: Address) -> Mapping[str, Any]:
    options: dict[str, Any] = {
        "verbose": False,
        "pedantic": False,
        "lang": "python",
        "version": "1",
        "protocol": 1,
        "headers": True,
        "no_responders": True,
        "name": "supervisor",
    }
    if address.token:
        options["auth_token"] = address.token
    elif address.user:
        options |= {"user": address.user, "pass": address.password}
    return options


def _read_answer(connection: socket.socket, deadline: float) -> dict[str, Any]:
    lines = _Lines(connection, deadline)
    while True:
        line = lines.line()
        words = line.split()
        if line.startswith(b"-ERR"):
            raise NotAnswering(line[4:].decode(errors="replace").strip(" '"))
        if line.startswith(b"PING"):
            connection.sendall(b"PONG\r\n")
        elif words and words[0] == b"HMSG":
            msg = "JetStream is not enabled there"
            raise NotAnswering(msg)
        elif words and words[0] == b"MSG":
            document: dict[str, Any] = json.loads(lines.exactly(int(words[-1])))
            return document


class _Lines:
    """Reads lines and counted bytes from a socket until a deadline."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._held = b""

    def line(self) -> bytes:
        while b"\r\n" not in self._held:
            self._more()
        line, self._held = self._held.split(b"\r\n", 1)
        return line

    def exactly(self, count: int) -> bytes:
        while len(self._held) < count:
            self._more()
        return self._held[:count]

    def _more(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            msg = "it accepted the connection and then said nothing"
            raise TimeoutError(msg)
        self._connection.settimeout(left)
        chunk = self._connection.recv(65536)
        if not chunk:
            msg = "it closed the connection"
            raise ConnectionResetError(msg)
        self._held += chunk
