"""The gate before every socket: only our own pages, and only who is signed in, reach a consumer."""

from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

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


async def refuse(_scope: Scope, receive: Any, send: Any) -> None:
    """Close before accepting: the client sees 403."""
    await receive()
    await send({"type": "websocket.close"})
