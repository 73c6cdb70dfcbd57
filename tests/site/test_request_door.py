"""The limits of a request, against a real server: what is too large or too slow is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crewlet_site import request_door
from crewlet_site.limits import BODY_LIMIT_BYTES
from tests.site.door import DoorServer

LIMIT = BODY_LIMIT_BYTES


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DoorServer]:
    running = DoorServer(tmp_path)
    yield running
    running.close()


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[DoorServer]:
    running = DoorServer(tmp_path, request_seconds=0.3)
    yield running
    running.close()


def head(*lines: str) -> bytes:
    every = ("POST / HTTP/1.1", "Host: localhost", "Connection: close", *lines, "", "")
    return "\r\n".join(every).encode()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def refusal(answer: bytes) -> tuple[int, str]:
    """Status and code of a refusal, which must carry the headers of every other answer."""
    headers, _, body = answer.partition(b"\r\n\r\n")
    for name, value in request_door.HEADERS:
        assert b"%s: %s" % (name, value) in headers, headers
    said: dict[str, Any] = json.loads(body)
    assert said["detail"].endswith(".")
    return status(answer), said["error"]


def chunked(count: int, size: int = 65_536) -> list[bytes]:
    return [*([b"%x\r\n%s\r\n" % (size, b"x" * size)] * count), b"0\r\n\r\n"]


def test_a_body_that_fits_reaches_the_application_whole(server: DoorServer) -> None:
    said = server.send(head(f"Content-Length: {LIMIT}"), b"x" * LIMIT)
    assert status(said) == 200
    assert b"\r\n%d\r\n" % LIMIT in said
    assert status(server.send(head("Transfer-Encoding: chunked"), *chunked(17))) == 200


def test_a_body_that_is_too_large_is_refused_whether_it_says_its_size_or_not(
    server: DoorServer,
) -> None:
    too_large = (413, "body_too_large")
    told = server.send(head(f"Content-Length: {LIMIT + 1}"), b"x" * (LIMIT + 1))
    assert refusal(told) == too_large
    assert refusal(server.send(head("Transfer-Encoding: chunked"), *chunked(18))) == too_large


def test_a_body_without_end_is_refused_in_the_middle(server: DoorServer) -> None:
    declared = server.send(head("Content-Length: 99999999999"))
    assert refusal(declared) == (413, "body_too_large")
    many = request_door.DROPPED_LIMIT_BYTES // 65_536 + 1
    endless = server.send(head("Transfer-Encoding: chunked"), *chunked(many)[:-1])
    assert refusal(endless) == (413, "body_too_large")


def test_headers_that_do_not_arrive_are_not_waited_for(impatient: DoorServer) -> None:
    answer = impatient.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    assert refusal(answer) == (408, "unreadable_request")


def test_a_body_that_does_not_arrive_is_not_waited_for(impatient: DoorServer) -> None:
    answer = impatient.send(head("Content-Length: 10"), b"12345")
    assert refusal(answer) == (400, "unreadable_body")


def test_what_the_server_refuses_by_itself_looks_like_every_other_refusal(
    server: DoorServer,
) -> None:
    answer = server.send(head("X-Odd: a\x1cb"))
    assert refusal(answer) == (400, "unreadable_request")
    assert b"Daphne" not in answer


def test_a_form_without_its_boundary_is_for_the_application_to_judge(server: DoorServer) -> None:
    said = server.send(head("Content-Type: multipart/form-data", "Content-Length: 5"), b"--x\r\n")
    assert status(said) == 200
