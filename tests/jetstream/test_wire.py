"""Keys and bodies are what any other writer and reader of these buckets uses, both ways."""

import json
from datetime import timedelta

import pytest
from nats.aio.client import Client
from nats.js.kv import KeyValue

from coordination.contract.answers import Absent, Epoch, NodeId, Owner
from coordination.contract.config import Origin
from coordination.contract.leases import Granted
from coordination.contract.pauses import Created, Pause
from coordination.contract.status import ConfigStatus
from coordination.jetstream.store import JetStreamStore
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource, ResourceClass

TTL = timedelta(seconds=45)


async def bucket_of(plain: Client, prefix: str, suffix: str) -> KeyValue:
    return await plain.jetstream().key_value(f"{prefix}_{suffix}")


async def body(plain: Client, prefix: str, suffix: str, key: str) -> dict[str, object]:
    entry = await (await bucket_of(plain, prefix, suffix)).get(key)
    decoded: dict[str, object] = json.loads(entry.value or b"")
    return decoded


@pytest.mark.parametrize(
    ("resource", "suffix", "key"),
    [
        ("seat:ceo", "leases", "seat.ceo"),
        ("seat:dev.lead", "leases", "seat.dev=2Elead"),
        ("seat:zoé", "leases", "seat.zo=C3=A9"),
        ("node:node-a", "leases", "node.node-a"),
        ("node:10.0.0.7", "leases", "node.10=2E0=2E0=2E7"),
        ("worker:scheduler", "duties", "worker.scheduler"),
        ("worker:integration-reconcile", "duties", "worker.integration-reconcile"),
        ("move:task-1", "duties", "move.task-1"),
        ("merge:T 42", "duties", "merge.T=2042"),
        ("bulk:tracker", "duties", "bulk.tracker"),
        ("maintenance:CREWLET_TRACKER", "duties", "maintenance.CREWLET_TRACKER"),
    ],
)
async def test_a_lease_and_its_counter_stand_under_the_same_byte_identical_key(
    store: JetStreamStore, plain: Client, prefix: str, resource: str, suffix: str, key: str
) -> None:
    owner = Owner("node-a:7f2c")
    granted = await store.leases.acquire(
        Resource.parse(resource), owner=owner, ttl=TTL, hint="node-a", gated=False
    )
    assert isinstance(granted, Granted)
    found = await body(plain, prefix, suffix, key)
    acquired_at = granted.lease.acquired_at
    assert acquired_at is not None
    assert found == {
        "resource": resource,
        "owner": "node-a:7f2c",
        "epoch": 1,
        "ttl_ns": 45_000_000_000,
        "acquired_at": acquired_at.text(),
        "preferred": "node-a",
        "protocol": 4,
    }
    assert await body(plain, prefix, "epochs", key) == {
        "resource": resource,
        "epoch": 1,
        "preferred": "node-a",
    }


async def test_a_lease_another_writer_made_is_ours_to_read(
    store: JetStreamStore, plain: Client, prefix: str
) -> None:
    leases = await bucket_of(plain, prefix, "leases")
    revision = await leases.put(
        "node.node-a",
        b'{"resource":"node:node-a","owner":"node-a:7f2c","epoch":3,"ttl_ns":45000000000,'
        b'"acquired_at":"2026-09-23T08:00:00Z","protocol":4,"meta":{"labels":{"zone":"a"},'
        b'"roles":["ingress"],"status":{"draining":false,"in_flight":2}},"later":1}',
    )
    lease = await store.leases.get(Resource.parse("node:node-a"))
    assert not isinstance(lease, Absent)
    assert (lease.owner, lease.epoch, lease.revision) == ("node-a:7f2c", 3, revision)
    assert lease.acquired_at == Instant.parse("2026-09-23T08:00:00Z")
    assert lease.meta["status"] == {"draining": False, "in_flight": 2}
    assert await store.leases.list_live(ResourceClass("node")) == (lease,)


@pytest.mark.parametrize(("node", "key"), [("node-a", "node-a"), ("n.1", "n=2E1"), ("ü", "=C3=BC")])
async def test_a_status_stands_under_its_node(
    store: JetStreamStore, plain: Client, prefix: str, node: str, key: str
) -> None:
    at = Instant.parse("2026-09-23T08:00:15Z")
    await store.status.report(
        ConfigStatus(
            node=NodeId(node), epoch=Epoch(41), revision_id="r-42", status="ok", updated_at=at
        )
    )
    assert await body(plain, prefix, "status", key) == {
        "epoch": 41,
        "revision_id": "r-42",
        "status": "ok",
        "updated_at": "2026-09-23T08:00:15Z",
    }
    status = await bucket_of(plain, prefix, "status")
    await status.put(
        "other",
        b'{"epoch":1,"status":"error","error":"x","updated_at":"%s"}' % (b"2026-09-23T08:00:16Z"),
    )
    assert [row.node for row in await store.status.list()] == ["other", node]


async def test_the_pointer_and_its_payload_stand_under_their_literals(
    store: JetStreamStore, plain: Client, prefix: str
) -> None:
    created = Instant.parse("2026-09-23T07:59:58Z")
    active = await store.config.activate(
        "r-42",
        b"\x00\x01\x02\x03",
        at=Instant.parse("2026-09-23T08:00:00.001Z"),
        summary="raise caps",
        origin=Origin(author="ops", author_kind="operator", source="api", created_at=created),
    )
    assert await body(plain, prefix, "config", "activation") == {
        "revision_id": "r-42",
        "at": "2026-09-23T08:00:00.001Z",
        "summary": "raise caps",
        "author": "ops",
        "author_kind": "operator",
        "source": "api",
        "created_at": "2026-09-23T07:59:58Z",
    }
    assert await body(plain, prefix, "config", "revision_payload") == {
        "revision_id": "r-42",
        "payload": "AAECAw==",
    }
    config = await bucket_of(plain, prefix, "config")
    assert (await config.get("activation")).revision == active.epoch
    moved = await config.put("activation", b'{"revision_id":"r-43","at":"2026-09-23T09:00:00Z"}')
    target = await store.config.target()
    assert not isinstance(target, Absent)
    assert (target.revision_id, target.epoch) == ("r-43", moved)


@pytest.mark.parametrize(
    ("handle", "key"),
    [
        ("ceo", "seat_pause.ceo"),
        ("dev lead", "seat_pause.dev=20lead"),
        ("zoé", "seat_pause.zo=C3=A9"),
    ],
)
async def test_a_pause_stands_under_its_seats_handle(
    store: JetStreamStore, plain: Client, prefix: str, handle: str, key: str
) -> None:
    at = Instant.parse("2026-09-23T08:00:00Z")
    pause = Pause(handle=handle, by="jane", at=at, reason="too <eager> & loud")
    assert isinstance(await store.pauses.create(pause), Created)
    found = await body(plain, prefix, "positions", key)
    assert (found["handle"], found["by"], found["at"]) == (handle, "jane", "2026-09-23T08:00:00Z")
    assert found["reason"] == "too <eager> & loud"
    positions = await bucket_of(plain, prefix, "positions")
    await positions.delete(key)
    assert await store.pauses.list() == ()


async def test_a_bucket_is_the_stream_that_any_other_client_makes(
    store: JetStreamStore, plain: Client, prefix: str
) -> None:
    for suffix, age in (
        ("leases", 45.0),
        ("duties", 3 * 3600.0),
        ("epochs", 0.0),
        ("status", 60.0),
        ("config", 0.0),
        ("positions", 0.0),
    ):
        info = await plain.jetstream().stream_info(f"KV_{prefix}_{suffix}")
        config = info.config
        assert config.subjects == [f"$KV.{prefix}_{suffix}.>"]
        assert (config.max_age or 0) == age
        assert config.duplicate_window == min(age or 120.0, 120.0)
        assert config.max_msgs_per_subject == 1
        assert (config.storage, config.discard, config.retention) == ("file", "new", "limits")
        assert (config.allow_rollup_hdrs, config.deny_delete, config.allow_direct) == (
            True,
            True,
            True,
        )
