"""The NATS backend under certification: a real server, and the wire to it.

Every handle connects through a `Wire` of its own, so that a case can count what it asked of the
broker and bend what the broker says. Each case has a prefix of its own on one shared server.
"""

import asyncio
import base64
import itertools
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Final, override

import nats
import nats.js.errors
import pytest
from nats.aio.client import Client
from nats.js.client import JetStreamContext

import coordination
from coordination.contract.bucket import Bucket
from coordination.contract.store import Credentials, Store
from coordination.errors import Unavailable
from coordination.slots.store import SlotStore
from tests.contract.backends import Backend, Certified, register
from tests.contract.cases import Scope
from tests.contract.observing import observed_bucket
from tests.support.nats_server import NatsServer, free_port
from tests.support.waiting import eventually
from tests.support.wire import Wire

BACK_WITHIN: Final = 20.0  # seconds until a healed store answers again
LEAF_PORT: Final = free_port()  # where a leaf joins the shared server
_PREFIXES = itertools.count()
_SHARED: list[NatsServer] = []


def shared_server() -> NatsServer:
    """The one server every case of this session runs on."""
    if not _SHARED:
        leaves = f'leafnodes: {{ listen: "127.0.0.1:{LEAF_PORT}" }}'
        server = NatsServer(sync_interval="2m", extra=leaves)
        server.start_blocking()
        _SHARED.append(server)
    return _SHARED[0]


def dispose() -> None:
    """End the shared server."""
    while _SHARED:
        _SHARED.pop().dispose()


@dataclass(kw_only=True)
class BrokerBackend(Backend):
    """A prefix of its own on a real server."""

    replicas: ClassVar[int] = 1
    prefix: str = field(default_factory=lambda: f"c{next(_PREFIXES)}-{secrets.token_hex(3)}")
    wires: list[Wire] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    admin: Client | None = None
    paused: bool = False

    @property
    @override
    def can_move_clock(self) -> bool:
        return False

    @property
    def servers(self) -> tuple[NatsServer, ...]:
        """What keeps the store."""
        return (shared_server(),)

    @property
    def server(self) -> NatsServer:
        """Any of them, for what they all have in common."""
        return self.servers[0]

    @property
    def witnesses(self) -> tuple[NatsServer, ...]:
        """Where another client can look on."""
        return self.servers

    def door(self, index: int) -> NatsServer:
        """The server a handle connects to."""
        return self.servers[index % len(self.servers)]

    async def begin(self) -> None:
        """Have the servers run before any handle is opened."""

    @override
    async def connect(self, index: int, *, lease_ttl: timedelta) -> Store:
        wire = await Wire.open("127.0.0.1", self.door(index).port)
        self.wires.append(wire)
        store = await coordination.open_jetstream(
            wire.url,
            credentials=Credentials(user=self.server.user, password=self.server.password),
            domain=self.server.domain,
            replicas=self.replicas,
            prefix=self.prefix,
            lease_ttl=lease_ttl,
            name=f"handle-{index}",
        )
        self.stores.append(store)
        return store

    @override
    async def advance(self, span: timedelta) -> None:
        await asyncio.sleep(span.total_seconds())

    @override
    async def make_unreachable(self, *, silent: bool = False) -> None:
        if silent:
            self.paused = True
            for server in self.servers:
                server.pause()
            return
        for wire in self.wires:
            await wire.cut()

    @override
    async def heal(self) -> None:
        self._resume()
        for wire in self.wires:
            await wire.heal()

        await eventually(self.reachable, within=BACK_WITHIN, why="the healed broker answers")

    async def reachable(self) -> bool:
        """Whether every handle is answered about every bucket a case asks."""
        try:
            for store in self.stores:
                assert isinstance(store, SlotStore)
                buckets = store.buckets
                for bucket in (buckets.leases, buckets.duties, buckets.epochs, buckets.config):
                    await bucket.now()
                for bucket in (buckets.status, buckets.positions):
                    await bucket.now()
        except Unavailable:
            return False
        return True

    @override
    async def close(self) -> None:
        self._resume()
        for wire in self.wires:
            await wire.heal()
        for store in self.stores:
            await store.close()
        for wire in self.wires:
            await wire.close()
        js = await self.js()
        await asyncio.gather(*(js.delete_stream(name) for name in await self.streams()))
        if self.admin is not None:
            await self.admin.close()

    async def js(self) -> JetStreamContext:
        """The broker as another client sees it, beside the backend."""
        if self.admin is None:
            self.admin = await nats.connect(
                [server.url for server in self.witnesses],
                user=self.server.user,
                password=self.server.password,
            )
        return self.admin.jetstream(domain=self.server.domain, timeout=10)

    async def streams(self) -> list[str]:
        """The streams of this prefix."""
        found = await (await self.js()).streams_info()
        names = [info.config.name or "" for info in found]
        return [name for name in names if name.startswith(f"KV_{self.prefix}_")]

    async def copied(self, slot: str) -> None:
        """Wait until every replica holds what was written: a pass from one behind costs reads."""
        js = await self.js()

        async def is_copied() -> bool:
            cluster = (await js.stream_info(self.stream(slot))).cluster
            replicas = (cluster.replicas or []) if cluster is not None else []
            return all(replica.current and not replica.lag for replica in replicas)

        await eventually(is_copied, within=10, why="every replica holds what was written")

    def stream(self, slot: str) -> str:
        """A bucket's stream."""
        return f"KV_{self.prefix}_{slot}"

    def subject(self, slot: str, key: str) -> str:
        """Where a key's messages stand."""
        return f"$KV.{self.prefix}_{slot}.{key}"

    def bucket(self, slot: str, handle: int = 0) -> Bucket:
        """One bucket of a handle, through the port every slot is written over."""
        store = self.stores[handle]
        assert isinstance(store, SlotStore)
        found: Bucket = getattr(store.buckets, slot)
        return observed_bucket(found, self.tally)

    async def raw(self, slot: str, key: str) -> bytes | None:
        """What another client reads under a key; None when nothing is there."""
        try:
            found = await (await self.js()).get_last_msg(self.stream(slot), self.subject(slot, key))
        except nats.js.errors.NotFoundError:
            return None
        return found.data or b""

    async def put_raw(self, slot: str, key: str, body: bytes) -> None:
        """Write bytes under a key as another client would."""
        await (await self.js()).publish(self.subject(slot, key), body)

    async def consumers(self, slot: str) -> int:
        """How many consumers the stream of a bucket has."""
        info = await (await self.js()).stream_info(self.stream(slot))
        return info.state.consumer_count

    async def leader(self, slot: str) -> str:
        """Who leads a bucket's stream."""
        info = await (await self.js()).stream_info(self.stream(slot))
        return (info.cluster.leader if info.cluster else "") or ""

    async def sweep(self, slot: str, keys: Iterable[str]) -> int:
        """Purge each key through its newest message; how many messages the broker removed."""
        js = await self.js()
        removed = 0
        for key in keys:
            newest = await js.get_last_msg(self.stream(slot), self.subject(slot, key))
            request = {"filter": self.subject(slot, key), "seq": (newest.seq or 0) + 1}
            answer = await self.api(f"STREAM.PURGE.{self.stream(slot)}", request)
            removed += int(answer["purged"])
        return removed

    async def client_view(self, slot: str, key: str) -> tuple[bytes, int, str, str]:
        """A key's newest message as another client reads it: value, revision, operation, time."""
        answer = await self.api(
            f"STREAM.MSG.GET.{self.stream(slot)}", {"last_by_subj": self.subject(slot, key)}
        )
        message = answer["message"]
        headers = base64.b64decode(message.get("hdrs", "")).decode()
        operation = re.search(r"KV-Operation: *(\w+)", headers)
        word = {"DEL": "delete", "PURGE": "purge"}[operation[1]] if operation else "put"
        return base64.b64decode(message.get("data", "")), message["seq"], word, message["time"]

    async def api(self, verb: str, request: dict[str, object]) -> dict[str, Any]:
        """A request to JetStream as another client asks it; an error fails the case."""
        await self.js()
        assert self.admin is not None
        subject = f"$JS.{self.server.domain}.API.{verb}"
        reply = await self.admin.request(subject, json.dumps(request).encode(), timeout=10)
        answer: dict[str, Any] = json.loads(reply.data)
        assert "error" not in answer, f"{verb}: {answer}"
        return answer

    async def step_down(self, slot: str) -> None:
        """Have the leader of a bucket's stream hand over."""
        await self.api(f"STREAM.LEADER.STEPDOWN.{self.stream(slot)}", {})

    @asynccontextmanager
    async def refusing_writes(self, slot: str) -> AsyncIterator[None]:
        """The broker itself refuses every write into a bucket: it has no room for one byte."""
        js = await self.js()
        config = (await js.stream_info(self.stream(slot))).config
        await js.update_stream(config, max_bytes=1)
        try:
            yield
        finally:
            await js.update_stream(config, max_bytes=-1)

    def _resume(self) -> None:
        if self.paused:
            self.paused = False
            for server in self.servers:
                server.resume()


def register_broker() -> None:
    """Certify the NATS backend on one server."""
    register(
        Certified(
            name="jetstream",
            factory=BrokerBackend,
            scopes=frozenset({Scope.BOTH, Scope.KV}),
            marks=(pytest.mark.broker,),
        )
    )
