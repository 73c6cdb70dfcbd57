"""Finding and purging removal markers on a broker that answers badly, late or not at all."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator

import pytest
from nats.aio.client import Client

from coordination.contract.bucket import Entry, Operation
from coordination.errors import Unavailable
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from coordination.rules.listing import QUIET
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually
from tests.support.wire import Wire


@pytest.fixture
async def wire(server: NatsServer) -> AsyncIterator[Wire]:
    one = await Wire.open("127.0.0.1", server.port)
    yield one
    await one.close()


@pytest.fixture
async def bent(server: NatsServer, wire: Wire, plain: Client) -> AsyncIterator[KvBucket]:
    """A bucket behind that wire: one kept record, two markers."""
    name = f"b{secrets.token_hex(4)}"
    await plain.jetstream().create_key_value(bucket=name)
    broker = await Broker.connect(
        wire.url, credentials=credentials_of(server), domain=server.domain, name="bent"
    )
    bucket = KvBucket(broker, name, None)
    for key in ("kept", "b", "a"):
        await bucket.put(key, b"1")
    await bucket.remove("b", Operation.DELETE)
    await bucket.remove("a", Operation.PURGE)
    yield bucket
    await broker.close()


async def test_markers_are_found_by_key_and_removed_through_their_own_revision(
    bent: KvBucket,
) -> None:
    found = await bent.markers(before=await bent.now())
    assert [(one.key, one.operation) for one in found] == [
        ("a", Operation.PURGE),
        ("b", Operation.DELETE),
    ]
    again = await bent.put("a", b"2")
    assert await bent.purge_through("a", found[0].revision) == 0
    assert await bent.purge_through("b", found[1].revision) == 1
    standing = await bent.read("a")
    assert isinstance(standing, Entry)
    assert standing.revision == again.revision
    assert await bent.markers(before=await bent.now()) == ()


@pytest.mark.parametrize(
    "answer",
    [
        {"success": False, "purged": 0},
        {},
        {"error": {"code": 500, "err_code": 10008, "description": "unavailable"}},
    ],
)
async def test_a_purge_without_a_success_is_unknown(
    bent: KvBucket, wire: Wire, answer: dict[str, object]
) -> None:
    body = json.dumps(answer).encode()
    wire.answerers.append(lambda frame: body if ".STREAM.PURGE." in frame.subject else None)
    (first, *_) = await bent.markers(before=await bent.now())
    with pytest.raises(Unavailable, match="sweep of a removal marker"):
        await bent.purge_through(first.key, first.revision)
    assert wire.count(r"\.STREAM\.PURGE\.") == 1


async def test_a_pass_the_broker_stops_feeding_ends_by_itself_with_what_it_saw(
    bent: KvBucket, wire: Wire, plain: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.jetstream.markers.QUIET", QUIET / 10)
    wire.keepers.append(lambda frame: wire.deliveries < 2)
    loop = asyncio.get_running_loop()
    before = await bent.now()
    began = loop.time()
    found = await bent.markers(before=before)
    assert 0.4 < loop.time() - began < 3
    assert wire.withheld > 0
    assert [one.key for one in found] == ["b"]
    info = await plain.jetstream().stream_info(f"KV_{bent.name}")
    assert info.state.consumer_count == 0


async def test_a_pass_that_is_cut_off_is_unknown(bent: KvBucket, wire: Wire) -> None:
    before = await bent.now()
    wire.keepers.append(lambda frame: wire.deliveries < 1)
    sweep = asyncio.ensure_future(bent.markers(before=before))
    await eventually(lambda: wire.withheld > 0, within=5)
    wire.sever()
    with pytest.raises(Unavailable, match="ordered pass"):
        await sweep
