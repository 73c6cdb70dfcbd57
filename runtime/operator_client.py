"""What operator commands are made of: a client of the running node's API.

Exit codes: 0 when the node did what was asked, 1 otherwise; every failure is one sentence.
"""

import http
import http.client
import json
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

TIMEOUT: Final = 30.0  # seconds
REPLY_LIMIT_BYTES: Final = 64 * 1024 * 1024

# The connection itself failed, so nothing left this machine.
_NEVER_SENT: Final = (ConnectionRefusedError, socket.gaierror)

type Json = dict[str, Json] | list[Json] | str | int | float | bool | None


class NotReached(Exception):
    """The node's API could not be asked; the text is one sentence with the way out.

    Attributes:
        may_have_landed: whether a write had left before the connection failed.
    """

    def __init__(self, message: str, *, may_have_landed: bool = False) -> None:
        self.may_have_landed = may_have_landed
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the node answered.

    Attributes:
        status: the HTTP status.
        data: the decoded body; None where there was none.
    """

    status: int
    data: Json

    @property
    def is_ok(self) -> bool:
        """Whether it did what was asked."""
        return 200 <= self.status < 300

    @property
    def exit_code(self) -> int:
        """What a command ends with."""
        return 0 if self.is_ok else 1

    @property
    def may_have_landed(self) -> bool:
        """Whether a write that was answered so may stand all the same.

        A node's refusals carry a code; without one, something in front of it answered.
        """
        if self.is_ok:
            return False
        if not isinstance(self.data, dict) or "error" not in self.data:
            return self.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
        return self.data.get("outcome") == "unknown" or self.data["error"] == "internal_error"

    @property
    def problem(self) -> str:
        """The refusal as one sentence; empty when there is none."""
        if self.is_ok:
            return ""
        if isinstance(self.data, dict):
            for field in ("detail", "message", "error"):
                said = self.data.get(field)
                if isinstance(said, str) and said:
                    return said
        return f"The node answered {self.status}."


def request(method: str, path: str, body: Json = None) -> Reply:
    """Ask the running node.

    Args:
        method: an HTTP method.
        path: from `/api/` on.
        body: sent as JSON where given.

    Raises:
        NotReached: there is no token, or nothing answers.
    """
    asked = urllib.request.Request(
        settings.API_URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {_token()}",
            "Accept": "application/json",
            **({} if body is None else {"Content-Type": "application/json"}),
        },
    )
    try:
        with _opener.open(asked, timeout=TIMEOUT) as answer:
            return Reply(status=answer.status, data=_decode(answer.read(REPLY_LIMIT_BYTES)))
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Reply(status=refusal.code, data=_decode(refusal.read(REPLY_LIMIT_BYTES)))
    except (urllib.error.URLError, OSError, http.client.HTTPException) as fault:
        reason = getattr(fault, "reason", fault)
        msg = (
            f"No node answers at {settings.API_URL} ({reason}): start it with ./crewlet up, or"
            " name its port with CREWLET_PORT."
        )
        is_sent = method != "GET" and not isinstance(reason, _NEVER_SENT)
        raise NotReached(msg, may_have_landed=is_sent) from fault


def _token() -> str:
    given = getattr(settings, "OPERATOR_TOKEN", None)
    if given:
        return _checked(str(given), "CREWLET_API_TOKEN")
    path: Path = settings.HOME.cli_token
    try:
        return _checked(path.read_text(encoding="ascii").strip(), str(path))
    except (OSError, ValueError) as fault:
        msg = (
            f"There is no API token at {path}: it is made by the first ./crewlet up; elsewhere set"
            " CREWLET_API_TOKEN."
        )
        raise NotReached(msg) from fault


def _checked(token: str, source: str) -> str:
    """A token as a header can carry it."""
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        msg = f"{source} holds no token: one is 88 letters, digits, '-' and '_' on one line."
        raise NotReached(msg)
    return token


def _decode(body: bytes) -> Json:
    if not body:
        return None
    try:
        decoded: Json = json.loads(body)
    except ValueError:
        return body.decode(errors="replace")[:2000]
    return decoded


# Straight to the node: a proxy set for the machine's browsing has no business between.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
