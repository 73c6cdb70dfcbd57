"""Answers no healthy broker gives, put on the wire: unknown, retried, or the broker's own."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from coordination.contract.answers import NO_REVISION, Conflict, Written
from coordination.errors import (
    ConfigurationMismatch,
    OutcomeUnknown,
    Unavailable,
)
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.opening import Opening
from coordination.jetstream.store import JetStreamStore, open_jetstream
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually
from tests.support.wire import Frame, Wire


def error_of(err_code: int, description: str = "planted", code: int = 400) -> bytes:
    fault = {"code": code, "err_code": err_code, "description": description}
    return json.dumps({"error": fault}).encode()


class Answer:
    """Answers requests whose subject holds `part` in the broker's place, `times` times."""

    def __init__(self, part: str, body: bytes, times: int = 1_000_000) -> None:
        self.part, self.body, self.left = part, body, times
        self.given = 0

    def __call__(self, frame: Frame) -> bytes | None:
        if self.part not in frame.subject or self.given >= self.left:
            return None
        self.given += 1
        return self.body


@pytest.fixture
async def wire(server: NatsServer) -> AsyncIterator[Wire]:
    one = await Wire.open("127.0.0.1", server.port)
    yield one
    await one.close()


@pytest.fixture
async def bent(
    wire: Wire, server: NatsServer, store: JetStreamStore, prefix: str
) -> AsyncIterator[KvBucket]:
    """The positions bucket behind the wire."""
    broker = await Broker.connect(
        wire.url, credentials=credentials_of(server), domain=server.domain
    )
    yield KvBucket(broker, f"{prefix}_positions", None)
    await broker.close()


async def opens(server: NatsServer, wire: Wire, prefix: str) -> JetStreamStore:
    return await open_jetstream(
        wire.url, credentials=credentials_of(server), domain=server.domain, prefix=prefix
    )


@pytest.mark.parametrize("code", [10164, 10158])
async def test_a_refusal_in_process_is_asked_again_until_it_is_decided(
    bent: KvBucket, wire: Wire, code: int
) -> None:
    wire.answerers.append(Answer("$KV.", error_of(code), times=2))
    assert isinstance(await bent.update("k", b"1", NO_REVISION), Written)
    assert wire.count(r"\$KV\.") == 3
    wire.answerers.append(Answer("$KV.", error_of(code), times=2))
    assert await bent.update("k", b"2", NO_REVISION) == Conflict()


async def test_a_write_never_decided_is_unavailable_and_no_lost_race(
    bent: KvBucket, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.jetstream.writes.RETRY_WITHIN", timedelta(seconds=0.3))
    refused = Answer("$KV.", error_of(10164))
    wire.answerers.append(refused)
    with pytest.raises(Unavailable, match="10164") as told:
        await bent.update("k", b"1", NO_REVISION)
    assert not isinstance(told.value, OutcomeUnknown), "each refusal said that it wrote nothing"
    assert 6 <= refused.given <= 14, "1 ms doubling to 64 ms"


async def test_only_the_code_makes_a_lost_race_and_never_the_words(
    bent: KvBucket, wire: Wire
) -> None:
    wire.answerers.append(Answer("$KV.", error_of(10071, "something else"), times=1))
    assert await bent.update("k", b"1", NO_REVISION) == Conflict()
    wire.answerers.append(Answer("$KV.", error_of(10999, "wrong last sequence: 7"), times=1))
    with pytest.raises(Unavailable):
        await bent.update("k", b"1", NO_REVISION)


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[]", b'{"stream":"OTHER","seq":3}', b'{"stream":"KV_x"}', b"{}"]
)
async def test_an_acknowledgement_that_is_none_leaves_the_outcome_unknown(
    bent: KvBucket, wire: Wire, body: bytes
) -> None:
    wire.answerers.append(Answer("$KV.", body))
    with pytest.raises(OutcomeUnknown):
        await bent.put("k", b"1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"{}",
        error_of(10059, "stream not found", 404),
        error_of(10008, "JetStream system temporarily unavailable", 503),
        error_of(10037 + 1, "another one", 404),
        b'{"message":{"subject":"$KV.other.k","seq":1,"time":"2026-01-01T00:00:00Z"}}',
    ],
)
async def test_a_read_the_leader_did_not_answer_is_unavailable_and_never_absent(
    bent: KvBucket, wire: Wire, body: bytes
) -> None:
    wire.answerers.append(Answer("STREAM.MSG.GET", body))
    with pytest.raises(Unavailable):
        await bent.read("k")


@pytest.mark.parametrize(
    "body",
    [
        b'{"cluster":{"leader":""},"ts":"2026-01-01T00:00:00Z","total":0}',
        b'{"cluster":{},"ts":"2026-01-01T00:00:00Z","total":0}',
        b'{"total":0}',
        b"",
        error_of(10059, "stream not found", 404),
        b'{"ts":"2026-01-01T00:00:00Z","total":1,"state":{"subjects":{"$KV.other.k":1}}}',
    ],
)
async def test_an_index_no_leader_vouches_for_fails_the_listing_whole(
    bent: KvBucket, wire: Wire, body: bytes
) -> None:
    for at in range(3):
        await bent.put(f"k.{at}", b"1")
    wire.answerers.append(Answer("STREAM.INFO", body))
    with pytest.raises(Unavailable, match=r"trim floors.*index"):
        await bent.listing(">", what="trim floors")


async def test_the_index_is_read_in_pages_until_its_total(bent: KvBucket, wire: Wire) -> None:
    """What the pass lost on a later page is found there."""
    for at in range(3):
        await bent.put(f"k.{at}", b"1")
    name = bent.name

    def paged(frame: Frame) -> bytes | None:
        if "STREAM.INFO" not in frame.subject or not frame.body:
            return None
        offset = json.loads(frame.body)["offset"]
        page = {
            "ts": "2026-01-01T00:00:00Z",
            "total": 3,
            "offset": offset,
            "state": {"subjects": {f"$KV.{name}.k.{offset}": 1}},
        }
        return json.dumps(page).encode()

    wire.answerers.append(paged)
    wire.keepers.append(lambda frame: not frame.subject.endswith(".k.2"))
    listed = await bent.listing(">", what="paged")
    assert [entry.key for entry in listed.entries] == ["k.0", "k.1", "k.2"]
    assert wire.count("STREAM.INFO") == 4
    assert wire.leader_reads == 1


async def test_a_clock_the_broker_does_not_tell_is_unavailable(bent: KvBucket, wire: Wire) -> None:
    wire.answerers.append(Answer("STREAM.INFO", b'{"total":0}'))
    with pytest.raises(Unavailable, match="no time"):
        await bent.now()


async def test_a_consumer_the_broker_refuses_fails_the_watch_and_leaves_nothing(
    bent: KvBucket, wire: Wire
) -> None:
    wire.answerers.append(Answer("CONSUMER.CREATE", error_of(10026, "maximum consumers limit")))
    with pytest.raises(Unavailable, match=r"pauses.*maximum consumers"):
        await bent.watch(">", what="pauses")
    await eventually(lambda: wire.count("CONSUMER.DELETE") == 1)


@pytest.mark.parametrize("code", [10047, 10028])
async def test_a_create_refused_for_want_of_room_is_the_brokers_own_error_at_once(
    server: NatsServer, wire: Wire, prefix: str, code: int
) -> None:
    refused = Answer("STREAM.CREATE", error_of(code, "insufficient storage"))
    wire.answerers.append(refused)
    async with asyncio.timeout(2):
        with pytest.raises(Unavailable, match="insufficient storage"):
            await opens(server, wire, prefix)
    assert refused.given == 1


async def test_a_replica_count_the_account_does_not_carry_is_a_mismatch(
    server: NatsServer, wire: Wire, prefix: str
) -> None:
    wire.answerers.append(Answer("STREAM.CREATE", error_of(10120, "no JetStream default")))
    with pytest.raises(ConfigurationMismatch, match=r"stream\.replicas"):
        await opens(server, wire, prefix)


async def test_missing_peers_are_waited_for_and_told_once(
    server: NatsServer, wire: Wire, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    wire.answerers.append(Answer("STREAM.CREATE", error_of(10005, "no suitable peers"), times=3))
    store = await opens(server, wire, prefix)
    assert caplog.text.count("coord_kv_bucket_awaiting_peers") == 1
    await store.close()


async def test_a_bucket_created_by_a_peer_meanwhile_is_adopted(
    server: NatsServer, wire: Wire, prefix: str
) -> None:
    wire.answerers.append(Answer("STREAM.INFO", error_of(10059, "stream not found"), times=1))
    other = await open_jetstream(
        server.url,
        credentials=credentials_of(server),
        domain=server.domain,
        prefix=prefix,
        lease_ttl=timedelta(seconds=70),
    )
    store = await opens(server, wire, prefix)
    assert store.leases.ttl_in_force == timedelta(seconds=70)
    await store.close()
    await other.close()


async def test_a_look_up_nobody_answered_is_asked_once_more(
    own_server: NatsServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr("coordination.jetstream.opening._LOOK_UP_ASK", timedelta(seconds=1))
    monkeypatch.setattr("coordination.jetstream.opening._ASK_AGAIN", 0.3)
    monkeypatch.setattr("coordination.jetstream.opening._SLOW_AFTER", 0.2)
    await (
        await open_jetstream(
            own_server.url, credentials=credentials_of(own_server), domain=own_server.domain
        )
    ).close()
    wire = await Wire.open("127.0.0.1", own_server.port)
    broker = await Broker.connect(
        wire.url, credentials=credentials_of(own_server), domain=own_server.domain
    )
    own_server.pause()
    opening = Opening(broker, "crewlet_leases")
    await eventually(lambda: "coord_kv_bucket_slow" in caplog.text, within=2)
    await eventually(lambda: wire.count("STREAM.INFO") == 2, within=5)
    own_server.resume()
    found = await opening.look_up()
    await opening.end()
    assert found is not None
    assert wire.count("STREAM.INFO") == 2
    assert wire.count("STREAM.CREATE") == 0
    await broker.close()
    await wire.close()
