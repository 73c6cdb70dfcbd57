"""Three real brokers that are one cluster, for what only several members can show.

With `separable` each member reaches each other one through a proxy of that pair's own, so that a
member can be cut off from its peers and not from its clients::

    async with Cluster(separable=True) as cluster:
        cluster.cut_off(cluster.members[0])   # nothing passes to or from its peers
        cluster.join(cluster.members[0])
"""

import asyncio
import json
import secrets
from collections.abc import Iterator
from contextlib import suppress
from itertools import permutations
from types import TracebackType
from typing import Final, Self
from urllib.request import urlopen

import nats
from nats.aio.client import Client

from tests.support.nats_server import NatsServer, free_port
from tests.support.proxy import TcpProxy
from tests.support.waiting import eventually

_UNTOLD: Final = "no_advertise: true"  # clients are not told of the other members
# Where a member that can be cut off says it is to be reached: nobody listens there, so no peer
# finds a way around the proxies.
_NOWHERE: Final = 'advertise: "127.0.0.1:1"'


class Cluster:
    """`async with Cluster() as cluster:` gives `cluster.members`, all up and with a meta leader."""

    def __init__(
        self,
        size: int = 3,
        *,
        domain: str = "crewlet",
        name: str = "crew",
        sync_interval: str = "always",
        separable: bool = False,
        clients_stay: bool = False,
    ) -> None:
        """Nothing runs yet.

        Args:
            size: how many members.
            domain: of their JetStream.
            name: of the cluster.
            sync_interval: as for a broker.
            separable: whether a member can be cut off; clients stay too.
            clients_stay: a client is not told of other members than the one it was given.
        """
        words = [_UNTOLD] if separable or clients_stay else []
        words += [_NOWHERE] if separable else []
        self.user = "crewlet"
        self.password = secrets.token_hex(8)
        self.domain = domain
        ports = [free_port() for _ in range(size)]
        self._ways: dict[tuple[int, int], TcpProxy] = {}
        self._monitors = [free_port() for _ in range(size)] if separable else []
        doors = {(at, to): ports[to] for at, to in permutations(range(size), 2)}
        if separable:
            self._ways = {pair: TcpProxy(port, listen=free_port()) for pair, port in doors.items()}
            doors = {pair: way.port for pair, way in self._ways.items()}
        self.members = tuple(
            NatsServer(
                name=f"n{at}",
                domain=domain,
                user=self.user,
                password=self.password,
                sync_interval=sync_interval,
                cluster=name,
                cluster_port=ports[at],
                cluster_extra=", ".join(words),
                extra=f'http: "127.0.0.1:{self._monitors[at]}"' if separable else "",
                routes=[
                    f"nats://{self.user}:{self.password}@127.0.0.1:{port}"
                    for (one, _), port in doors.items()
                    if one == at
                ],
            )
            for at in range(size)
        )

    @property
    def urls(self) -> tuple[str, ...]:
        """Every member's address."""
        return tuple(member.url for member in self.members)

    def member(self, name: str) -> NatsServer:
        """By server name: what a stream's `cluster.leader` says."""
        return next(member for member in self.members if member.name == name)

    def cut_off(self, member: NatsServer, *, silent: bool = True) -> None:
        """Part a member from its peers; its clients keep it.

        Args:
            member: of a separable cluster.
            silent: nothing passes and nobody is told; else the routes are reset and refused.
        """
        for way in self._ways_of(member):
            (way.stall if silent else way.cut)()

    async def meta_leader(self) -> NatsServer:
        """The member of a separable cluster that places the streams of all."""

        def asked() -> str:
            with urlopen(f"http://127.0.0.1:{self._monitors[0]}/jsz", timeout=5) as answer:
                return str(json.load(answer)["meta_cluster"]["leader"])

        return self.member(await asyncio.to_thread(asked))

    async def lead(self, stream: str, member: NatsServer) -> None:
        """Have this member lead a stream."""
        client = await self._client(member)
        verb = f"$JS.{self.domain}.API.STREAM.LEADER.STEPDOWN.{stream}"
        wish = json.dumps({"placement": {"preferred": member.name}}).encode()

        async def leads() -> bool:
            if await self.leader_of(stream) is member:
                return True
            with suppress(nats.errors.Error):
                await client.request(verb, wish, timeout=5)
            return False

        try:
            await eventually(leads, within=30, why=f"{member.name} leads {stream}")
        finally:
            await client.close()

    def join(self, member: NatsServer) -> None:
        """Let it reach its peers again."""
        for way in self._ways_of(member):
            way.heal()

    def _ways_of(self, member: NatsServer) -> Iterator[TcpProxy]:
        assert self._ways, "only a member of a separable cluster can be cut off"
        at = self.members.index(member)
        return (way for pair, way in self._ways.items() if at in pair)

    async def start(self) -> None:
        """Start every member and wait until JetStream has a leader."""
        for way in self._ways.values():
            await way.open()
        for member in self.members:
            member.launch()
        for member in self.members:
            await eventually(member.answers, within=30, why=f"{member.name} answers")
        await self.settled()

    async def mend(self) -> None:
        """Have every member run, answer and know a leader again, whatever befell it."""
        for way in self._ways.values():
            way.heal()
        for member in self.members:
            if member.running:
                member.resume()
        for member in self.members:
            if not member.running:
                await member.start()
        await self.settled()

    async def settled(self) -> None:
        """Wait until the meta group answers through every running member."""
        for member in self.members:
            if member.running:
                await self._led(member)

    async def leader_of(self, stream: str) -> NatsServer:
        """The member that leads a stream now."""
        running = next(member for member in self.members if member.running)
        client = await self._client(running)
        try:

            async def led() -> str:
                try:
                    info = await client.jetstream(domain=self.domain or None).stream_info(stream)
                except (nats.errors.Error, nats.js.errors.Error):
                    return ""  # an election is under way
                return (info.cluster.leader if info.cluster else "") or ""

            return self.member(await eventually(led, within=20, why=f"{stream} has a leader"))
        finally:
            await client.close()

    async def _led(self, member: NatsServer) -> None:
        client = await self._client(member)
        try:

            async def answers() -> bool:
                try:
                    await client.jetstream(domain=self.domain or None).account_info()
                except (nats.errors.Error, nats.js.errors.Error):
                    return False
                return True

            await eventually(answers, within=40, why=f"the cluster settles, seen by {member.name}")
        finally:
            await client.close()

    async def _client(self, member: NatsServer) -> Client:
        return await nats.connect(member.url, user=self.user, password=self.password)

    def dispose(self) -> None:
        """End every member and remove their stores."""
        for member in self.members:
            member.dispose()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            self.dispose()
            await self._close_ways()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dispose()
        await self._close_ways()

    async def _close_ways(self) -> None:
        for way in self._ways.values():
            await way.close()
