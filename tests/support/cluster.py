"""Three real brokers that are one cluster, for what only several members can show."""

import secrets
from types import TracebackType
from typing import Self

import nats
from nats.aio.client import Client

from tests.support.nats_server import NatsServer, free_port
from tests.support.waiting import eventually


class Cluster:
    """`async with Cluster() as cluster:` gives `cluster.members`, all up and with a meta leader."""

    def __init__(self, size: int = 3, *, domain: str = "crewlet", name: str = "crew") -> None:
        self.user = "crewlet"
        self.password = secrets.token_hex(8)
        self.domain = domain
        ports = [free_port() for _ in range(size)]
        self.members = tuple(
            NatsServer(
                name=f"n{at}",
                domain=domain,
                user=self.user,
                password=self.password,
                cluster=name,
                cluster_port=ports[at],
                routes=[
                    f"nats://{self.user}:{self.password}@127.0.0.1:{port}"
                    for port in ports
                    if port != ports[at]
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

    async def start(self) -> None:
        """Start every member and wait until JetStream has a leader."""
        for member in self.members:
            member.launch()
        for member in self.members:
            await eventually(member.answers, within=30, why=f"{member.name} answers")
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
                info = await client.jetstream(domain=self.domain or None).stream_info(stream)
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
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dispose()
