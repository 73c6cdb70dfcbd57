"""Answering the supervisor from the loop thread, so that a stuck loop is silent.

A Unix socket: `ping` and a newline in, `ok` and a newline out.
"""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Final

from runtime import portal

ASK: Final = b"ping\n"
ANSWER: Final = b"ok\n"
ASK_WITHIN: Final = 5.0  # seconds a connection may take to ask

_log = logging.getLogger("crewlet.ping")


def serve(path: Path) -> None:
    """Answer pings on a socket file from now on until the portal closes; from any thread."""

    async def answer() -> None:
        await run(path)

    portal.spawn(answer, name="ping", restart=True)


async def run(path: Path) -> None:
    """Answer until cancelled; on the loop. The file is made anew and removed at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(_answer, str(path))
    try:
        path.chmod(0o600)
        await server.serve_forever()
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # A caller that hangs up or stalls has only itself to tell.
    with contextlib.suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(ASK_WITHIN):
            if await reader.readline() == ASK:
                writer.write(ANSWER)
                await writer.drain()
    writer.close()
