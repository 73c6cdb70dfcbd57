"""A server behind the byte door: `door_server.py PORT PROGRESS_FILE PING_SECONDS
REQUEST_SECONDS`.

The application's manner is its path: `/flood` sends until a send waits for a second, then goes on;
`/deaf` accepts and takes nothing; `/large` says more at once than a peer may; `/idle` accepts and
waits. A page answers with the number of bytes it was sent.
"""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

from crewlet_site import byte_door, request_door

MESSAGES = 4096
MESSAGE_BYTES = 64 * 1024
LARGE_BYTES = 8 * byte_door.MESSAGE_LIMIT_BYTES
progress = Path(sys.argv[2])


def report(**facts: object) -> None:
    partial = progress.with_suffix(".partial")
    partial.write_text(json.dumps(facts))
    partial.replace(progress)


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def flood(scope: Any, send: Any) -> None:
    before = peak_bytes()
    waited = False
    for number in range(MESSAGES):
        text = f"{number:08d}".ljust(MESSAGE_BYTES, ".")
        sending = asyncio.ensure_future(send({"type": "websocket.send", "text": text}))
        done, _ = await asyncio.wait({sending}, timeout=1)
        if not done and not waited:
            waited = True
            report(state="waiting", sent=number, grown_bytes=peak_bytes() - before)
        await sending
        await scope["extensions"]["crewlet.door"]["drain"]()
    report(state="done", sent=MESSAGES, grown_bytes=peak_bytes() - before, waited=waited)


async def page(receive: Any, send: Any) -> None:
    count, more = 0, True
    while more:
        message = await receive()
        count += len(message["body"])
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": str(count).encode()})


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await page(receive, send)
        return
    await receive()
    await send({"type": "websocket.accept"})
    if scope["path"] == "/flood":
        await flood(scope, send)
    elif scope["path"] == "/large":
        await send({"type": "websocket.send", "text": "." * LARGE_BYTES})
    elif scope["path"] == "/deaf":
        await asyncio.sleep(3600)
    while (await receive())["type"] != "websocket.disconnect":
        continue
    report(state="disconnected")


for limit in ("HEAD_SECONDS", "BODY_SECONDS"):
    setattr(request_door, limit, float(sys.argv[4]))
byte_door.Server(
    application=application,
    endpoints=[f"tcp:port={sys.argv[1]}:interface=127.0.0.1"],
    ping_interval=int(sys.argv[3]),
    ping_timeout=int(sys.argv[3]),
    websocket_max_message_size=byte_door.MESSAGE_LIMIT_BYTES,
    websocket_max_frame_size=byte_door.MESSAGE_LIMIT_BYTES,
).run()
