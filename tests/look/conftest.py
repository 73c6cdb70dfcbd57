"""A page on a small server of its own: templates and files, with the socket played by the test."""

import json
import mimetypes
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, override
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.template import engines
from django.test import RequestFactory
from playwright.sync_api import Browser, Page, WebSocketRoute

from runtime import facts
from runtime.drawing import draw_fact
from runtime.facts import Fact
from runtime.frame import Frame, LinkState, SourceLine
from runtime.moments import Clock

POLICY = "; ".join(
    ["default-src 'none'"]
    + [f"{kind}-src 'self'" for kind in ("script", "style", "font", "img", "connect")]
    + ["form-action 'self'"]
)
PAGES = Path(__file__).parent / "pages"
SAMPLE = (PAGES / "seats.html").read_text()
FORM = (PAGES / "pause.html").read_text()


type Answer = tuple[int, dict[str, str], str] | None
"""Status, headers and body; nothing when the connection is dropped without a word."""


@dataclass
class Stage:
    """What the page is shown, and what it said back."""

    page: Page
    seats: list[str] = field(default_factory=lambda: ["ada", "bo"])
    states: dict[str, Fact] = field(default_factory=dict)
    sockets: list[WebSocketRoute] = field(default_factory=list)
    hellos: list[dict[str, object]] = field(default_factory=list)
    posts: list[str] = field(default_factory=list)
    reads: int = 0
    answer: Callable[[], Answer] = lambda: None
    serves_pages: bool = True
    url: str = ""

    def state_of(self, seat: str) -> Fact:
        return self.states.get(seat, facts.value("idle", mark="idle"))

    def html(self, template: str, **extra: object) -> str:
        now = datetime.now(UTC)
        link = LinkState(
            up=True,
            since=now,
            answered_at=now,
            sources=(SourceLine(name="seat pauses", up=True, answered_at=now),),
        )
        frame = Frame(
            company="Harbourline",
            node="core-1",
            build="0.1.0",
            person="Mira",
            role="operator",
            link=link,
            paused=facts.number(1),
            clock=Clock(now=now),
            path="/seats/",
            page="seats",
        )
        lines = [(seat, self.state_of(seat), f"state-{seat}") for seat in self.seats]
        request = RequestFactory().get("/seats/")
        context = {"frame": frame, "lines": lines, "messages": [], **extra}
        return engines["django"].from_string(template).render(context, request)

    def send(self, **frame: object) -> None:
        self.sockets[-1].send(json.dumps(frame))

    def clock(self, state: str = "live", silent_for: timedelta | None = None) -> None:
        now = datetime.now(UTC)
        since = now - (silent_for or timedelta())
        self.send(
            kind="clock",
            server_time=now.isoformat(),
            store={"state": state, "answered_at": since.isoformat(), "since": since.isoformat()},
            sources=[{"name": "seat pauses", "state": state, "answered_at": since.isoformat()}],
        )

    def cells(self, rev: int, prev_rev: int, say: str = "", **states: Fact) -> None:
        clock = Clock(now=datetime.now(UTC))
        self.send(
            kind="cells",
            topic="seats",
            rev=rev,
            prev_rev=prev_rev,
            say=say,
            cells={
                f"state-{seat}": draw_fact(fact, clock=clock, id=f"state-{seat}")
                for seat, fact in states.items()
            },
        )

    def page_at(self, path: str) -> str:
        self.reads += 1
        return self.html(FORM if path == "/seats/pause/" else SAMPLE)

    def accept(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        socket.on_message(lambda text: self.hellos.append(json.loads(text)))

    def open(self) -> "Stage":
        self.page.route_web_socket("**/ws/live/", self.accept)
        self.page.goto(f"{self.url}/seats/")
        self.page.wait_for_function("document.documentElement.classList.contains('js')")
        return self


@pytest.fixture
def errors() -> list[str]:
    """What the browser complained about: a refused inline style or script stands here."""
    return []


class Door(BaseHTTPRequestHandler):
    """Answers from the stage that its server carries."""

    @property
    def stage(self) -> Stage:
        stage: Stage = self.server.stage  # type: ignore[attr-defined] # set by the fixture below
        return stage

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the test says what went wrong."""

    def reply(self, answer: Answer) -> None:
        if answer is None or not self.stage.serves_pages:
            self.close_connection = True
            return
        status, headers, body = answer
        self.write(status, headers, body.encode())

    def write(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in (
            {"Content-Type": "text/html", "Content-Length": str(len(body))} | headers
        ).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith("/static/"):
            found = finders.find(path.removeprefix("/static/"))
            assert isinstance(found, str), f"{path} is no static file"
            kind = mimetypes.guess_type(path)[0] or "text/plain"
            self.write(200, {"Content-Type": kind}, Path(found).read_bytes())
            return
        self.reply((200, {"Content-Security-Policy": POLICY}, self.stage.page_at(path)))

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        assert self.headers["X-Crewlet-Dialog"] == "1"
        self.stage.posts.append(self.rfile.read(length).decode())
        self.reply(self.stage.answer())


@pytest.fixture
def stage(chromium: Browser, errors: list[str]) -> Iterator[Stage]:
    assert settings.STATIC_URL == "/static/"
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        stage = Stage(page=page, url=f"http://127.0.0.1:{server.server_port}")
        server.stage = stage  # type: ignore[attr-defined] # read by the door
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield stage.open()
        context.close()
        server.shutdown()
