"""Opening one bucket: look it up, create it, and when in doubt read back what stands.

Every node opens every bucket at boot, perhaps against a cluster that is still electing, so a
request nobody answered is asked again and a lost race to create is an adoption.
"""

import asyncio
import logging
from datetime import timedelta
from types import TracebackType
from typing import Final

import msgspec

from coordination.errors import ConfigurationMismatch, Unavailable
from coordination.jetstream.broker import ApiReply, Broker, Silence, Why
from coordination.jetstream.errors import ApiError, Code, refusal
from coordination.jetstream.index import StreamInfo
from coordination.jetstream.reads import stream_of

_LOG = logging.getLogger(__name__)

_SLOW_AFTER: Final = 10.0  # seconds until an operator is told
_LOOK_UP_WITHIN: Final = 30.0
_LOOK_UP_ASK: Final = timedelta(seconds=5)  # one that is lost must not cost a write's term
_ONE_ASK: Final = timedelta(seconds=15)  # on a clustered broker
_ONE_ASK_SOLO: Final = timedelta(seconds=30)
_CREATE_WITHIN: Final = 120.0
_CREATE_WITHIN_SOLO: Final = 30.0
_ASK_AGAIN: Final = 1.0  # after an answer that did not come
_PEERS_AGAIN: Final = 0.25
_READ_BACK_WITHIN: Final = 5.0
_READ_BACK_ASK: Final = timedelta(seconds=1)
_READ_BACK_AGAIN: Final = 0.25
_SHORT_OF_ROOM: Final = (Code.NO_STORAGE, Code.NO_MEMORY)
_NOT_ASKABLE: Final = (Code.NO_LIMIT, Code.NO_REPLICAS)
_OPERATION: Final = "open bucket"


class _Whole(ApiReply, frozen=True):
    config: dict[str, object] = msgspec.field(default_factory=dict)


class Opening:
    """One bucket being opened. Its look-up begins at once; `end` it whatever came of it.

    Args:
        broker: the connection.
        name: the whole bucket name.
    """

    def __init__(self, broker: Broker, name: str) -> None:
        self.name = name
        self._broker = broker
        self._slow = _SlowWatch(name)
        self._looking = asyncio.create_task(self._look_up(), name=f"look up {name}")

    async def look_up(self) -> StreamInfo | None:
        """What stands already; None when it is not there or nobody said in time.

        Raises:
            Unavailable: the broker answered with an error, or the link is down.
        """
        return await self._looking

    async def create(self, config: dict[str, object]) -> StreamInfo:
        """The bucket as this call created it, or as a peer had.

        Raises:
            Unavailable: not answered in time, or no room for it.
            ConfigurationMismatch: the broker cannot keep what is asked for.
        """
        with self._slow:
            return await _create(self._broker, self.name, config)

    async def end(self) -> None:
        """Stop looking it up."""
        self._looking.cancel()
        await asyncio.wait({self._looking})
        if not self._looking.cancelled():
            self._looking.exception()  # an opening before it failed, and that error is the answer

    async def _look_up(self) -> StreamInfo | None:
        with self._slow:
            return await _look_up(self._broker, self.name)


class _SlowWatch:
    """Tells an operator once that a bucket's look-up and create take long; its turn not counted."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = _SLOW_AFTER
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        if self._left > 0:
            self._timer = loop.call_later(self._left, self._tell)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._left -= asyncio.get_running_loop().time() - self._began

    def _tell(self) -> None:
        _LOG.warning("coord_kv_bucket_slow bucket=%s after_s=%s", self._name, _SLOW_AFTER)


async def _read_back(broker: Broker, name: str, failed: ApiError | None = None) -> StreamInfo:
    """The bucket as it stands now.

    Raises:
        Unavailable: it did not appear in time; the create's own refusal is named where given.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + _READ_BACK_WITHIN
    while True:
        reply = await _info(broker, name, _READ_BACK_ASK)
        if isinstance(reply, StreamInfo) and reply.error is None:
            return reply
        pause = _ASK_AGAIN if isinstance(reply, Silence) else _READ_BACK_AGAIN
        if loop.time() + pause >= ends:
            said = reply.why if isinstance(reply, Silence) else reply.error
            msg = f"bucket {name} does not appear: {said}; creating it: {failed or 'not answered'}"
            raise Unavailable(msg, operation=_OPERATION, subject=name)
        await asyncio.sleep(pause)


def check_replicas(name: str, found: StreamInfo, replicas: int) -> None:
    """Refuse a bucket kept by fewer members than this node is configured for.

    Raises:
        ConfigurationMismatch: naming both counts.
    """
    kept = found.config.num_replicas
    if replicas > 1 and kept < replicas:
        msg = (
            f"bucket {name} is kept by {kept} replica(s) and this node is configured for"
            f" {replicas} (stream.replicas): resize the stream {stream_of(name)} first"
        )
        raise ConfigurationMismatch(msg, operation=_OPERATION, subject=name)


async def ask_and_update(broker: Broker, name: str, *, max_age: int) -> StreamInfo:
    """Write a bucket's age, everything else as it stands on the broker.

    Raises:
        Unavailable: it could not be read or written.
    """
    stream = stream_of(name)
    whole = await broker.demand(f"STREAM.INFO.{stream}", _Whole, operation=_OPERATION, subject=name)
    return await broker.demand(
        f"STREAM.UPDATE.{stream}",
        StreamInfo,
        msgspec.json.encode({**whole.config, "max_age": max_age}),
        operation=_OPERATION,
        subject=name,
    )


async def _look_up(broker: Broker, name: str) -> StreamInfo | None:
    """The bucket, or None when it is not there or nobody said in time."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + _LOOK_UP_WITHIN
    while True:
        left = timedelta(seconds=max(0.0, ends - loop.time()))
        reply = await _info(broker, name, min(_LOOK_UP_ASK, left))
        if isinstance(reply, Silence):
            if reply.why is Why.UNSENT:
                raise Unavailable(reply.why, operation=_OPERATION, subject=name)
            if loop.time() + _ASK_AGAIN >= ends:
                _LOG.warning("coord_kv_bucket_lookup_unanswered bucket=%s", name)
                return None
            await asyncio.sleep(_ASK_AGAIN)
            continue
        if reply.error is None:
            return reply
        if reply.error.err_code == Code.NO_STREAM:
            return None
        raise refusal(reply.error, operation=_OPERATION, subject=name)


async def _create(broker: Broker, name: str, config: dict[str, object]) -> StreamInfo:
    loop = asyncio.get_running_loop()
    clustered = broker.is_clustered
    ends = loop.time() + (_CREATE_WITHIN if clustered else _CREATE_WITHIN_SOLO)
    told = False
    while True:
        reply = await broker.api(
            f"STREAM.CREATE.{stream_of(name)}",
            StreamInfo,
            msgspec.json.encode(config),
            operation=_OPERATION,
            subject=name,
            within=_ONE_ASK if clustered else _ONE_ASK_SOLO,
        )
        if isinstance(reply, Silence):
            if reply.why is Why.UNSENT or loop.time() + _ASK_AGAIN >= ends:
                return await _read_back(broker, name)
            await asyncio.sleep(_ASK_AGAIN)
            continue
        if reply.error is None:
            return reply
        if reply.error.err_code == Code.NO_PEERS and loop.time() + _PEERS_AGAIN < ends:
            if not told:
                _LOG.info("coord_kv_bucket_awaiting_peers bucket=%s", name)
            told = True
            await asyncio.sleep(_PEERS_AGAIN)
            continue
        _stop_on(reply.error, name, config)
        return await _read_back(broker, name, reply.error)


def _stop_on(error: ApiError, name: str, config: dict[str, object]) -> None:
    """Raise what no reading back can change."""
    if error.err_code in _NOT_ASKABLE:
        msg = (
            f"the broker cannot keep bucket {name} on {config['num_replicas']} replica(s):"
            f" {error.description}; set stream.replicas to what it carries"
        )
        raise ConfigurationMismatch(msg, operation=_OPERATION, subject=name)
    if error.err_code in (*_SHORT_OF_ROOM, Code.NO_PEERS):
        raise refusal(error, operation=_OPERATION, subject=name)


async def _info(broker: Broker, name: str, within: timedelta) -> StreamInfo | Silence:
    return await broker.api(
        f"STREAM.INFO.{stream_of(name)}",
        StreamInfo,
        operation=_OPERATION,
        subject=name,
        within=within,
    )
