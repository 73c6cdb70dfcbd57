"""A live socket as a page opens it."""

import asyncio
import json
from typing import Any, override

from autobahn.asyncio.websocket import WebSocketClientFactory, WebSocketClientProtocol

from bench._site import Site, Visitor


class Tab(WebSocketClientProtocol):
    """Says which page it shows, and hears frames. Override `hear`.

    Args:
        view: the page's name and its query string.
    """

    def __init__(self, view: tuple[str, str]) -> None:
        super().__init__()
        self._view = view
        self.is_greeted = False

    def hear(self, frame: dict[str, Any], size: int) -> None:
        """Take a frame of that many bytes of text."""

    @override
    def onOpen(self) -> None:
        page, query = self._view
        hello = {"kind": "hello", "page": page, "subject": "", "query": query, "made_at": ""}
        self.sendMessage(json.dumps(hello).encode())  # type: ignore[no-untyped-call]  # untyped library

    @override
    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        self.is_greeted = True
        self.hear(json.loads(payload), len(payload))


async def open_tab(site: Site, visitor: Visitor, tab: Tab) -> None:
    """Connect it as somebody who signed in."""
    factory: Any = WebSocketClientFactory(  # type: ignore[no-untyped-call]  # untyped library
        f"ws://127.0.0.1:{site.node.port}/ws/live/",
        origin=site.node.url,
        headers={"Cookie": visitor.cookie_header},
    )
    factory.protocol = lambda: tab
    await asyncio.get_running_loop().create_connection(factory, "127.0.0.1", site.node.port)
