"""The gate before every socket: only our own pages, and only who is signed in, reach a consumer."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.db import database_sync_to_async
from django.conf import settings

from accounts.tokens import authenticate

type Scope = dict[str, Any]
type Application = Callable[[Scope, Any, Any], Awaitable[None]]


class OwnPagesOnly:
    """Refuse a handshake whose `Origin` is not this site's.

    A browser sends the session cookie along with any page's socket; `Origin` tells whose page it
    is. A client without one must show a bearer token instead of riding on a cookie.
    """

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass the handshake on, or refuse it with 403."""
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is None:
            is_ours = b"authorization" in headers and b"cookie" not in headers
        else:
            is_ours = origin.decode("latin-1") in settings.SOCKET_ORIGINS
        if is_ours:
            await self._inner(scope, receive, send)
        else:
            await refuse(scope, receive, send)


class SessionOrToken:
    """Say who opens a socket: a bearer token where there is one, else the session.

    `scope["user"]` becomes a person, or the token's `Caller`; with a token there is no session, and
    `scope["present_caller"]` asks again whether the token stands.
    """

    def __init__(self, inner: Application) -> None:
        self._with_token = inner
        self._with_session: Application = AuthMiddlewareStack(inner)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass the handshake on with its user; a token that does not stand is refused."""
        header = dict(scope["headers"]).get(b"authorization")
        if header is None:
            await self._with_session(scope, receive, send)
            return
        ask = functools.partial(database_sync_to_async(authenticate), header.decode("latin-1"))
        caller = await ask()
        if caller is None:
            await refuse(scope, receive, send)
            return
        known = {**scope, "user": caller, "session": None, "present_caller": ask}
        await self._with_token(known, receive, send)


async def refuse(_scope: Scope, receive: Any, send: Any) -> None:
    """Close before accepting: the client sees 403."""
    await receive()
    await send({"type": "websocket.close"})
