"""An ordered push consumer over the core connection: each newest message under a filter, in order.

The library's own is not used (docs/decisions/0005-own-ordered-consumer.md): it heals a gap behind
its caller's back, stays mute after a reconnect, and leaves its consumer on the broker. This one
never heals: a gap, silence or a lost link ends it as unavailable, and its maker always deletes it.
"""

import asyncio
import secrets
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Self

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from coordination.contract.answers import NO_REVISION, Revision
from coordination.contract.bucket import Entry
from coordination.errors import Unavailable
from coordination.jetstream.broker import ApiReply, Broker, Why
from coordination.jetstream.errors import translate
from coordination.jetstream.reads import operation_of, stream_of
from coordination.rules.instants import Instant, nanos_of

PASS_BEAT: Final = timedelta(seconds=5)  # the broker's own idle interval for such a consumer
WATCH_BEAT: Final = timedelta(seconds=2)
MISSED_BEATS: Final = 3  # then the broker has stopped feeding it
_DELETES_WITHIN: Final = timedelta(seconds=2)
_CONTROL: Final = "100"
_LIMIT_BYTES: Final = 256 * 1024 * 1024  # above what flow control lets the broker send ahead


class _Delivered(msgspec.Struct, frozen=True):
    consumer_seq: int = 0


class ConsumerReply(ApiReply, frozen=True):
    """The answer to `CONSUMER.CREATE`."""

    num_pending: int = 0
    delivered: _Delivered = _Delivered()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message, and how many more the broker had when it sent it."""

    entry: Entry
    pending: int


@dataclass(frozen=True, slots=True)
class Beat:
    """The broker had nothing to send and said so: it has looked through all up to `reached`."""

    reached: Revision = NO_REVISION


class OrderedConsumer:
    """Open it with `open_consumer`; whoever did must `close` it, cancelled or not."""

    def __init__(
        self, broker: Broker, bucket: str, key_filter: str, *, beat: timedelta, operation: str
    ) -> None:
        self.name = f"crewlet-{secrets.token_hex(8)}"
        self.initial = 0  # messages that were waiting when it was made
        self.reached = NO_REVISION  # what the broker has looked through, as far as was taken
        self._broker = broker
        self._bucket = bucket
        self._prefix = f"$KV.{bucket}."
        self._filter = self._prefix + key_filter
        self._beat = beat
        self.operation = operation  # what it serves now, for errors
        self._inbox = broker.new_inbox()
        self._items: deque[Delivery | Beat] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._failure = ""
        self._closed = False
        self._consumed = 0
        self._heard = 0.0
        self._mute: asyncio.TimerHandle | None = None
        self._subscription: Subscription | None = None
        self._creating: asyncio.Task[ConsumerReply] | None = None
        self._deleting: asyncio.Task[None] | None = None
        self._unlisten = (
            broker.on_lost(lambda: self._fail("the connection was lost")),
            broker.on_close(self._end),
        )

    async def open(self) -> Self:
        """Subscribe, then have the broker feed the subscription.

        Raises:
            Unavailable: the broker did not make the consumer; nothing is left of it.
        """
        done = False
        try:
            await self._subscribe()
            self._creating = self._broker.chore(self._create(), name=f"create {self.name}")
            reply = await asyncio.shield(self._creating)
            self.initial = reply.num_pending + reply.delivered.consumer_seq
            self._listen()
            done = True
        finally:
            if not done:
                self.abandon()
        return self

    @property
    def is_closed(self) -> bool:
        """Whether whoever opened it has had enough of it."""
        return self._closed

    async def next(self, until: float | None = None) -> Delivery | Beat | None:
        """The next message or beat; None at `until` (loop time), when nudged, or once closed.

        Raises:
            Unavailable: the order is broken, the broker went mute, or the link was lost.
        """
        if not self._items and not self._failure:
            await self._wait(until)
        if self.is_closed:
            return None
        if self._failure:
            raise self._unavailable(self._failure)
        return self._take() if self._items else None

    def _take(self) -> Delivery | Beat:
        item = self._items.popleft()
        came = item.reached if isinstance(item, Beat) else item.entry.revision
        self.reached = max(self.reached, came)
        return item

    def nudge(self) -> None:
        """Have a waiting `next` return."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def abandon(self) -> "asyncio.Task[None]":
        """Begin to delete it on the broker, for a caller that is failing or cancelled itself."""
        if self._deleting is None:
            self._fail("it was given up")
            for stop in self._unlisten:
                stop()
            if self._mute is not None:
                self._mute.cancel()
            self._deleting = self._broker.chore(self._delete(), name=f"delete {self.name}")
        return self._deleting

    async def close(self) -> None:
        """Delete it on the broker. Goes on when its caller is cancelled; safe to call twice."""
        self._closed = True
        await asyncio.shield(self.abandon())

    def _end(self) -> None:
        self._fail("the store was closed")
        self.abandon()

    async def _subscribe(self) -> None:
        if not self._broker.is_up:
            raise self._unavailable(Why.UNSENT)
        try:
            self._subscription = await self._broker.link.subscribe(
                self._inbox, cb=self._hear, pending_msgs_limit=0, pending_bytes_limit=_LIMIT_BYTES
            )
        except nats.errors.Error as fault:
            raise translate(fault, operation=self.operation, subject=self._bucket) from fault

    async def _create(self) -> ConsumerReply:
        stream = stream_of(self._bucket)
        config: dict[str, Any] = {
            "name": self.name,
            "deliver_subject": self._inbox,
            "deliver_policy": "last_per_subject",
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "filter_subject": self._filter,
            "flow_control": True,
            "idle_heartbeat": nanos_of(self._beat),
            "mem_storage": True,
            "num_replicas": 1,
        }
        return await self._broker.demand(
            f"CONSUMER.CREATE.{stream}.{self.name}",
            ConsumerReply,
            msgspec.json.encode({"stream_name": stream, "config": config, "action": "create"}),
            operation=self.operation,
            subject=self._bucket,
        )

    async def _delete(self) -> None:
        if self._creating is not None:
            await asyncio.wait({self._creating})  # bounded by its own deadline
            if not self._creating.cancelled():
                self._creating.exception()
        if self._subscription is not None:
            with suppress(nats.errors.Error):  # its connection is gone, and its interest with it
                await self._subscription.unsubscribe()
        if self._creating is not None:
            verb = f"CONSUMER.DELETE.{stream_of(self._bucket)}.{self.name}"
            await self._broker.ask(self._broker.api_subject(verb), within=_DELETES_WITHIN)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._heard = max(self._heard, loop.time())
        self._check_mute()

    def _check_mute(self) -> None:
        loop = asyncio.get_running_loop()
        ends = self._heard + MISSED_BEATS * self._beat.total_seconds()
        if loop.time() >= ends:
            self._fail("the broker stopped feeding it")
        elif not self._failure:
            self._mute = loop.call_at(ends, self._check_mute)

    async def _wait(self, until: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = None if until is None else loop.call_at(until, self.nudge)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _unavailable(self, why: str) -> Unavailable:
        msg = f"{self.operation} of {self._bucket}: {why}"
        return Unavailable(msg, operation=self.operation, subject=self._bucket)

    def _fail(self, why: str) -> None:
        self._failure = self._failure or why
        self.nudge()

    async def _hear(self, msg: Msg) -> None:
        self._heard = asyncio.get_running_loop().time()
        headers = msg.headers
        status = headers.get("Status") if headers and not msg.data else None
        if status == _CONTROL:
            await self._control(msg, headers or {})
        elif status is not None:
            self._fail(f"the broker ended it: {(headers or {}).get('Description', status)}")
        else:
            self._deliver(msg, headers or {})

    async def _control(self, msg: Msg, headers: dict[str, str]) -> None:
        answer_to = msg.reply or headers.get("Nats-Consumer-Stalled", "")
        if answer_to and self._broker.is_up:
            try:
                await self._broker.link.publish(answer_to)
            except nats.errors.Error as fault:
                self._fail(f"flow control could not be answered: {fault}")
        if msg.reply:
            return
        if int(headers.get("Nats-Last-Consumer", self._consumed)) != self._consumed:
            self._fail("messages were lost")
            return
        self._items.append(Beat(Revision(int(headers.get("Nats-Last-Stream", 0)))))
        self.nudge()

    def _deliver(self, msg: Msg, headers: dict[str, str]) -> None:
        tokens = msg.reply.split(".")
        at = 5 if len(tokens) == 9 else 7
        stream_seq, consumer_seq, nanos, pending = map(int, tokens[at : at + 4])
        if consumer_seq != self._consumed + 1:
            self._fail("messages were lost")
            return
        self._consumed = consumer_seq
        entry = Entry(
            key=msg.subject[len(self._prefix) :],
            value=msg.data,
            revision=Revision(stream_seq),
            written_at=Instant(nanos),
            operation=operation_of(headers),
        )
        self._items.append(Delivery(entry, pending))
        self.nudge()
