"""The client library's connection, with the behaviour this project needs of it.

It never gives up, reconnects with jitter, and forgets what it had not sent when the link breaks, so
that nothing lands after its caller was told. The library keeps such bytes and sends them after the
reconnect; what it buffers while disconnected is off by `pending_size=0`, which measured no slower
than asking for the state before each publish and, unlike it, keeps a publish from ever waiting.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final, override

import nats.errors
from nats.aio.client import Client, Server

from coordination.contract.store import Credentials
from coordination.errors import ConfigurationMismatch, InvalidRequest, Unavailable

_LOG = logging.getLogger(__name__)

_FIRST_WAIT: Final = 0.05  # seconds before the second attempt, doubling
_LONGEST_WAIT: Final = 2.0
_PING_EVERY: Final = 5  # seconds; three unanswered ones are a dead link
_GREETS_WITHIN: Final = 2  # seconds for one attempt
_CLOSES_WITHIN: Final = 2.0
_HEADERS_FRAME: Final = b"NATS/1.0\r\n\r\n"

type Hook = Callable[[], Awaitable[None]]


class Link(Client):
    """One connection of the client library. Its private names are touched here and nowhere else."""

    def forget_unsent(self) -> None:
        """Drop what has not been written to the socket yet."""
        self._pending = []
        self._pending_data_size = 0

    @property
    def clustered(self) -> bool:
        """Whether the broker it reached says that it has peers."""
        return bool(self._server_info.get("cluster"))

    @property
    def server_version(self) -> str:
        """The broker's version, such as `2.15.1`."""
        return str(self._server_info.get("version", ""))

    def check_size(self, payload: bytes, headers: Mapping[str, str] | None) -> None:
        """Refuse a message over the broker's limit, which cuts the connection over one.

        The library counts the payload alone; the broker counts the headers too.

        Raises:
            InvalidRequest: naming both sizes.
        """
        size = len(payload)
        if headers:
            lines = (f"{name}: {value}\r\n".encode() for name, value in headers.items())
            size += len(_HEADERS_FRAME) + sum(map(len, lines))
        if size > self.max_payload:
            msg = f"a message of {size} bytes is over the broker's limit of {self.max_payload}"
            raise InvalidRequest(msg, operation="send")

    @override
    async def _process_op_err(self, e: Exception) -> None:
        """The link is dead: let go of it at once.

        The library waits for what is still buffered to be read, by a peer that reads nothing.
        """
        if not (self.is_closed or self.is_reconnecting):
            self.abort()
        await super()._process_op_err(e)

    def abort(self) -> None:
        """Give up the socket without waiting for the peer to read what is left."""
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()


async def dial(
    urls: tuple[str, ...],
    *,
    credentials: Credentials | None,
    name: str,
    lost: Hook,
    back: Hook,
    ended: Hook,
    within: timedelta | None,
) -> Link:
    """Connect, and stay connected.

    Args:
        urls: brokers to try, in a random order.
        credentials: None where the broker asks for none.
        name: how the broker lists this connection.
        lost: called when the link breaks, before anything is sent again.
        back: called when it is there again.
        ended: called when the library gave up for good, which it does on some of the broker's
            protocol errors.
        within: how long the first connection may take; None is for ever.

    Raises:
        Unavailable: no broker answered in time.
        ConfigurationMismatch: the broker refused the credentials, which no waiting heals.
    """
    link = Link()
    trouble = _Trouble(", ".join(urls))
    connecting: asyncio.Future[None] = asyncio.ensure_future(
        link.connect(
            servers=list(urls),
            user=credentials.user if credentials else None,
            password=credentials.password if credentials else None,
            name=name,
            pending_size=0,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,  # type: ignore[arg-type] # annotated int, used as seconds
            reconnect_to_server_handler=_next_server,
            connect_timeout=_GREETS_WITHIN,
            ping_interval=_PING_EVERY,
            max_outstanding_pings=2,
            error_cb=trouble.note,
            disconnected_cb=lost,
            reconnected_cb=back,
            closed_cb=ended,
        )
    )
    kept = False
    waited: set[asyncio.Future[None]] = {connecting}
    if within is not None:
        waited.add(trouble.refused)
    try:
        await asyncio.wait(
            waited,
            timeout=None if within is None else within.total_seconds(),
            return_when=asyncio.FIRST_COMPLETED,
        )
        if connecting.done():
            connecting.result()
            kept = True
            return link
        if trouble.refused.done():
            msg = f"the broker at {trouble.where} refuses these credentials"
            raise ConfigurationMismatch(msg, operation="connect", subject=trouble.where)
        msg = f"no broker answers at {trouble.where}: {trouble.last or 'no greeting in time'}"
        raise Unavailable(msg, operation="connect", subject=trouble.where)
    finally:
        trouble.connected = True
        if not kept:
            connecting.cancel()
            await asyncio.wait({connecting})
            await hang_up(link)


async def hang_up(link: Link) -> None:
    """Close for good, waiting a bounded time for a peer that reads nothing any more."""
    closing = asyncio.ensure_future(link.close())
    await asyncio.wait({closing}, timeout=_CLOSES_WITHIN)
    if not closing.done():
        link.abort()
        await asyncio.wait({closing}, timeout=_CLOSES_WITHIN)
        closing.cancel()
    elif closing.exception() is not None:
        _LOG.info("coord_nats_close_failed error=%s", closing.exception())


class _Trouble:
    """The library's asynchronous errors: logged, never printed, and read for a refusal."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.last: Exception | None = None
        self.connected = False
        self.refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def note(self, fault: Exception) -> None:
        """The library's error callback."""
        self.last = fault
        level = logging.WARNING if self.connected else logging.INFO
        _LOG.log(level, "coord_nats_trouble broker=%s error=%r", self.where, fault)
        refused = isinstance(fault, nats.errors.AuthorizationError) or "Authorization" in str(fault)
        if refused and not self.refused.done():
            self.refused.set_result(None)


def _next_server(servers: list[Server], _info: dict[str, Any]) -> tuple[Server, float]:
    """The broker tried least, after a jittered wait that grows with its failures."""
    least = min(server.reconnects for server in servers)
    chosen = random.choice([server for server in servers if server.reconnects == least])
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(least, 10))
    return chosen, random.uniform(longest / 2, longest)
