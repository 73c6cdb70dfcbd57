"""The gate while members come and go: late it may be, unknown it may be, wrong never."""

from collections.abc import AsyncIterator

import nats
import pytest

from coordination.contract.answers import Owner
from coordination.contract.store import Credentials
from coordination.errors import Unavailable
from coordination.jetstream.store import JetStreamStore, open_jetstream
from coordination.rules.keys import Resource
from coordination.rules.leases import DEFAULT_LEASE_TTL, PROTOCOL
from tests.support.cluster import Cluster
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(180)]

LEASES = "KV_crewlet_leases"
OLD = Owner("node-old:core-1")
ME = Owner("node-a:core-1")


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(sync_interval="2m") as one:
        yield one


async def opened(cluster: Cluster) -> JetStreamStore:
    return await open_jetstream(
        cluster.urls,
        credentials=Credentials(user=cluster.user, password=cluster.password),
        domain=cluster.domain,
        replicas=3,
    )


async def claim(store: JetStreamStore, name: str, *, protocol: int = PROTOCOL) -> None:
    await store.leases.acquire(
        Resource.parse(name), owner=ME, ttl=DEFAULT_LEASE_TTL, protocol=protocol, gated=False
    )


async def floor_is(store: JetStreamStore, expected: int, within: float) -> None:
    """The floor is answered in time, and never otherwise than expected."""

    async def answered() -> bool:
        try:
            found = await store.leases.protocol_floor()
        except Unavailable:
            return False
        if found != expected:
            pytest.fail(f"the floor is {expected}, not {found}")
        return True

    await eventually(answered, within=within)


async def test_the_member_that_feeds_the_view_is_killed_and_no_older_build_is_missed(
    cluster: Cluster,
) -> None:
    store = await opened(cluster)
    await claim(store, "seat:ceo")
    await floor_is(store, PROTOCOL, 10)
    await (await feeding(cluster)).kill()

    async def written() -> bool:
        try:
            await claim(store, "node:old", protocol=1)
        except Unavailable:
            return False
        return True

    await eventually(written, within=30)
    await floor_is(store, 1, 30)
    await store.close()


async def feeding(cluster: Cluster) -> NatsServer:
    """The member that keeps the one consumer of the lease bucket: the view's."""
    client = await nats.connect(list(cluster.urls), user=cluster.user, password=cluster.password)
    try:
        js = client.jetstream(domain=cluster.domain)
        (consumer,) = await js.consumers_info(LEASES)
    finally:
        await client.close()
    assert consumer.cluster is not None
    return cluster.member(consumer.cluster.leader or "")


async def test_a_leader_that_steps_down_leaves_the_view_right(cluster: Cluster) -> None:
    store = await opened(cluster)
    peer = await opened(cluster)
    for protocol in range(9, 0, -1):
        await floor_is_after_a_step_down(cluster, store, peer, protocol)
    await store.close()
    await peer.close()


async def floor_is_after_a_step_down(
    cluster: Cluster, store: JetStreamStore, peer: JetStreamStore, protocol: int
) -> None:
    leader = await cluster.leader_of(LEASES)
    client = await nats.connect(leader.url, user=cluster.user, password=cluster.password)
    try:
        await client.request(f"$JS.{cluster.domain}.API.STREAM.LEADER.STEPDOWN.{LEASES}", b"")
    finally:
        await client.close()

    async def written() -> bool:
        try:
            await claim(peer, f"seat:s{protocol}", protocol=protocol)
        except Unavailable:
            return False
        return True

    await eventually(written, within=20)
    await floor_is(store, protocol, 20)
