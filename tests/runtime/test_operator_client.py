"""The client of operator commands, against a small server of this test's own."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import override

import pytest
from pytest_django.fixtures import Settings

from crewlet_site.home import Home
from runtime import operator_client
from runtime.operator_client import Json, NotReached, Reply, request
from tests.support.nats_server import free_port


class Handler(BaseHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal."""

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        said = json.loads(self.rfile.read(size))
        told = {"said": said, "bearer": self.headers["Authorization"], "path": self.path}
        self.answer(200, told)

    def do_GET(self) -> None:
        if self.path == "/api/empty":
            self.answer(204, None)
        else:
            self.answer(503, {"error": "unavailable", "detail": "The store could not be asked."})

    def answer(self, status: int, body: object) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def api(settings: Settings) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    settings.API_URL = f"http://127.0.0.1:{server.server_port}"
    settings.OPERATOR_TOKEN = "secret-token"
    yield
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.usefixtures("api")
def test_a_request_carries_the_token_and_brings_the_answer() -> None:
    reply = request("POST", "/api/seats/ada/pause", {"reason": "r"})
    assert reply.exit_code == 0
    assert reply.data == {
        "said": {"reason": "r"},
        "bearer": "Bearer secret-token",
        "path": "/api/seats/ada/pause",
    }


@pytest.mark.usefixtures("api")
def test_a_refusal_is_a_reply_with_its_sentence() -> None:
    reply = request("GET", "/api/fleet")
    assert (reply.status, reply.exit_code) == (503, 1)
    assert reply.problem == "The store could not be asked."


@pytest.mark.usefixtures("api")
def test_an_empty_answer_has_no_data() -> None:
    assert request("GET", "/api/empty").data is None


def test_a_node_that_is_not_up_is_one_sentence(settings: Settings) -> None:
    settings.API_URL = f"http://127.0.0.1:{free_port()}"
    settings.OPERATOR_TOKEN = "secret-token"
    with pytest.raises(NotReached, match=r"start it with \./crewlet up") as caught:
        request("POST", "/api/seats/ada/pause", {})
    assert not caught.value.may_have_landed, "nobody listened"


def test_a_connection_that_ends_without_an_answer_may_have_brought_the_write(
    settings: Settings,
) -> None:
    settings.OPERATOR_TOKEN = "secret-token"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.API_URL = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def hang_up() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                connection.recv(65_536)
                connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(NotReached) as wrote:
            request("POST", "/api/seats/ada/pause", {})
        with pytest.raises(NotReached) as read:
            request("GET", "/api/seats/ada")
        thread.join()
    assert wrote.value.may_have_landed
    assert not read.value.may_have_landed


@pytest.mark.parametrize(
    ("status", "data", "may"),
    [
        (200, {}, False),
        (409, {"error": "conflict"}, False),
        (503, {"error": "unavailable"}, False),
        (503, {"error": "unavailable", "outcome": "unknown"}, True),
        (500, {"error": "internal_error"}, True),
        (502, "Bad gateway", True),
        (404, "Not found", False),
    ],
)
def test_what_an_answer_says_about_a_write(status: int, data: Json, may: bool) -> None:
    assert Reply(status=status, data=data).may_have_landed is may


@pytest.mark.parametrize("token", ["two\nlines", "t\u00f6ken", "a b", "\x00"])
def test_a_token_that_no_header_carries_is_one_sentence(settings: Settings, token: str) -> None:
    settings.OPERATOR_TOKEN = token
    with pytest.raises(NotReached, match="CREWLET_API_TOKEN holds no token"):
        request("GET", "/api/fleet")


def test_a_home_without_a_token_says_where_one_comes_from(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings.OPERATOR_TOKEN = None
    settings.HOME = Home(tmp_path_factory.mktemp("home"))
    with pytest.raises(NotReached, match="CREWLET_API_TOKEN"):
        request("GET", "/api/fleet")
    assert operator_client.NotReached.__doc__
