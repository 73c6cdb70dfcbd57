"""`/ws/live/`: one socket a page. Says what changed, when the store answered, and when to leave."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, override
from urllib.parse import parse_qsl, urlencode

from channels.auth import get_user
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.urls import path

from fleet import live
from fleet.pages.sheets import PAGES, View
from runtime.access import Permission, Role, may, role_of

SIGNED_OUT: Final = 4401
ROLE_CHANGED: Final = 4403
NEWER_BUILD: Final = 4409
BAD_FRAME: Final = 1008
INTERNAL_ERROR: Final = 1011
RECHECK_EVERY: Final = timedelta(seconds=5)
LONGEST_TEXT: Final = 2_000  # characters of a query or subject that are looked at
_log = logging.getLogger("crewlet.live")
_DROPPED: Final = ("tz",)  # zones are the browser's own: they do not multiply feeds


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # untyped base
    """One page's socket."""

    role: Role | None = None
    feed: live.Feed | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.outbox = live.Outbox()
        self._tasks: list[asyncio.Task[None]] = []

    @override
    async def connect(self) -> None:
        """Accept whoever is signed in; a stranger is told so by the close code."""
        await self.accept()
        self.role = role_of(self.scope.get("user"))
        if self.role is None:
            await self.close(SIGNED_OUT)
            return
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._send_frames(), name="socket-send"),
            loop.create_task(self._recheck(), name="socket-recheck"),
        ]
        for task in self._tasks:
            task.add_done_callback(self._note_end)

    @override
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A hello names the page; anything else is closed on."""
        said = _read_json(text_data)
        view, made_at = _read_hello(said, self.scope.get("user"))
        if view is None:
            await self.close(BAD_FRAME)
            return
        if said.get("build") not in (None, settings.BUILD):
            # A page of the build before this one may not understand what it would be told.
            await self.close(NEWER_BUILD)
            return
        self._look_away()
        self.feed = await live.pump().join(view, self.outbox, made_at)

    @override
    async def disconnect(self, code: int) -> None:
        """Leave the feed and end both tasks."""
        self._look_away()
        mine = asyncio.current_task()
        for task in self._tasks:
            if task is not mine and not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """A socket whose task failed would stay open and say nothing: it is closed instead."""
        fault = None if task.cancelled() else task.exception()
        if fault is None:
            return
        _log.error("socket_failed task=%s", task.get_name(), exc_info=fault)
        closing = self.close(INTERNAL_ERROR)
        self._tasks.append(task.get_loop().create_task(closing, name="socket-close"))

    def _look_away(self) -> None:
        if self.feed is not None:
            live.pump().leave(self.feed, self.outbox)
            self.feed = None

    async def _send_frames(self) -> None:
        drain = _drain_of(self.scope)
        while True:
            frame = await self.outbox.get()
            await drain()
            await self.send(text_data=frame)

    async def _recheck(self) -> None:
        """A removed person or another role closes the socket within seconds."""
        ends_at = datetime.now(UTC) + timedelta(seconds=settings.SESSION_COOKIE_AGE)
        while True:
            await asyncio.sleep(RECHECK_EVERY.total_seconds())
            role = await _present_role(self.scope)
            if role is None or datetime.now(UTC) > ends_at:
                await self.close(SIGNED_OUT)
                return
            if role is not self.role:
                await self.close(ROLE_CHANGED)
                return


def _read_json(text: str | None) -> Mapping[str, Any]:
    """An object as it came in; empty for anything else."""
    try:
        said = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, Mapping) else {}


def _read_hello(said: Mapping[str, Any], user: object) -> tuple[View | None, datetime | None]:
    if said.get("kind") != "hello":
        return None, None
    page, subject, query = (said.get(name) or "" for name in ("page", "subject", "query"))
    if page not in PAGES or not (_is_plain(subject) and _is_plain(query)):
        return None, None
    pairs = [pair for pair in parse_qsl(query) if pair[0] not in _DROPPED]
    view = View(
        page=page,
        subject=subject,
        query=urlencode(sorted(pairs)),
        may_pause=may(user, Permission.PAUSE),
    )
    return view, _read_moment(said.get("made_at"))


def _is_plain(text: object) -> bool:
    """Whether it is a text that an address could have held; half a pair of code units is none."""
    return (
        isinstance(text, str)
        and len(text) <= LONGEST_TEXT
        and not any("\ud800" <= char <= "\udfff" for char in text)
    )


def _read_moment(text: object) -> datetime | None:
    """When the page was made; a page that says "" reads itself again and misses nothing."""
    if text == "":
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


async def _nothing() -> None:
    """The drain of a server with flow control of its own."""


def _drain_of(scope: Mapping[str, Any]) -> Callable[[], Awaitable[None]]:
    door = scope.get("extensions", {}).get("crewlet.door", {})
    drain: Callable[[], Awaitable[None]] = door.get("drain", _nothing)
    return drain


class _Checked:
    """The role of a session as last read, so that fifty tabs of one person cost one read."""

    def __init__(self) -> None:
        self.held: dict[tuple[object, object], tuple[float, Role | None]] = {}

    def find(self, key: tuple[object, object], now: float) -> tuple[bool, Role | None]:
        """Whether it was read within the last period, and what it was."""
        read_at, role = self.held.get(key, (float("-inf"), None))
        return now - read_at < RECHECK_EVERY.total_seconds() * 0.9, role

    def keep(self, key: tuple[object, object], now: float, role: Role | None) -> None:
        """Remember, and forget what is old."""
        span = RECHECK_EVERY.total_seconds()
        self.held = {each: row for each, row in self.held.items() if now - row[0] < span}
        self.held[key] = (now, role)


_checked: Final = _Checked()


async def _present_role(scope: Mapping[str, Any]) -> Role | None:
    session = scope.get("session")
    key = (
        (session.get("_auth_user_id"), session.get("_auth_user_hash"))
        if session is not None
        else (id(scope), None)
    )
    now = asyncio.get_running_loop().time()
    is_recent, role = _checked.find(key, now)
    if is_recent:
        return role
    # A token's socket brings its own way of asking again: it has no session to read.
    ask = scope.get("present_caller")
    role = role_of(await ask() if ask is not None else await get_user(scope))
    _checked.keep(key, now, role)
    return role


websocket_urlpatterns = [path("ws/live/", LiveConsumer.as_asgi())]
