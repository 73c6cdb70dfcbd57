"""Answering the supervisor from the loop thread, so that a stuck loop is silent.

A Unix socket: `ping` and a newline in, `ok` and a newline out.
"""

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Final

from runtime import portal

ASK: Final = b"ping\n"
ANSWER: Final = b"ok\n"
ASK_WITHIN: Final = 5.0  # seconds a connection may take to ask


def serve(path: Path) -> None:
    """Answer pings on a socket file from now on until the portal closes; from any thread."""

    async def answer() -> None:
        await run(path)

    portal.spawn(answer, name="ping", restart=True)


async def run(path: Path) -> None:
    """Answer until cancelled; on the loop. The file is made anew and removed at the end."""
    server = await asyncio.start_unix_server(_answer, sock=_listen(path))
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


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # A caller that hangs up or stalls has only itself to tell.
    with contextlib.suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(ASK_WITHIN):
            if await reader.readline() == ASK:
                writer.write(ANSWER)
                await writer.drain()
    writer.close()
