"""How far a bucket has come, how far a watch of it has, and the gate that compares the two."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from nats.aio.client import Client

from coordination.contract.answers import Absent, Owner
from coordination.contract.bucket import BucketWatch, Entry
from coordination.errors import Unavailable
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.store import JetStreamStore, open_jetstream
from coordination.rules.keys import Resource
from coordination.rules.leases import DEFAULT_LEASE_TTL
from coordination.slots.gate import Gate
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually

LOG = logging.getLogger("coordination")
OLD = Owner("node-old:core-1")
OLD_NODE = Resource.parse("node:node-old")
CEO = Resource.parse("seat:ceo")
ME = Owner("node-a:core-1")


@pytest.fixture
def short_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordination.jetstream.watch.WATCH_BEAT", timedelta(milliseconds=200))


@pytest.fixture
async def gate(store: JetStreamStore) -> AsyncIterator[Gate]:
    one = Gate(store.buckets.leases, LOG)
    yield one
    await one.close()


async def old_node(store: JetStreamStore) -> None:
    await store.leases.acquire(OLD_NODE, owner=OLD, ttl=DEFAULT_LEASE_TTL, protocol=1, gated=False)


async def purge(client: Client, server: NatsServer, bucket: str, key: str) -> None:
    """Remove a key's messages as an operator would: nothing tells a watch."""
    subject = f"$JS.{server.domain}.API.STREAM.PURGE.KV_{bucket}"
    request = {"filter": f"$KV.{bucket}.{key}"}
    reply = json.loads((await client.request(subject, json.dumps(request).encode())).data)
    assert reply["purged"] == 1


def following(watch: BucketWatch) -> "asyncio.Task[None]":
    """Take every event of a watch."""

    async def take() -> None:
        async for _ in watch.events():
            pass

    return asyncio.create_task(take())


async def test_an_empty_bucket_is_at_zero_and_a_written_one_at_its_last_write(
    bucket: KvBucket,
) -> None:
    assert (await bucket.position()).last_sequence == 0
    await bucket.put("a", b"1")
    second = await bucket.put("b", b"2")
    position = await bucket.position()
    assert position.last_sequence == second.revision
    written = await bucket.read("b")
    assert isinstance(written, Entry)
    assert position.now >= written.written_at


async def test_a_bucket_emptied_since_is_at_zero(
    bucket: KvBucket, plain: Client, server: NatsServer
) -> None:
    await bucket.put("a", b"1")
    await purge(plain, server, bucket.name, "a")
    assert (await bucket.position()).last_sequence == 0


async def test_a_watch_has_reached_what_it_handed_over(bucket: KvBucket) -> None:
    await bucket.put("a", b"1")
    last = await bucket.put("b", b"2")
    watch = await bucket.watch(">", what="raced")
    assert watch.reached == last.revision
    events = watch.events()
    third = await bucket.put("a", b"3")
    assert watch.reached == last.revision
    entry = await anext(events)
    assert isinstance(entry, Entry)
    assert watch.reached == entry.revision == third.revision
    await watch.close()


@pytest.mark.usefixtures("short_beats")
@pytest.mark.parametrize("key_filter", [">", "a"])
async def test_a_heartbeat_carries_a_watch_over_what_it_is_never_handed(
    bucket: KvBucket, plain: Client, server: NatsServer, key_filter: str
) -> None:
    await bucket.put("a", b"1")
    gone = await bucket.put("gone", b"2")
    await purge(plain, server, bucket.name, "gone")
    watch = await bucket.watch(key_filter, what="raced")
    assert watch.reached < gone.revision
    task = following(watch)
    await eventually(lambda: watch.reached == gone.revision, within=2)
    await watch.close()
    await task


async def test_a_judgement_does_not_wait_for_what_was_removed_in_vain(
    store: JetStreamStore, gate: Gate, plain: Client, server: NatsServer
) -> None:
    await old_node(store)
    await store.leases.acquire(CEO, owner=ME, ttl=DEFAULT_LEASE_TTL, gated=False)
    await purge(plain, server, store.buckets.leases.name, CEO.key)
    async with asyncio.timeout(4):
        assert await gate.floor() == 1


async def test_the_gate_has_a_consumer_of_its_own_which_ends_with_the_store(
    server: NatsServer, prefix: str, plain: Client
) -> None:
    store = await open_jetstream(
        server.url, credentials=credentials_of(server), domain=server.domain, prefix=prefix
    )
    stream = f"KV_{prefix}_leases"
    js = plain.jetstream(domain=server.domain)

    async def open_consumers() -> int:
        return (await js.stream_info(stream)).state.consumer_count

    assert await open_consumers() == 0
    for seat in (CEO, Resource.parse("seat:cto")):
        await store.leases.acquire(seat, owner=ME, ttl=DEFAULT_LEASE_TTL)
    assert await open_consumers() == 1
    async with await store.leases.watch(CEO.resource_class):
        assert await open_consumers() == 2
    assert await open_consumers() == 1
    await store.close()
    assert await open_consumers() == 0


async def test_an_idle_view_leaves_no_consumer(
    store: JetStreamStore, plain: Client, server: NatsServer
) -> None:
    gate = Gate(store.buckets.leases, LOG, idle=timedelta(milliseconds=100))
    await old_node(store)
    js = plain.jetstream(domain=server.domain)

    async def none_left() -> bool:
        info = await js.stream_info(f"KV_{store.buckets.leases.name}")
        return info.state.consumer_count == 0

    assert await gate.floor() == 1
    await eventually(none_left, why="the idle view deletes its consumer")
    assert await gate.floor() == 1
    await gate.close()


async def test_a_broker_that_was_killed_costs_the_view_and_no_wrong_answer(
    own_server: NatsServer,
) -> None:
    store = await open_jetstream(
        own_server.url, credentials=credentials_of(own_server), domain=own_server.domain
    )
    gate = Gate(store.buckets.leases, LOG)
    assert await gate.floor() == Absent()
    await old_node(store)
    assert await gate.floor() == 1
    await own_server.restart(crash=True)

    async def answers() -> bool:
        try:
            return await gate.floor() == 1
        except Unavailable:
            return False

    await eventually(answers, within=10)
    await gate.close()
    await store.close()
