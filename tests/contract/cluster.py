"""The NATS backend on three members that keep three replicas, each handle on a member of its own.

One cluster serves the session; each case has a prefix of its own on it. A case that stops members
has them started again before the next one runs.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar, override

import nats.errors
import nats.js.errors
import pytest
from nats.js.client import JetStreamContext

from coordination.contract.store import Store
from coordination.jetstream.buckets import stream_config
from coordination.rules.retention import every_bucket
from tests.contract.backends import Certified, register
from tests.contract.broker import BrokerBackend
from tests.contract.cases import Scope
from tests.contract.terms import AGE
from tests.support.cluster import Cluster
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually

_SHARED: list[Cluster] = []


async def shared_cluster() -> Cluster:
    """The three members every case of this session runs on."""
    if not _SHARED:
        cluster = Cluster(sync_interval="2m", clients_stay=True)
        _SHARED.append(cluster)
        await cluster.start()
    return _SHARED[0]


def dispose() -> None:
    """End the shared members."""
    while _SHARED:
        _SHARED.pop().dispose()


@dataclass(kw_only=True)
class ClusterBackend(BrokerBackend):
    """A prefix of its own on a real cluster; handle 0 is on the first member, 1 on the second."""

    replicas: ClassVar[int] = 3
    cluster: Cluster | None = None

    @property
    @override
    def has_replicas(self) -> bool:
        return True

    hurt: bool = False  # whether the case stopped a member
    down: list[NatsServer] = field(default_factory=list)  # the members it stopped

    @property
    def members(self) -> Cluster:
        """The cluster, once something was asked of it."""
        assert self.cluster is not None, "nothing was asked of the cluster yet"
        return self.cluster

    @property
    @override
    def servers(self) -> tuple[NatsServer, ...]:
        return self.members.members

    @override
    async def begin(self) -> None:
        self.cluster = await shared_cluster()

    @override
    async def connect(self, index: int, *, lease_ttl: timedelta) -> Store:
        await self.js()
        if not self.stores and lease_ttl == AGE:
            await self._make_buckets()
        return await super().connect(index, lease_ttl=lease_ttl)

    @property
    @override
    def witnesses(self) -> tuple[NatsServer, ...]:
        return tuple(member for member in self.servers if member not in self.down)

    @override
    async def js(self) -> JetStreamContext:
        self.cluster = await shared_cluster()
        return await super().js()

    async def _make_buckets(self) -> None:
        """Make every bucket at once, as they are made; one by one they take two seconds a case.

        A case that fixes the age of its lease bucket has the backend make them, in order.
        """

        async def make(config: dict[str, object]) -> None:
            await self.api(f"STREAM.CREATE.{config['name']}", config)

        configs = [
            stream_config(f"{self.prefix}_{kept.suffix}", kept, self.replicas)
            for kept in every_bucket(AGE)
        ]
        await self.js()  # one connection, before all of them ask over it
        await asyncio.gather(*(make(config) for config in configs))

    @override
    async def close(self) -> None:
        if self.hurt or self.paused:
            await self.mend()
            await eventually(self._deleted, within=40, why="the mended cluster deletes streams")
        await super().close()

    async def _deleted(self) -> bool:
        """Whether no stream of this case is left; those that are take part in no later one."""
        js = await self.js()
        try:
            for name in await self.streams():
                await js.delete_stream(name)
            return not await self.streams()
        except (nats.errors.Error, nats.js.errors.Error):
            return False

    async def leads(self, slot: str) -> NatsServer:
        """The member that leads a bucket's stream."""

        async def led() -> str:
            return await self.leader(slot)

        return self.members.member(await eventually(led, within=20, why=f"{slot} has a leader"))

    async def pause(self, *members: NatsServer) -> None:
        """SIGSTOP, undone when the case ends."""
        await self._leave(members)
        for member in members:
            member.pause()

    async def kill(self, *members: NatsServer) -> None:
        """SIGKILL, undone when the case ends."""
        await self._leave(members)
        for member in members:
            await member.kill()
        for at, wire in enumerate(self.wires):
            if self.door(at) in members:
                await wire.cut()  # as its port is: nobody listens there

    async def mend(self) -> None:
        """Have every member run and answer again."""
        await self.members.mend()
        self.down.clear()
        for wire in self.wires:
            await wire.heal()

    async def _leave(self, members: tuple[NatsServer, ...]) -> None:
        """Watch from another member than these, from the next question on."""
        self.hurt = True
        self.down += members
        if self.admin is not None:
            await self.admin.close()
            self.admin = None


def register_cluster() -> None:
    """Certify the NATS backend on three members."""
    register(
        Certified(
            name="jetstream-r3",
            factory=ClusterBackend,
            scopes=frozenset({Scope.BOTH, Scope.KV, Scope.CLUSTER}),
            marks=(pytest.mark.broker, pytest.mark.cluster),
        )
    )
