"""Flow control between daphne and a peer that reads slowly or writes too fast.

daphne writes a reply whether the peer reads or not, and queues what the peer sends whether the
application takes it or not; either costs memory without bound. Behind this door

- `await send({"type": "websocket.send", …})` returns once the peer's share of the write buffer is
  below Twisted's high-water mark (64 KiB): a consumer that awaits its sends holds one message, and
  whatever feeds it must be bounded;
- `scope["extensions"]["crewlet.door"]["drain"]` is an async callable that waits for the same thing
  before a message is even built. Under a server with flow control of its own the extension is
  absent, and doing without is right;
- at most 16 received messages wait for the application; then the transport is paused;
- at a stop of the server every open socket is closed with 1012 (service restart).

Only this module and `request_door`, which limits requests, know Twisted and daphne from the inside.
`missing_internals` names what a changed release no longer has, and `Server` refuses to start
without it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import daphne.server
import daphne.ws_protocol
from autobahn.twisted.websocket import WebSocketServerProtocol
from twisted.internet import defer
from twisted.internet import reactor as _reactor
from twisted.internet.abstract import FileDescriptor
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from crewlet_site import request_door
from crewlet_site.errors import StartRefused

# Twisted's types describe the module, not the reactor that daphne installs in its place.
reactor: Any = _reactor

EXTENSION: Final = "crewlet.door"
RECEIVED_LIMIT: Final = 16  # messages
MESSAGE_LIMIT_BYTES: Final = 64 * 1024  # what a client may say at once; a greeting has some 200
SERVICE_RESTART: Final = 1012
GOODBYE_SECONDS: Final = 0.2  # for close frames to leave before the sockets are torn down

type Message = dict[str, Any]


@implementer(IPushProducer)
class Gate:
    """Open while the transport wants more; Twisted closes and opens it as a push producer."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._open = asyncio.Event()
        self._open.set()

    def pauseProducing(self) -> None:
        """The write buffer went above its mark."""
        self._open.clear()

    def resumeProducing(self) -> None:
        """The write buffer is empty."""
        self._open.set()
        if self._transport.disconnecting:
            # A transport with a producer does not finish a graceful close by itself.
            self._transport.unregisterProducer()

    def stopProducing(self) -> None:
        """The connection is gone: nobody shall wait for it."""
        self._open.set()

    async def drain(self) -> None:
        """Wait until more may be written, or the connection is gone."""
        await self._open.wait()


class Socket(daphne.ws_protocol.WebSocketProtocol):  # type: ignore[misc]  # untyped base
    """daphne's socket with a gate on what is sent and a limit on what is received."""

    gate: Gate | None = None
    queue_length: Callable[[], int] | None = None
    is_paused = False
    maxMessagePayloadSize: int

    def connectionMade(self) -> None:
        """Stand in for the HTTP channel as the transport's producer."""
        super().connectionMade()
        self.gate = Gate(self.transport)
        self.transport.unregisterProducer()
        self.transport.registerProducer(self.gate, True)

    def connectionLost(self, reason: Any) -> None:
        """Let go of whoever waits to send."""
        if self.gate is not None:
            self.gate.stopProducing()
        super().connectionLost(reason)

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """Hand a message on; stop reading when the application is far behind."""
        super().onMessage(payload, isBinary)
        if self.queue_length is not None and self.queue_length() >= RECEIVED_LIMIT:
            self.is_paused = True
            self.transport.pauseProducing()

    def note_taken(self) -> None:
        """The application took a message: read on."""
        if self.is_paused and self.queue_length is not None:
            self.is_paused = self.queue_length() >= RECEIVED_LIMIT
            if not self.is_paused:
                self.transport.resumeProducing()

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:
        """Send; autobahn's limit on a message is meant here for what peers say, not for pages."""
        limit, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().serverSend(content, binary)
        finally:
            self.maxMessagePayloadSize = limit

    def say_goodbye(self) -> None:
        """Close with the code that tells a client to come back."""
        if self.state == self.STATE_OPEN:
            self.serverClose(SERVICE_RESTART)

    def serverClose(self, code: int | None = None) -> None:
        """Close with any code; autobahn's own check would refuse 1012 and 1013 to a server."""
        self.sendCloseFrame(code=1000 if code is None else code)


class Server(daphne.server.Server):  # type: ignore[misc]  # untyped base
    """daphne's server with the door in place."""

    application: Any
    _http_factory: Any = None
    _ws_factory: Any = None

    @property
    def http_factory(self) -> Any:
        """The factory of connections, which `run` makes."""
        return self._http_factory

    @http_factory.setter
    def http_factory(self, _factory: Any) -> None:
        self._http_factory = request_door.RequestFactory(self)

    @property
    def ws_factory(self) -> Any:
        """The factory of sockets, which `run` makes."""
        return self._ws_factory

    @ws_factory.setter
    def ws_factory(self, factory: Any) -> None:
        factory.protocol = Socket
        self._ws_factory = factory

    def run(self) -> None:
        """Serve until stopped.

        Raises:
            StartRefused: this release of the server lacks what the door stands on.
        """
        missing = missing_internals()
        if missing:
            msg = (
                f"The installed server lacks {', '.join(missing)}: install the versions that "
                "requirements.txt pins, because sockets would have no flow control."
            )
            raise StartRefused(msg)
        super().run()

    def create_application(self, protocol: Any, scope: Message) -> Any:
        """Give sockets the extension, and count what their application takes."""
        if not isinstance(protocol, Socket) or protocol.gate is None:
            return super().create_application(protocol, scope)
        scope.setdefault("extensions", {})[EXTENSION] = {"drain": protocol.gate.drain}
        inner = self.application
        self.application = _counting(inner, protocol)
        try:
            queue = super().create_application(protocol, scope)
        finally:
            self.application = inner
        protocol.queue_length = queue.qsize if queue is not None else None
        return queue

    async def handle_reply(self, protocol: Any, message: Message) -> None:
        """Write a reply; a socket's message counts as sent once the peer keeps up."""
        await super().handle_reply(protocol, message)
        if isinstance(protocol, Socket) and message["type"] == "websocket.send":
            assert protocol.gate is not None
            await protocol.gate.drain()

    def kill_all_applications(self) -> Any:
        """Close sockets so that their clients come back, then end what still runs."""
        for protocol, details in self.connections.items():
            if isinstance(protocol, Socket):
                protocol.say_goodbye()
            # The inherited method expects an application behind every connection.
            details.setdefault("application_instance", _done())
        goodbye: Any = defer.Deferred()
        reactor.callLater(GOODBYE_SECONDS, goodbye.callback, None)
        goodbye.addCallback(lambda _: super(Server, self).kill_all_applications())
        return goodbye


def missing_internals() -> tuple[str, ...]:
    """What the door stands on and this release does not have; empty when all is well."""
    needed: Mapping[Any, tuple[str, ...]] = {
        daphne.server.Server: (
            "run",
            "create_application",
            "handle_reply",
            "kill_all_applications",
        ),
        daphne.ws_protocol.WebSocketProtocol: (
            "handle_reply",
            "onMessage",
            "onClose",
            "serverClose",
            "serverSend",
        ),
        daphne.ws_protocol.WebSocketFactory: ("buildProtocol", "protocol"),
        daphne.http_protocol.HTTPFactory: ("buildProtocol",),
        daphne.http_protocol.WebRequest: (
            "basic_error",
            "connectionLost",
            "gotLength",
            "handleContentChunk",
            "handle_reply",
            "process",
        ),
        WebSocketServerProtocol: (
            "sendCloseFrame",
            "STATE_OPEN",
            "connectionMade",
            "connectionLost",
        ),
        FileDescriptor: (
            "registerProducer",
            "unregisterProducer",
            "pauseProducing",
            "resumeProducing",
            "disconnecting",
            "bufferSize",
        ),
    }
    return tuple(
        f"{owner.__qualname__}.{name}"
        for owner, names in needed.items()
        for name in names
        if not hasattr(owner, name)
    )


def _counting(inner: Callable[..., Awaitable[None]], protocol: Socket) -> Callable[..., Any]:
    """The application, with a `receive` that tells the socket what was taken."""

    def application(scope: Message, receive: Any, send: Any) -> Awaitable[None]:
        async def taking() -> Message:
            message: Message = await receive()
            protocol.note_taken()
            return message

        return inner(scope, taking, send)

    return application


def _done() -> "asyncio.Future[None]":
    future: asyncio.Future[None] = asyncio.get_event_loop().create_future()
    future.set_result(None)
    return future
