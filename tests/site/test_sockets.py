"""Only our own pages reach a consumer: the handshake's `Origin`."""

from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from pytest_django import Settings

from accounts.tokens import make_token
from crewlet_site.sockets import OwnPagesOnly, SessionOrToken
from runtime.access import Role

Headers = list[tuple[bytes, bytes]]


async def accept(_scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})


@pytest.fixture(autouse=True)
def _origins(settings: Settings) -> None:
    settings.SOCKET_ORIGINS = ["https://crewlet.example.org"]


async def is_let_in(headers: Headers) -> bool:
    communicator = WebsocketCommunicator(OwnPagesOnly(accept), "/ws/live/", headers=headers)
    connected, _ = await communicator.connect()
    return bool(connected)


@pytest.mark.parametrize(
    "origin",
    [
        b"https://evil.example",
        b"http://crewlet.example.org",
        b"https://crewlet.example.org:8443",
        b"https://crewlet.example.org.evil.example",
        b"null",
        b"",
        b"\xff",
    ],
)
async def test_a_foreign_origin_is_refused_even_with_a_session(origin: bytes) -> None:
    assert not await is_let_in([(b"origin", origin), (b"cookie", b"crewlet_session=x")])


async def test_our_own_pages_are_let_in() -> None:
    assert await is_let_in([(b"origin", b"https://crewlet.example.org")])


async def test_a_client_without_an_origin_needs_a_token_of_its_own() -> None:
    assert not await is_let_in([])
    assert not await is_let_in([(b"cookie", b"crewlet_session=x")])
    assert not await is_let_in([(b"authorization", b"Bearer x"), (b"cookie", b"a=b")])
    assert await is_let_in([(b"authorization", b"Bearer x")])


@pytest.mark.django_db(databases=["default", "estate"], transaction=True)
async def test_a_token_says_who_opens_a_socket() -> None:
    token = await database_sync_to_async(make_token)("watcher", Role.VIEWER, by="test")
    seen: list[Any] = []

    async def note(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)
        await accept(scope, receive, send)

    for header, is_good in ((f"Bearer {token}", True), (f"Bearer {token}x", False)):
        communicator = WebsocketCommunicator(
            SessionOrToken(note), "/ws/live/", headers=[(b"authorization", header.encode())]
        )
        assert (await communicator.connect())[0] is is_good
    (scope,) = seen
    assert (scope["user"].name, scope["user"].role, scope["session"]) == (
        "watcher",
        Role.VIEWER,
        None,
    )
