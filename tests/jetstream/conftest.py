"""One shared broker, and a fresh company (bucket prefix) on it for each test."""

import secrets
from collections.abc import AsyncIterator, Iterator

import nats
import pytest
from nats.aio.client import Client

from coordination.contract.store import Credentials
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.store import JetStreamStore, open_jetstream
from tests.support.nats_server import NatsServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/jetstream" in item.path.as_posix():
            item.add_marker(pytest.mark.broker)


def credentials_of(server: NatsServer) -> Credentials:
    return Credentials(user=server.user, password=server.password)


@pytest.fixture(scope="session")
def server() -> Iterator[NatsServer]:
    """For tests that leave the broker alone."""
    with NatsServer() as one:
        yield one


@pytest.fixture
async def own_server() -> AsyncIterator[NatsServer]:
    """For tests that kill, pause or restart it."""
    async with NatsServer() as one:
        yield one


@pytest.fixture
def prefix() -> str:
    return f"t{secrets.token_hex(4)}"


@pytest.fixture
async def store(server: NatsServer, prefix: str) -> AsyncIterator[JetStreamStore]:
    opened = await open_jetstream(
        server.url, credentials=credentials_of(server), domain=server.domain, prefix=prefix
    )
    yield opened
    await opened.close()


@pytest.fixture
async def broker(server: NatsServer) -> AsyncIterator[Broker]:
    one = await Broker.connect(
        server.url, credentials=credentials_of(server), domain=server.domain, name="test"
    )
    yield one
    await one.close()


@pytest.fixture
def bucket(store: JetStreamStore, broker: Broker, prefix: str) -> KvBucket:
    """The positions bucket, over the connection `broker`."""
    return KvBucket(broker, f"{prefix}_positions", None)


@pytest.fixture
async def plain(server: NatsServer) -> AsyncIterator[Client]:
    """The bare client library."""
    client = await nats.connect(server.url, user=server.user, password=server.password)
    yield client
    await client.close()
