"""The one connection: it never gives up, keeps nothing for later, and closes within bounds."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from importlib.metadata import version

import pytest
import uvloop

from coordination.contract.answers import NO_REVISION, Absent, Revision, Written
from coordination.contract.bucket import Entry
from coordination.contract.store import Credentials
from coordination.errors import (
    ConfigurationMismatch,
    InvalidRequest,
    OutcomeUnknown,
    Unavailable,
)
from coordination.jetstream.broker import Broker, Silence, Why
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.store import JetStreamStore, open_jetstream
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer, free_port
from tests.support.proxy import TcpProxy
from tests.support.waiting import eventually


async def opened(server: NatsServer, url: str = "") -> JetStreamStore:
    return await open_jetstream(
        url or server.url, credentials=credentials_of(server), domain=server.domain
    )


async def connected(server: NatsServer, url: str = "") -> Broker:
    return await Broker.connect(
        url or server.url, credentials=credentials_of(server), domain=server.domain
    )


async def test_a_write_while_disconnected_fails_at_once_and_lands_never(
    own_server: NatsServer,
) -> None:
    store = await opened(own_server)
    broker = await connected(own_server)
    bucket = KvBucket(broker, "crewlet_positions", None)
    await own_server.kill()
    await eventually(lambda: not broker.is_up, within=3)

    began = asyncio.get_running_loop().time()
    for at in range(20):
        with pytest.raises(Unavailable) as told:
            await bucket.put(f"late.{at}", b"1")
        assert not isinstance(told.value, OutcomeUnknown)
    assert asyncio.get_running_loop().time() - began < 0.5

    await own_server.start()
    await eventually(lambda: broker.is_up, within=10)
    landed = await bucket.put("after", b"1")
    listed = await bucket.listing(">", what="what landed")
    assert [entry.key for entry in listed.entries] == ["after"]
    assert landed.revision == 1
    await broker.close()
    await store.close()


async def test_a_write_cut_off_in_flight_has_an_unknown_outcome(own_server: NatsServer) -> None:
    store = await opened(own_server)
    async with TcpProxy(own_server.port) as proxy:
        broker = await connected(own_server, proxy.url)
        bucket = KvBucket(broker, "crewlet_positions", None)
        proxy.stall()
        writing = asyncio.create_task(bucket.put("k", b"1"))
        await eventually(lambda: proxy.held > 0)
        proxy.cut()
        began = asyncio.get_running_loop().time()
        with pytest.raises(OutcomeUnknown):
            await writing
        assert asyncio.get_running_loop().time() - began < 1
        proxy.heal()
        await eventually(lambda: broker.is_up, within=10)
        assert isinstance(await bucket.put("k", b"2"), Written)
        await broker.close()
    await store.close()


async def leave_a_stalled_link(own_server: NatsServer) -> None:
    store = await opened(own_server)
    async with TcpProxy(own_server.port) as proxy:
        broker = await connected(own_server, proxy.url)
        bucket = KvBucket(broker, "crewlet_positions", None)
        proxy.stall()
        writing = [asyncio.create_task(bucket.put("f", b"0" * 8_000_000)) for _ in range(4)]
        await eventually(lambda: proxy.held > 0)  # the socket takes no more
        writing.append(asyncio.create_task(bucket.put("late", b"1")))
        await eventually(lambda: broker.link.pending_data_size > 0)
        async with asyncio.timeout(4):
            outcomes = await asyncio.gather(*writing, return_exceptions=True)
        assert {type(one) for one in outcomes} == {OutcomeUnknown}
        proxy.heal()
        await eventually(lambda: broker.is_up, within=10)
        await bucket.put("after", b"1")
        assert await bucket.read("late") == Absent()
        await broker.close()
    await store.close()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_stalled_link_is_left_and_what_it_did_not_take_is_sent_on_no_other(
    loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two loops stop taking at different places, so bytes are left over in different ones."""
    monkeypatch.setattr("coordination.jetstream.link._PING_EVERY", 0.2)
    with NatsServer() as server, asyncio.Runner(loop_factory=loop) as runner:
        runner.run(leave_a_stalled_link(server))


async def test_a_write_not_acknowledged_in_time_has_an_unknown_outcome(
    own_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.jetstream.writes.ASK_WITHIN", timedelta(seconds=0.3))
    store = await opened(own_server)
    own_server.pause()
    with pytest.raises(OutcomeUnknown):
        await store.buckets.positions.put("k", b"1")
    own_server.resume()

    async def landed() -> bool:
        return isinstance(await store.buckets.positions.read("k"), Entry)

    await eventually(landed)
    await store.close()


async def test_the_probe_of_a_paused_broker_is_unavailable_in_time_and_then_answers(
    own_server: NatsServer,
) -> None:
    store = await opened(own_server)
    before = await store.probe()
    own_server.pause()
    began = asyncio.get_running_loop().time()
    with pytest.raises(Unavailable, match="2 s"):
        await store.probe()
    assert asyncio.get_running_loop().time() - began < 2.5
    own_server.resume()
    assert await store.probe() > before
    await store.close()


async def test_a_reconnect_is_told_to_listeners_and_lets_work_go_on(
    own_server: NatsServer,
) -> None:
    broker = await connected(own_server)
    heard: list[str] = []
    stop = broker.on_lost(lambda: heard.append("lost"))
    broker.on_back(lambda: heard.append("back"))
    await own_server.restart(crash=True)
    await eventually(lambda: heard == ["lost", "back"], within=10)
    stop()
    await own_server.restart(crash=True)
    await eventually(lambda: heard == ["lost", "back", "back"], within=10)
    assert not isinstance(await broker.ask(broker.api_subject("INFO")), Silence)
    await broker.close()


async def test_a_connection_the_library_gives_up_is_dialled_anew(
    server: NatsServer, broker: Broker
) -> None:
    """The library closes for good on most protocol errors of the broker."""
    heard: list[str] = []
    broker.on_back(lambda: heard.append("back"))
    await broker.link.publish("x" * 5000)  # longer than the broker takes a line to be
    await eventually(lambda: "back" in heard, within=10)
    reply = await broker.ask(broker.api_subject("INFO"))
    assert not isinstance(reply, Silence)


async def test_a_request_past_its_deadline_is_late_and_one_nobody_hears_says_so(
    own_server: NatsServer,
) -> None:
    broker = await connected(own_server)
    unheard = await broker.ask("nobody.listens.here")
    assert unheard == Silence(Why.UNHEARD)
    own_server.pause()
    late = await broker.ask(broker.api_subject("INFO"), within=timedelta(milliseconds=100))
    assert late == Silence(Why.LATE)
    own_server.resume()
    await broker.close()


async def test_cancelling_a_caller_surfaces_as_cancellation(own_server: NatsServer) -> None:
    store = await opened(own_server)
    own_server.pause()
    asking = asyncio.create_task(store.buckets.positions.read("k"))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    own_server.resume()
    await store.close()


async def test_refused_credentials_are_a_mismatch_that_names_the_broker_and_no_secret(
    server: NatsServer,
) -> None:
    with pytest.raises(ConfigurationMismatch, match="refuses these credentials") as told:
        await Broker.connect(
            server.url, credentials=Credentials(user="crewlet", password="wrong-secret")
        )
    assert "wrong-secret" not in str(told.value)


async def test_no_broker_at_the_address_is_unavailable_within_the_deadline() -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(Unavailable, match="no broker answers"):
        await Broker.connect(f"nats://127.0.0.1:{free_port()}", within=timedelta(milliseconds=300))
    assert asyncio.get_running_loop().time() - began < 2


async def test_closing_leaves_no_task_behind(server: NatsServer) -> None:
    before = asyncio.all_tasks()
    broker = await connected(server)
    await broker.ask(broker.api_subject("INFO"))
    await broker.close()
    await broker.close()
    await eventually(lambda: asyncio.all_tasks() == before)
    assert await broker.ask("anything") == Silence(Why.UNSENT)


async def test_closing_does_not_hang_on_a_broker_that_reads_nothing(
    own_server: NatsServer,
) -> None:
    broker = await connected(own_server)
    own_server.pause()
    flood = [
        asyncio.create_task(broker.ask("x", b"0" * 1_000_000, within=timedelta(seconds=30)))
        for _ in range(40)
    ]
    await eventually(lambda: not broker.link.pending_data_size)
    began = asyncio.get_running_loop().time()
    await broker.close()
    assert asyncio.get_running_loop().time() - began < 8
    assert {await one for one in flood} == {Silence(Why.CUT)}


async def test_the_librarys_own_complaints_are_logged_and_not_printed(
    own_server: NatsServer, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    broker = await connected(own_server)
    await own_server.kill()
    await eventually(lambda: "coord_nats_trouble" in caplog.text, within=5)
    assert "coord_nats_lost" in caplog.text
    await broker.close()
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


async def test_a_value_over_the_brokers_limit_is_the_callers_error(
    store: JetStreamStore,
) -> None:
    with pytest.raises(InvalidRequest):
        await store.buckets.positions.put("k", b"0" * (17 * 1024 * 1024))
    assert await store.buckets.positions.update("k", b"1", NO_REVISION) == Written(
        revision=Revision(1)
    )


async def test_a_value_whose_headers_take_it_over_the_limit_costs_no_connection() -> None:
    async with NatsServer(max_payload=64 * 1024) as server:
        store, broker = await opened(server), await connected(server)
        bucket = KvBucket(broker, store.buckets.positions.name, None)
        losses: list[None] = []
        broker.on_lost(lambda: losses.append(None))
        with pytest.raises(InvalidRequest, match="65536"):
            await bucket.update("k", bytes(64 * 1024), NO_REVISION)
        sizes = range(64 * 1024 - 200, 64 * 1024)
        answers = await asyncio.gather(
            *(bucket.update(f"k{size}", bytes(size), NO_REVISION) for size in sizes),
            return_exceptions=True,
        )
        kinds = [type(answer) for answer in answers]
        assert kinds == sorted(kinds, key=[Written, InvalidRequest].index)
        assert set(kinds) == {Written, InvalidRequest}
        assert losses == []
        await broker.close()
        await store.close()


async def test_a_broker_that_is_no_member_of_a_cluster_is_not_clustered(broker: Broker) -> None:
    assert broker.is_clustered is False
    assert broker.server_version.startswith("2.")


def test_the_library_is_the_one_this_was_written_for() -> None:
    """`Link` reaches into it; a new version has to be read first."""
    assert version("nats-py") == "2.16.0"
