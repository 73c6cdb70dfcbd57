"""Answering the supervisor from the loop thread, so that a stuck loop is silent.

A Unix socket: `ping` and a newline in; out comes `ok`, or `wait` from a process whose loop runs and
which is not ready yet, and a newline.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from runtime import portal

ASK: Final = b"ping\n"
ANSWER: Final = b"ok\n"
NOT_YET: Final = b"wait\n"
ASK_WITHIN: Final = 5.0  # seconds a connection may take to ask


def _always() -> bool:
    return True


def serve(path: Path, is_ready: Callable[[], bool] = _always) -> None:
    """Answer pings on a socket file from now on until the portal closes; from any thread.

    Args:
        path: the socket file.
        is_ready: asked at each ping, on the loop.
    """

    async def answer() -> None:
        await run(path, is_ready)

    portal.spawn(answer, name="ping", restart=True)


async def run(path: Path, is_ready: Callable[[], bool] = _always) -> None:
    """Answer until cancelled; on the loop. The file is made anew and removed at the end."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _answer(reader, writer, ANSWER if is_ready() else NOT_YET)

    server = await asyncio.start_unix_server(answer, sock=_listen(path))
    try:
        await server.serve_forever()
    finally:
        server.close()
        _remove(path)


def _listen(path: Path) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.setblocking(False)
    return listener


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, said: bytes) -> None:
    # A caller that hangs up or stalls has only itself to tell.
    with contextlib.suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(ASK_WITHIN):
            if await reader.readline() == ASK:
                writer.write(said)
                await writer.drain()
    writer.close()
