"""The live socket: what it says when the fleet changes, and whom it does not talk to."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from accounts import services as people_services
from accounts.tokens import make_token, revoke_token
from crewlet_site.sockets import SessionOrToken
from fleet import consumers, live
from fleet.pages.sheets import View
from runtime.access import Role
from tests.support.html import fact
from tests.support.twin_fleet import TwinFleet
from tests.support.waiting import eventually

# Threads of the socket read people, so rows have to be committed.
pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"], transaction=True),
    pytest.mark.usefixtures("firm"),
]
application = AuthMiddlewareStack(URLRouter(consumers.websocket_urlpatterns))


class Page:
    """One open socket."""

    def __init__(self, socket: WebsocketCommunicator) -> None:
        self.socket = socket

    async def greet(self, page: str, **more: str) -> None:
        hello = {"kind": "hello", "page": page, "subject": "", "query": ""} | more
        await self.socket.send_to(text_data=json.dumps(hello))

    async def until(
        self, is_it: Callable[[dict[str, Any]], bool], within: float = 5
    ) -> dict[str, Any]:
        async with asyncio.timeout(within):
            while True:
                frame: dict[str, Any] = json.loads(await self.socket.receive_from(within))
                if is_it(frame):
                    return frame

    async def cells(self, element: str, within: float = 5) -> str:
        frame = await self.until(lambda frame: element in frame.get("cells", {}), within)
        html: str = frame["cells"][element]
        return html

    async def closed(self, within: float = 12) -> int:
        async with asyncio.timeout(within):
            while True:
                message = await self.socket.receive_output(within)
                if message["type"] == "websocket.close":
                    return int(message["code"])


type Open = Callable[[Client], Any]


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    @asynccontextmanager
    async def open_page(client: Client) -> AsyncIterator[Page]:
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
        headers = [(b"cookie", cookies.encode()), (b"origin", b"http://testserver")]
        socket = WebsocketCommunicator(application, "/ws/live/", headers=headers)
        connected, _ = await socket.connect()
        assert connected
        try:
            yield Page(socket)
        finally:
            await socket.disconnect()

    yield open_page
    await live.pump().close()


@pytest.fixture
def peopled(fleet: TwinFleet) -> TwinFleet:
    epoch = fleet.activate()
    fleet.node("core-1")
    fleet.hold("ada-pm")
    fleet.report("core-1", epoch)
    return fleet


def other(act: Callable[..., object], *args: object, **kwargs: object) -> Awaitable[object]:
    """Somebody else's write, off this loop."""
    return sync_to_async(act, thread_sensitive=False)(*args, **kwargs)


async def test_a_pause_reaches_an_open_seats_page(
    peopled: TwinFleet, operator: Client, opened: Open
) -> None:
    async with opened(operator) as page:
        await page.greet("seats")
        await page.until(lambda frame: frame["kind"] == "clock")
        version = await other(peopled.pause, "ada-pm", reason="Refund policy")
        frame = await page.until(lambda frame: "seat-ada-pm-state" in frame.get("cells", {}))
    assert fact(frame["cells"]["seat-ada-pm-state"], "seat-ada-pm-state")[1].startswith(
        "stopped, paused"
    )
    assert "Refund policy" in frame["cells"]["seat-ada-pm-paused"]
    assert f'value="{version}:ada-pm"' in frame["cells"]["seat-ada-pm-action"]
    assert frame["say"] == "ada-pm paused"
    assert fact(frame["cells"]["rail-paused"], "rail-paused") == ("value", "1")
    assert frame["rev"] == frame["prev_rev"] + 1


async def test_a_fragment_carries_no_token_of_anybodys_session(
    peopled: TwinFleet, operator: Client, opened: Open
) -> None:
    async with opened(operator) as page:
        await page.greet("seats")
        await page.until(lambda frame: frame["kind"] == "clock")
        await other(peopled.pause, "ada-pm")
        frame = await page.until(lambda frame: "seat-ada-pm-action" in frame.get("cells", {}))
    assert "csrf" not in json.dumps(frame)


async def test_a_viewers_fragment_has_no_control(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    async with opened(viewer) as page:
        await page.greet("seats")
        await page.until(lambda frame: frame["kind"] == "clock")
        await other(peopled.pause, "ada-pm")
        html = await page.cells("seat-ada-pm-action")
    assert "needs the operator role" in html
    assert 'form="resume"' not in html


async def test_a_node_that_leaves_is_a_row_that_waits(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    lease = await other(peopled.node, "core-2")
    async with opened(viewer) as page:
        await page.greet("fleet")
        await page.until(lambda frame: frame["kind"] == "clock")
        await other(peopled.release, lease)
        frame = await page.until(lambda frame: frame["kind"] == "rows")
        assert (frame["appeared"], frame["left"]) == ([], ["node-core-2"])
        gone = await page.cells("node-core-2-presence")
        assert "left the fleet" in gone


async def test_a_node_that_comes_is_announced(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    async with opened(viewer) as page:
        await page.greet("fleet")
        await page.until(lambda frame: frame["kind"] == "clock")
        await other(peopled.node, "core-2")
        frame = await page.until(lambda frame: frame["kind"] == "rows")
        assert frame["appeared"] == ["node-core-2"]
        frame = await page.until(lambda frame: "figure-live" in frame.get("cells", {}))
        assert fact(frame["cells"]["figure-live"], "figure-live")[1].startswith("2")
        assert frame["say"] == "core-2 came"


async def test_silence_turns_every_fact_of_the_window_and_back(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    async with opened(viewer) as page:
        await page.greet("fleet")
        await page.until(lambda frame: frame["kind"] == "clock")
        await other(peopled.go_silent)
        frame = await page.until(
            lambda frame: frame["kind"] == "clock" and frame["store"]["state"] == "down", 12
        )
        assert frame["sources"]
        html = await page.cells("node-core-1-seats", 12)
        assert fact(html, "node-core-1-seats")[0] == "unknown"
        await other(peopled.come_back)
        await page.until(
            lambda frame: frame["kind"] == "clock" and frame["store"]["state"] == "live", 20
        )
        html = await page.cells("node-core-1-seats", 12)
        assert fact(html, "node-core-1-seats") == ("value", "1")


@pytest.mark.parametrize(
    ("page_name", "subject", "region"),
    [("seat", "ada-pm", "seat-region"), ("node", "core-1", "node-region")],
)
async def test_a_detail_page_is_told_its_region(
    peopled: TwinFleet,
    operator: Client,
    opened: Open,
    page_name: str,
    subject: str,
    region: str,
) -> None:
    async with opened(operator) as page:
        await page.greet(page_name, subject=subject)
        await page.until(lambda frame: frame["kind"] == "clock")
        await other(peopled.pause, "ada-pm", reason="Refund policy")
        assert "Refund policy" in await page.cells(region)


async def test_a_page_older_than_the_feed_is_told_whole(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    async with opened(viewer) as page:
        old = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
        await page.greet("fleet", made_at=old)
        assert "node-core-1-seats" in (await page.until(lambda f: f["kind"] == "cells"))["cells"]


async def test_two_pages_of_one_view_share_one_drawing(
    peopled: TwinFleet, viewer: Client, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(viewer) as one, opened(viewer) as two:
        for page in (one, two):
            await page.greet("seats", query="tz=utc")
            await page.until(lambda frame: frame["kind"] == "clock")
        assert len(live.pump().feeds) == 1
        await other(peopled.pause, "ada-pm")
        first = await one.cells("seat-ada-pm-state")
        assert await two.cells("seat-ada-pm-state") == first


async def test_a_stranger_is_closed_with_4401(peopled: TwinFleet, opened: Open) -> None:
    async with opened(Client()) as page:
        assert await page.closed() == consumers.SIGNED_OUT


async def test_a_removed_person_is_closed_within_seconds(
    peopled: TwinFleet, operator: Client, opened: Open
) -> None:
    async with opened(operator) as page:
        await page.greet("seats")
        await other(people_services.remove_person, "mira.l", by="test")
        assert await page.closed() == consumers.SIGNED_OUT


async def test_another_role_is_closed_within_seconds(
    peopled: TwinFleet, operator: Client, opened: Open
) -> None:
    def demote() -> None:
        people_services.change_role("mira.l", Role.VIEWER, by="test")

    async with opened(operator) as page:
        await page.greet("seats")
        await other(demote)
        assert await page.closed() == consumers.ROLE_CHANGED


async def test_a_page_of_another_build_is_told_that_there_is_a_newer_one(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    async with opened(viewer) as page:
        await page.greet("fleet", build="0.0.1")
        assert await page.closed() == consumers.NEWER_BUILD
    async with opened(viewer) as page:
        await page.greet("fleet", build=settings.BUILD)
        await page.until(lambda frame: frame["kind"] == "clock")


async def test_a_revoked_token_closes_its_socket_within_seconds(peopled: TwinFleet) -> None:
    token = await other(make_token, "watcher", Role.VIEWER, by="test")
    gate = SessionOrToken(URLRouter(consumers.websocket_urlpatterns))
    headers = [(b"authorization", f"Bearer {token}".encode())]
    page = Page(WebsocketCommunicator(gate, "/ws/live/", headers=headers))
    assert (await page.socket.connect())[0]
    await page.greet("fleet")
    await page.until(lambda frame: frame["kind"] == "clock")
    await other(revoke_token, "watcher")
    assert await page.closed() == consumers.SIGNED_OUT
    await page.socket.disconnect()
    await live.pump().close()


@pytest.mark.parametrize(
    "said",
    [
        "nonsense",
        "[]",
        "[" * 30_000,
        '{"kind":"hi"}',
        '{"kind":"hello","page":"people"}',
        '{"kind":"hello","page":["fleet"]}',
        '{"kind":"hello","page":"seat","subject":"\\ud800"}',
        '{"kind":"hello","page":"seats","query":"q=\\ud800"}',
        '{"kind":"hello","page":"seats","query":["q"]}',
    ],
)
async def test_anything_but_a_hello_is_closed_on(
    peopled: TwinFleet, viewer: Client, opened: Open, said: str
) -> None:
    async with opened(viewer) as page:
        await page.socket.send_to(text_data=said)
        assert await page.closed() == consumers.BAD_FRAME


async def test_a_socket_that_does_not_read_costs_a_bounded_queue() -> None:
    outbox = live.Outbox()
    for number in range(live.OUTBOX_FRAMES * 3):
        outbox.put(f"frame {number}", "seats")
    assert len(outbox) <= live.OUTBOX_FRAMES
    frames = [await outbox.get() for _ in range(len(outbox))]
    assert json.loads(frames[0]) == {"kind": "resync", "topic": "seats"}


async def test_a_feed_nobody_looks_at_is_forgotten(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    async with opened(viewer) as page:
        await page.greet("fleet")
        await page.until(lambda frame: frame["kind"] == "clock")
        assert View(page="fleet") in live.pump().feeds
    await eventually(lambda: not live.pump().feeds)


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("abcd", "abcd", ""),
        ("abcd", "cabd", "c"),
        ("abcd", "bcda", "a"),
        ("abcd", "axbd", ""),
        ("abcd", "dcba", "dcb"),
        ("", "ab", ""),
    ],
)
async def test_the_fewest_rows_count_as_moved(before: str, after: str, moved: str) -> None:
    assert live.find_moved(tuple(before), tuple(after)) == list(moved)


async def test_a_seat_that_changes_place_is_a_row_that_waits(
    peopled: TwinFleet, viewer: Client, opened: Open
) -> None:
    async with opened(viewer) as page:
        await page.greet("seats")
        await page.until(lambda frame: frame["kind"] == "clock")
        await other(peopled.pause, "cleo-eng")
        frame = await page.until(lambda frame: frame["kind"] == "rows")
        assert (frame["appeared"], frame["left"]) == ([], [])
        assert frame["moved"] == ["seat-cleo-eng"]


async def test_a_socket_that_cannot_be_written_is_closed_and_not_left_mute(
    peopled: TwinFleet, operator: Client, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_args: object, **_kwargs: object) -> None:
        message = "too large for this server"
        raise ValueError(message)

    monkeypatch.setattr(consumers.LiveConsumer, "send", refuse)
    async with opened(operator) as page:
        await page.greet("seats")
        assert await page.closed() == consumers.INTERNAL_ERROR
