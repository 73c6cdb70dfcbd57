"""A TCP proxy that speaks enough of the NATS protocol to count it and to bend it.

Faults reach the backend itself: what a case withholds, answers or cuts here is what the client of
the backend under test sees on its socket, exactly as a broker would have sent it.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Self

_PAYLOAD_OPS: Final = frozenset({b"PUB", b"HPUB", b"MSG", b"HMSG"})
_LAST_CONSUMER: Final = re.compile(rb"Nats-Last-Consumer: ?(\d+)")
_CHUNK: Final = 1 << 16


@dataclass(slots=True)
class Frame:
    """One protocol line, with its headers and payload where it carries any."""

    op: bytes
    args: list[bytes]  # without the sizes
    head: bytes = b""
    body: bytes = b""

    @property
    def subject(self) -> str:
        """What it is about."""
        return self.args[0].decode()

    @property
    def reply(self) -> str:
        """Where an answer goes; of a delivery, its acknowledgement subject."""
        at = 2 if self.op in (b"MSG", b"HMSG") else 1
        return self.args[at].decode() if len(self.args) > at else ""

    def encode(self) -> bytes:
        """The bytes on the wire."""
        if self.op not in _PAYLOAD_OPS:
            return b" ".join((self.op, *self.args)) + b"\r\n"
        total = len(self.head) + len(self.body)
        sizes = [b"%d" % len(self.head)] if self.op in (b"HPUB", b"HMSG") else []
        line = b" ".join((self.op, *self.args, *sizes, b"%d" % total))
        return line + b"\r\n" + self.head + self.body + b"\r\n"


type Answerer = Callable[[Frame], bytes | None]  # a body answers the request in the broker's place
type Keeper = Callable[[Frame], bool]  # False withholds a delivery


@dataclass(slots=True)
class Wire:
    """The proxy. Everything the client sends and receives through it can be seen and bent."""

    upstream: tuple[str, int]
    port: int = 0
    sent: Counter[str] = field(default_factory=Counter)  # publishes and requests, by subject
    deliveries: int = 0  # stream messages that reached the client
    withheld: int = 0  # and those that did not
    replies: int = 0  # answers to requests, heartbeats included
    answerers: list[Answerer] = field(default_factory=list)
    keepers: list[Keeper] = field(default_factory=list)
    losers: list[Keeper] = field(default_factory=list)  # False loses a request on its way
    _server: asyncio.Server | None = None
    _links: set["_Link"] = field(default_factory=set)

    @classmethod
    async def open(cls, host: str, port: int) -> Self:
        """Listen on a port of its own, in front of this server."""
        wire = cls((host, port))
        await wire.heal()
        return wire

    @property
    def url(self) -> str:
        """Where the client under test connects."""
        return f"nats://127.0.0.1:{self.port}"

    async def heal(self) -> None:
        """Accept connections, again on the same port."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Reset every connection and refuse new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.sever()
        await asyncio.sleep(0)

    def sever(self) -> None:
        """Reset every connection; new ones are accepted."""
        for link in tuple(self._links):
            link.abort()

    async def close(self) -> None:
        """Cut, and wait until every pump has ended."""
        pumps = [pump for link in self._links for pump in link.pumps]
        await self.cut()
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)

    def count(self, pattern: str) -> int:
        """How many publishes and requests went out on subjects that hold this expression."""
        found = re.compile(pattern)
        return sum(times for subject, times in self.sent.items() if found.search(subject))

    @property
    def leader_reads(self) -> int:
        """Reads of one message that only the stream leader answers."""
        return self.count(r"\.STREAM\.MSG\.GET\.")

    @property
    def direct_reads(self) -> int:
        """Reads that any replica may answer."""
        return self.count(r"\.DIRECT\.GET\.")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection(*self.upstream)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(self, writer, up_writer)
        self._links.add(link)
        link.pumps = (
            asyncio.ensure_future(link.pump(reader, up_writer, link.from_client)),
            asyncio.ensure_future(link.pump(up_reader, writer, link.from_server)),
        )
        await asyncio.wait(link.pumps)
        self._links.discard(link)


@dataclass(slots=True, eq=False)
class _Link:
    """One client's connection."""

    wire: Wire
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    pumps: tuple[asyncio.Future[None], ...] = ()
    inboxes: dict[str, bytes] = field(default_factory=dict)  # subscribed subject -> sid
    withheld: Counter[bytes] = field(default_factory=Counter)  # deliveries dropped, by sid

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()

    async def pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        judge: Callable[[Frame], Frame | None],
    ) -> None:
        """Carry frames one way until either end closes."""
        pending = bytearray()
        with suppress(ConnectionError, RuntimeError):
            while chunk := await reader.read(_CHUNK):
                pending += chunk
                for frame in _take(pending):
                    kept = judge(frame)
                    if kept is not None:
                        writer.write(kept.encode())
                await writer.drain()
        self.abort()

    def from_client(self, frame: Frame) -> Frame | None:
        if frame.op == b"SUB":
            self.inboxes[frame.subject] = frame.args[-1]
        if frame.op not in (b"PUB", b"HPUB"):
            return frame
        self.wire.sent[frame.subject] += 1
        for answerer in tuple(self.wire.answerers):
            body = answerer(frame)
            if body is not None:
                self._answer(frame, body)
                return None
        return frame if all(keeper(frame) for keeper in tuple(self.wire.losers)) else None

    def _answer(self, frame: Frame, body: bytes) -> None:
        reply = frame.reply
        for pattern, sid in self.inboxes.items():
            if _matches(pattern, reply):
                answer = Frame(b"MSG", [reply.encode(), sid], b"", body)
                self.client.write(answer.encode())
                return
        msg = f"nobody listens for the answer to {frame.subject}"
        raise AssertionError(msg)

    def from_server(self, frame: Frame) -> Frame | None:
        if frame.op not in (b"MSG", b"HMSG"):
            return frame
        sid = frame.args[1]
        if frame.reply.startswith("$JS.ACK."):
            if not all(keeper(frame) for keeper in tuple(self.wire.keepers)):
                self.withheld[sid] += 1
                self.wire.withheld += 1
                return None
            self.wire.deliveries += 1
            frame.args[2] = _renumber(frame.reply, self.withheld[sid]).encode()
            return frame
        self.wire.replies += 1
        if self.withheld[sid]:
            frame.head = _LAST_CONSUMER.sub(
                lambda found: b"Nats-Last-Consumer: %d" % (int(found[1]) - self.withheld[sid]),
                frame.head,
            )
        return frame


def _take(pending: bytearray) -> list[Frame]:
    """The whole frames at the front of the buffer, removed from it."""
    frames: list[Frame] = []
    while (end := pending.find(b"\r\n")) >= 0:
        op, *args = bytes(pending[:end]).split()
        op = op.upper()
        start = end + 2
        if op not in _PAYLOAD_OPS:
            frames.append(_plain(bytes(pending[:end])))
            del pending[:start]
            continue
        total = int(args.pop())
        if len(pending) < start + total + 2:
            break
        headed = int(args.pop()) if op in (b"HPUB", b"HMSG") else 0
        payload = bytes(pending[start : start + total])
        frames.append(Frame(op, args, payload[:headed], payload[headed:]))
        del pending[: start + total + 2]
    return frames


def _plain(line: bytes) -> Frame:
    """A frame without payload; only its first token and subject matter here."""
    op, _, rest = line.partition(b" ")
    if op.upper() == b"SUB":
        return Frame(op.upper(), rest.split())
    return Frame(op, [rest] if rest else [])


def _matches(pattern: str, subject: str) -> bool:
    parts, names = pattern.split("."), subject.split(".")
    for index, part in enumerate(parts):
        if part == ">":
            return len(names) > index
        if index >= len(names) or part not in ("*", names[index]):
            return False
    return len(parts) == len(names)


def _renumber(ack: str, withheld: int) -> str:
    """An acknowledgement subject whose consumer sequence leaves no gap behind.

    That is what a broker sends when a message is removed before its consumer reached it.
    """
    parts = ack.split(".")
    at = 6 if len(parts) == 9 else 8
    parts[at] = str(int(parts[at]) - withheld)
    return ".".join(parts)
