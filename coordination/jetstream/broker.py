"""The one connection a process has to its broker, and asking over it.

A question has a deadline and comes back as a `Reply` or a `Silence` that says how far it got: that
is what tells "nothing was sent" from "it may have landed". Nothing is kept for later: a question
put while the link is down is answered at once, and one cut off in flight as soon as the link
breaks.
"""

import asyncio
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, Self

import msgspec
import nats.errors
from nats.aio.msg import Msg

from coordination.contract.answers import Answer
from coordination.contract.store import Credentials
from coordination.errors import InvalidRequest, Unavailable
from coordination.jetstream.errors import ApiError, refusal, translate
from coordination.jetstream.link import Link, dial, hang_up

_LOG = logging.getLogger(__name__)

ASK_WITHIN: Final = timedelta(seconds=5)  # what a request gets whose caller said nothing
CONNECT_WITHIN: Final = timedelta(seconds=5)
_CHORES_WITHIN: Final = 5.0  # seconds a close waits for consumers being deleted
_NOBODY: Final = "503"
_STATUS: Final = "Status"


class Why(StrEnum):
    """How a question ended without an answer."""

    UNSENT = "nothing was sent: the broker is not connected"
    UNHEARD = "nobody listens there"
    CUT = "the connection was lost"
    LATE = "no answer in time"


@dataclass(frozen=True, slots=True)
class Silence(Answer):
    """No answer came."""

    why: Why

    @property
    def may_have_landed(self) -> bool:
        """Whether what was sent may have been taken in."""
        return self.why in (Why.CUT, Why.LATE)


class ApiReply(msgspec.Struct, frozen=True):
    """Base of every JetStream API answer."""

    error: ApiError | None = None


class Broker:
    """The connection. Make it with `connect`; it belongs to the loop it was made on."""

    def __init__(
        self, urls: tuple[str, ...], credentials: Credentials | None, domain: str | None, name: str
    ) -> None:
        self._urls = urls
        self._credentials = credentials
        self._name = name
        self._api = f"$JS.{domain}.API." if domain else "$JS.API."
        self._kv_prefix = self._api if domain else ""
        self._link: Link | None = None
        self._inbox = f"_INBOX.{secrets.token_hex(11)}."
        self._tokens = itertools.count()
        self._waiting: dict[str, asyncio.Future[Msg | Silence]] = {}
        self._on_lost: dict[object, Callable[[], None]] = {}
        self._on_back: dict[object, Callable[[], None]] = {}
        self._on_close: dict[object, Callable[[], None]] = {}
        self._chores: set[asyncio.Task[Any]] = set()
        self._redialing: asyncio.Task[None] | None = None
        self._closing = False

    @classmethod
    async def connect(
        cls,
        urls: str | Sequence[str],
        *,
        credentials: Credentials | None = None,
        domain: str | None = None,
        name: str = "crewlet",
        within: timedelta = CONNECT_WITHIN,
    ) -> Self:
        """Dial a broker; from then on the connection heals itself until `close`.

        Args:
            urls: one address or several of the same cluster.
            credentials: None where the broker asks for none.
            domain: its JetStream domain; None for the account's own.
            name: how the broker lists this connection.
            within: how long the first connection may take.

        Raises:
            Unavailable: no broker answered in time.
            ConfigurationMismatch: the broker refuses the credentials.
        """
        addresses = (urls,) if isinstance(urls, str) else tuple(urls)
        broker = cls(addresses, credentials, domain, name)
        await broker._dial(within)
        return broker

    @property
    def is_up(self) -> bool:
        """Whether the link stands, as far as the client knows."""
        return self._link is not None and self._link.is_connected and not self._closing

    @property
    def is_clustered(self) -> bool:
        """Whether the broker has peers; never derived from a replica count."""
        return self._link is not None and self._link.clustered

    @property
    def server_version(self) -> str:
        """The broker's version."""
        return self._link.server_version if self._link else ""

    @property
    def link(self) -> Link:
        """The client connection as it stands, for what subscribes.

        Raises:
            Unavailable: it is down.
        """
        if self._link is None or not self.is_up:
            raise Unavailable(Why.UNSENT, operation="subscribe", subject=self._name)
        return self._link

    def api_subject(self, verb: str) -> str:
        """Where a JetStream API request is sent."""
        return self._api + verb

    def kv_subject(self, bucket: str, key: str) -> str:
        """Where a write of this key is published."""
        return f"{self._kv_prefix}$KV.{bucket}.{key}"

    def new_inbox(self) -> str:
        """A subject of one's own to be answered on."""
        return f"_INBOX.{secrets.token_hex(11)}"

    def on_lost(self, call: Callable[[], None]) -> Callable[[], None]:
        """Have `call` called whenever the link breaks; returns how to stop that."""
        return _listen(self._on_lost, call)

    def on_back(self, call: Callable[[], None]) -> Callable[[], None]:
        """Have `call` called whenever the link is there again; returns how to stop that."""
        return _listen(self._on_back, call)

    def on_close(self, call: Callable[[], None]) -> Callable[[], None]:
        """Have `call` called before the connection is closed; returns how to stop that."""
        return _listen(self._on_close, call)

    async def ask(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        within: timedelta = ASK_WITHIN,
        headers: dict[str, str] | None = None,
    ) -> Msg | Silence:
        """Send a request and wait for its answer, never longer than `within`.

        Raises:
            InvalidRequest: the library refuses to send it: too large, or no subject.
        """
        link = self._link
        if link is None or not link.is_connected or self._closing:
            self._revive()
            return Silence(Why.UNSENT)
        link.check_size(payload, headers)
        token = f"{next(self._tokens):x}"
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Msg | Silence] = loop.create_future()
        self._waiting[token] = answer
        timer = loop.call_later(within.total_seconds(), _settle, answer, Silence(Why.LATE))
        try:
            await link.publish(subject, payload, reply=self._inbox + token, headers=headers)
            return await answer
        except nats.errors.Error as fault:
            error = translate(fault, operation="send", subject=subject)
            if isinstance(error, InvalidRequest):
                raise error from fault
            return Silence(Why.UNSENT)
        except OSError:
            return Silence(Why.CUT)
        finally:
            timer.cancel()
            self._waiting.pop(token, None)

    async def api[R: ApiReply](
        self,
        verb: str,
        kind: type[R],
        payload: bytes = b"",
        *,
        operation: str,
        subject: str,
        within: timedelta = ASK_WITHIN,
    ) -> R | Silence:
        """A JetStream API request; its answer may carry an `error`.

        Raises:
            Unavailable: the answer cannot be read.
        """
        reply = await self.ask(self._api + verb, payload, within=within)
        if isinstance(reply, Silence):
            return reply
        try:
            return msgspec.json.decode(reply.data, type=kind)
        except (msgspec.MsgspecError, ValueError) as fault:
            msg = f"{operation} of {subject}: the broker's answer cannot be read: {fault}"
            raise Unavailable(msg, operation=operation, subject=subject) from fault

    async def demand[R: ApiReply](
        self,
        verb: str,
        kind: type[R],
        payload: bytes = b"",
        *,
        operation: str,
        subject: str,
        within: timedelta = ASK_WITHIN,
    ) -> R:
        """`api` where nothing but an answer will do.

        Raises:
            Unavailable: no answer, or one that is an error.
        """
        reply = await self.api(
            verb, kind, payload, operation=operation, subject=subject, within=within
        )
        if isinstance(reply, Silence):
            msg = f"{operation} of {subject}: {reply.why}"
            raise Unavailable(msg, operation=operation, subject=subject)
        if reply.error is not None:
            raise refusal(reply.error, operation=operation, subject=subject)
        return reply

    def chore[T](self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run something that outlives its caller's cancellation; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        return task

    async def close(self) -> None:
        """End what is open, finish the chores, then close. Safe to call twice, and when cut off."""
        for call in tuple(self._on_close.values()):
            call()
        if self._chores:
            await asyncio.wait(self._chores, timeout=_CHORES_WITHIN)
        self._closing = True
        self._lose()
        for task in (self._redialing, *self._chores):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        link, self._link = self._link, None
        if link is not None:
            await hang_up(link)

    async def _dial(self, within: timedelta | None) -> None:
        link = await dial(
            self._urls,
            credentials=self._credentials,
            name=self._name,
            lost=_as_hook(self._lose),
            back=_as_hook(self._return),
            ended=_as_hook(self._end),
            within=within,
        )
        try:
            await link.subscribe(f"{self._inbox}*", cb=self._hear)
        except nats.errors.Error as fault:
            await hang_up(link)
            raise translate(fault, operation="connect", subject=self._name) from fault
        self._link = link

    async def _hear(self, msg: Msg) -> None:
        answer = self._waiting.get(msg.subject[len(self._inbox) :])
        if answer is None:
            return
        headers = msg.headers
        unheard = headers is not None and not msg.data and headers.get(_STATUS) == _NOBODY
        _settle(answer, Silence(Why.UNHEARD) if unheard else msg)

    def _lose(self) -> None:
        if self._link is None:
            return  # a dial that is failing
        self._link.forget_unsent()
        if not self._closing:
            _LOG.warning("coord_nats_lost name=%s", self._name)
        for answer in tuple(self._waiting.values()):
            _settle(answer, Silence(Why.CUT))
        for call in tuple(self._on_lost.values()):
            call()

    def _return(self) -> None:
        _LOG.info("coord_nats_back name=%s", self._name)
        for call in tuple(self._on_back.values()):
            call()

    def _end(self) -> None:
        """The library gave up: dial anew, since a process never does without its broker."""
        if self._closing or self._link is None:
            return
        self._lose()
        self._revive()

    def _revive(self) -> None:
        link = self._link
        if self._closing or link is None or not link.is_closed:
            return
        if self._redialing is None or self._redialing.done():
            self._redialing = asyncio.get_running_loop().create_task(
                self._redial(), name="coordination redial"
            )

    async def _redial(self) -> None:
        await self._dial(None)
        self._return()


def _settle(answer: "asyncio.Future[Msg | Silence]", outcome: Msg | Silence) -> None:
    if not answer.done():
        answer.set_result(outcome)


def _listen(
    calls: dict[object, Callable[[], None]], call: Callable[[], None]
) -> Callable[[], None]:
    key = object()
    calls[key] = call

    def stop() -> None:
        calls.pop(key, None)

    return stop


def _as_hook(call: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def hook() -> None:
        call()

    return hook
