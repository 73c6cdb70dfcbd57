"""Opening buckets on a broker that is late, silent or still waiting for its peers."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from coordination.errors import Unavailable
from coordination.jetstream import opening
from coordination.jetstream.store import JetStreamStore, open_jetstream
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer
from tests.support.wire import Frame, Wire


@pytest.fixture
async def wire(server: NatsServer) -> AsyncIterator[Wire]:
    one = await Wire.open("127.0.0.1", server.port)
    yield one
    await one.close()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The same course with a tenth of the waiting."""
    caplog.set_level(logging.INFO)
    for name in ("_SLOW_AFTER", "_LOOK_UP_WITHIN", "_ASK_AGAIN", "_CREATE_WITHIN_SOLO"):
        monkeypatch.setattr(opening, name, getattr(opening, name) / 20)
    monkeypatch.setattr(opening, "_LOOK_UP_ASK", timedelta(seconds=0.3))


async def opened(server: NatsServer, wire: Wire, prefix: str, **options: Any) -> JetStreamStore:
    return await open_jetstream(
        wire.url,
        credentials=credentials_of(server),
        domain=server.domain,
        prefix=prefix,
        **options,
    )


def error(err_code: int, said: str) -> bytes:
    return json.dumps({"error": {"code": 503, "err_code": err_code, "description": said}}).encode()


async def test_a_look_up_nobody_answers_is_told_and_the_bucket_created_all_the_same(
    server: NatsServer, wire: Wire, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    silent = f"STREAM.INFO.KV_{prefix}_claims"
    wire.losers.append(lambda frame: not frame.subject.endswith(silent))
    store = await opened(server, wire, prefix)
    assert f"coord_kv_bucket_lookup_unanswered bucket={prefix}_claims" in caplog.text
    assert caplog.text.count("coord_kv_bucket_lookup_unanswered") == 1
    assert caplog.text.count("coord_kv_bucket_slow") == 1
    assert wire.count(rf"{silent}$") > 1
    assert wire.count(rf"\.STREAM\.CREATE\.KV_{prefix}_") == 21
    assert store.buckets.claims.age == timedelta(minutes=30)
    await store.close()


async def test_a_bucket_that_waits_for_its_turn_is_not_called_slow(
    server: NatsServer, wire: Wire, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Creating the first takes longer than an operator is told after; the others wait for it."""
    first = f"STREAM.CREATE.KV_{prefix}_leases"
    waits = opening._SLOW_AFTER / opening._PEERS_AGAIN

    def peers_later(frame: Frame) -> bytes | None:
        waiting = frame.subject.endswith(first) and wire.count(first) <= waits + 2
        return error(10005, "no suitable peers for placement") if waiting else None

    wire.answerers.append(peers_later)
    store = await opened(server, wire, prefix)
    assert [line for line in caplog.messages if "coord_kv_bucket_slow" in line] == [
        f"coord_kv_bucket_slow bucket={prefix}_leases after_s={opening._SLOW_AFTER}"
    ]
    assert caplog.text.count(f"coord_kv_bucket_awaiting_peers bucket={prefix}_leases") == 1
    assert wire.count(first) > waits
    await store.close()


async def test_peers_that_never_come_are_the_brokers_own_error(
    server: NatsServer, wire: Wire, prefix: str
) -> None:
    said = error(10005, "no suitable peers for placement")
    wire.answerers.append(lambda frame: said if ".STREAM.CREATE." in frame.subject else None)
    with pytest.raises(Unavailable, match=r"no suitable peers.*10005"):
        await opened(server, wire, prefix)
    assert wire.count(r"\.STREAM\.CREATE\.") == wire.count(rf"CREATE\.KV_{prefix}_leases$") > 1


async def test_a_create_that_a_peer_won_with_other_settings_adopts_the_peers_bucket(
    server: NatsServer, wire: Wire, prefix: str
) -> None:
    """The peer's bucket appears between the look-up and the create."""
    peer = await open_jetstream(
        server.url,
        credentials=credentials_of(server),
        domain=server.domain,
        prefix=prefix,
        lease_ttl=timedelta(seconds=90),
    )
    missing = error(10059, "stream not found")
    look_ups = f"STREAM.INFO.KV_{prefix}_"

    def blind(frame: Frame) -> bytes | None:
        created = wire.sent[frame.subject.replace(".INFO.", ".CREATE.")]
        return missing if look_ups in frame.subject and not created else None

    wire.answerers.append(blind)
    store = await opened(server, wire, prefix, lease_ttl=timedelta(seconds=30))
    assert store.leases.ttl_in_force == timedelta(seconds=90)
    assert wire.count(rf"\.STREAM\.CREATE\.KV_{prefix}_") == 21
    await store.close()
    await peer.close()


async def test_every_bucket_is_looked_up_once_and_what_stands_is_never_created(
    server: NatsServer, wire: Wire, prefix: str
) -> None:
    first = await opened(server, wire, prefix)
    wire.sent.clear()
    order: list[str] = []

    wire.answerers.append(lambda frame: order.append(frame.subject.rpartition(".")[2]))
    second = await opened(server, wire, prefix)
    looked_up = [name for name in order if name.startswith(f"KV_{prefix}_")]
    assert len(looked_up) == len(set(looked_up)) == 21
    assert wire.count(r"\.STREAM\.CREATE\.") == 0
    await first.close()
    await second.close()


async def test_an_opening_that_fails_leaves_no_look_up_behind(
    server: NatsServer, wire: Wire, prefix: str
) -> None:
    """The first bucket's error ends it while the others are still asked about."""
    broken = error(10008, "system temporarily unavailable")
    leases = f"STREAM.INFO.KV_{prefix}_leases"
    wire.answerers.append(lambda frame: broken if frame.subject.endswith(leases) else None)
    wire.losers.append(lambda frame: f"STREAM.INFO.KV_{prefix}" not in frame.subject)
    with pytest.raises(Unavailable, match="temporarily unavailable"):
        await opened(server, wire, prefix)
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("look up")] == []
