"""A node's API as tests use it: a second witness beside the pages, and a quick hand."""

import http.client
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coordination.rules import uuid7
from tests.support.running_node import RunningNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status, headers (names in lower case) and decoded body."""

    status: int
    headers: Mapping[str, str]
    body: Any


def call(node: RunningNode, method: str, path: str, body: object = None) -> Answer:
    """One request with the token of the node's own commands."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=15)
    headers = {"Authorization": f"Bearer {node.token}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        said = {name.lower(): text for name, text in response.getheaders()}
        return Answer(status=response.status, headers=said, body=json.loads(response.read()))
    finally:
        connection.close()


def read_seat(node: RunningNode, handle: str) -> dict[str, Any]:
    """One seat."""
    return _ok(call(node, "GET", f"/api/seats/{handle}"))


def read_epochs(node: RunningNode) -> dict[str, int]:
    """Lease epoch by handle of every held seat."""
    fleet = _ok(call(node, "GET", "/api/fleet"))
    return {seat["handle"]: seat["epoch"] for seat in fleet["seats"]}


def read_owner(node: RunningNode) -> str:
    """The fencing owner of the one node."""
    fleet = _ok(call(node, "GET", "/api/fleet"))
    owner: str = fleet["nodes"][0]["owner"]
    return owner


def pause(node: RunningNode, handle: str, reason: str) -> dict[str, Any]:
    """Pause a seat; the receipt."""
    body = {"request_id": _request_id(), "reason": reason}
    return _ok(call(node, "POST", f"/api/seats/{handle}/pause", body))


def resume(node: RunningNode, handle: str) -> None:
    """Resume a seat if it is paused."""
    paused = read_seat(node, handle).get("paused")
    if paused:
        body = {"request_id": _request_id(), "version": paused["version"]}
        _ok(call(node, "POST", f"/api/seats/{handle}/resume", body))


def _request_id() -> str:
    return str(uuid7.mint(time.time_ns() // 1_000_000, secrets.token_bytes(uuid7.TAIL_BYTES)))


def _ok(answer: Answer) -> dict[str, Any]:
    assert answer.status == http.client.OK, answer
    body: dict[str, Any] = answer.body
    return body
