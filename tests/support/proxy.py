"""A TCP proxy between a client and a broker: a network that can be cut, stalled and read.

async with TcpProxy(server.port) as proxy:
    broker = await connect(proxy.url)
    proxy.stall()      # connections stay, nothing passes
    proxy.cut()        # connections are reset, new ones are refused
    proxy.heal()
    proxy.published    # every subject the clients published, in order
"""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 65536


class TcpProxy:
    """Forwards one loopback port to another."""

    def __init__(self, port: int, *, listen: int = 0) -> None:
        self._to = port
        self.port = listen
        self.published: list[str] = []
        self.held = 0  # bytes that a stall keeps from passing
        self._open = asyncio.Event()
        self._open.set()
        self._refusing = False
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Reset every connection and refuse new ones until `heal`."""
        self._refusing = True
        self._open.set()
        for link in tuple(self._links):
            link.transport.abort()

    def stall(self) -> None:
        """Keep every connection and let nothing pass, either way."""
        self._open.clear()

    def heal(self) -> None:
        """Let everything pass again."""
        self._refusing = False
        self._open.set()

    def count(self, part: str) -> int:
        """How many published subjects contain this."""
        return sum(part in subject for subject in self.published)

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Cut every connection and listen no more; safe when it never did."""
        if self._server is None:
            return
        self.cut()
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._links.add(writer)
        far: asyncio.StreamWriter | None = None
        try:
            if self._refusing:
                return
            back, far = await asyncio.open_connection("127.0.0.1", self._to)
            self._links.add(far)
            log = _PublishLog(self.published)
            ways = [
                asyncio.create_task(self._forward(reader, far, log)),
                asyncio.create_task(self._forward(back, writer, None)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass  # a broken link is what this proxy is for; its own end is `__aexit__`'s
        finally:
            self._links -= {writer, *((far,) if far else ())}
            self._tasks.discard(task)
            for link in (writer, far):
                if link is not None:
                    link.transport.abort()

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        log: "_PublishLog | None",
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                self.held += len(data)
                await self._open.wait()
                self.held -= len(data)
                if log is not None:
                    log.feed(data)
                writer.write(data)
                await writer.drain()


class _PublishLog:
    """Reads the client's side of the protocol just well enough to name what it publishes."""

    def __init__(self, subjects: list[str]) -> None:
        self._subjects = subjects
        self._held = b""
        self._skip = 0

    def feed(self, data: bytes) -> None:
        self._held += data
        while True:
            if self._skip:
                taken = min(self._skip, len(self._held))
                self._held = self._held[taken:]
                self._skip -= taken
                if self._skip:
                    return
            line, found, rest = self._held.partition(b"\r\n")
            if not found:
                return
            self._held = rest
            words = line.split()
            if words and words[0] in (b"PUB", b"HPUB"):
                self._subjects.append(words[1].decode())
                self._skip = int(words[-1]) + 2
