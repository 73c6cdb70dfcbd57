"""Limits on a request that apply before the application hears of it.

The server takes a whole request in before anybody is asked who sent it. So that a stranger cannot
fill a disk with a body, or keep a connection for a byte a minute,

- a body over `BODY_LIMIT_BYTES` is not kept: it is read on and dropped, then refused with 413; one
  that goes on past `DROPPED_LIMIT_BYTES` is refused in the middle;
- headers must be complete `HEAD_SECONDS` after the request line, and the body `BODY_SECONDS` after
  the headers: 408 and 400;
- what the server itself refuses has the node's own shape and headers, not the server's page.

Like `byte_door`, this module knows daphne and Twisted from the inside.
"""

import json
from http import HTTPStatus
from typing import Any, Final

# Brings `daphne.http_protocol` along, once it has chosen the reactor.
import daphne.server
from twisted.internet import reactor as _reactor

from crewlet_site.limits import BODY_LIMIT_BYTES

# Twisted's types describe the module, not the reactor that daphne installs in its place.
reactor: Any = _reactor

DROPPED_LIMIT_BYTES: Final = 8 * 1024 * 1024
HEAD_SECONDS: Final = 10.0
BODY_SECONDS: Final = 30.0
HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"Content-Type", b"application/json"),
    (b"Cache-Control", b"no-store"),
    (b"Content-Security-Policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"X-Frame-Options", b"DENY"),
)
_TOO_LARGE: Final = (
    413,
    "body_too_large",
    f"The body is larger than the {BODY_LIMIT_BYTES:,} bytes that fit.",
)
_LATE_HEAD: Final = (408, "unreadable_request", "The headers did not arrive in time.")
_LATE_BODY: Final = (400, "unreadable_body", "The body did not arrive in time.")
_CODES: Final = {400: "unreadable_request", 500: "internal_error", 503: "unavailable"}

type Refusal = tuple[int, str, str]


class Request(daphne.http_protocol.WebRequest):  # type: ignore[misc]  # untyped base
    """daphne's request with a limit on its body and a deadline for its arrival."""

    channel: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The application reads forms; parsing them here as well would only cost the loop's time.
        super().__init__(*args, **{**kwargs, "parsePOSTFormSubmission": False})
        self._received = 0
        self._refusal: Refusal | None = None
        self._is_answered = False
        self._deadline = reactor.callLater(HEAD_SECONDS, self._refuse_now, _LATE_HEAD)

    def gotLength(self, length: int | None) -> None:
        """The headers are complete; a body that says it is too large is not kept."""
        self._await_nothing()
        if length is not None and length > BODY_LIMIT_BYTES:
            self._refusal = _TOO_LARGE
        super().gotLength(0 if self._refusal else length)
        if length is not None and length > DROPPED_LIMIT_BYTES:
            self._refuse_now(_TOO_LARGE)
        elif length != 0:
            self._deadline = reactor.callLater(BODY_SECONDS, self._refuse_now, _LATE_BODY)

    def handleContentChunk(self, data: bytes) -> None:
        """Keep a part of the body, unless it is too much."""
        self._received += len(data)
        if self._received > BODY_LIMIT_BYTES:
            self._refusal = _TOO_LARGE
        if self._refusal is None:
            super().handleContentChunk(data)
        elif self._received > DROPPED_LIMIT_BYTES:
            self._refuse_now(_TOO_LARGE)

    def process(self) -> Any:
        """The request is complete: refuse it, or hand it on."""
        self._await_nothing()
        if self._is_answered:
            return None
        # A prefix for all addresses is for the one who serves to say, not for the one who asks.
        self.requestHeaders.removeHeader(b"daphne-root-path")
        if self._refusal is not None:
            self._answer(*self._refusal)
            return None
        return super().process()

    def connectionLost(self, reason: Any) -> None:
        """Nobody waits any more."""
        self._await_nothing()
        super().connectionLost(reason)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """The server's own refusals, in the shape of all others."""
        del status_text
        self._answer(status, _CODES.get(status, "refused"), f"{body.rstrip('.')}.")

    def _answer(self, status: int, error: str, detail: str) -> None:
        body = _body(error, detail)
        self.handle_reply(
            {"type": "http.response.start", "status": status, "headers": _headers(body)}
        )
        self.handle_reply({"type": "http.response.body", "body": body})

    def _refuse_now(self, refusal: Refusal) -> None:
        """Answer in the middle of a request and end the connection."""
        if self._is_answered or self.channel is None:
            return
        self._is_answered = True
        self._await_nothing()
        status, error, detail = refusal
        body = _body(error, detail)
        lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
        lines += [b"%s: %s" % pair for pair in (*_headers(body), (b"Connection", b"close"))]
        self.channel.transport.write(b"\r\n".join([*lines, b"", body]))
        self.channel.loseConnection()

    def _await_nothing(self) -> None:
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = None


class RequestFactory(daphne.http_protocol.HTTPFactory):  # type: ignore[misc]  # untyped base
    """Connections whose requests pass the door."""

    def buildProtocol(self, addr: Any) -> Any:
        """A connection."""
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = Request
        return protocol


def _body(error: str, detail: str) -> bytes:
    return json.dumps({"error": error, "detail": detail}).encode()


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [*HEADERS, (b"Content-Length", b"%d" % len(body))]
