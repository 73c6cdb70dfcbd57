import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crewlet_site.errors import StartRefused
from crewlet_site.home import Home
from crewlet_site.supervisor import broker
from crewlet_site.supervisor.nats_wire import Address, NotAnswering, ask
from tests.support.nats_server import NatsServer, stop_still
from tests.support.waiting import eventually_blocking


def answers(address: Address, within: float = 1.0) -> bool:
    try:
        ask(address, within=within)
    except NotAnswering:
        return False
    return True


def outside(server: NatsServer, *, domain: str) -> Address:
    return Address(url=server.url, user=server.user, password=server.password, domain=domain)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.run.mkdir()
    return home


@pytest.fixture
def address(home: Home) -> Address:
    return broker.prepare(home, "core-1", home.broker / "store")


@pytest.fixture
def process(home: Home, address: Address) -> Iterator[subprocess.Popen[bytes]]:
    with (home.root / "log").open("wb") as log:
        running = subprocess.Popen(
            [broker.find_binary(None), "--config", home.broker / "nats.conf"],
            stdout=log,
            stderr=log,
        )
    eventually_blocking(lambda: answers(address), within=20, why="JetStream answers")
    yield running
    running.kill()
    running.wait()


@pytest.mark.broker
def test_the_rendered_broker_serves_jetstream_in_its_domain(
    process: subprocess.Popen[bytes], address: Address
) -> None:
    server = ask(address)
    assert server.max_payload_bytes == 16 * 1024 * 1024
    assert process.poll() is None


@pytest.mark.broker
def test_the_question_is_refused_without_the_sign_in(
    process: subprocess.Popen[bytes], address: Address
) -> None:
    with pytest.raises(NotAnswering, match="Authorization"):
        ask(Address(url=address.url, domain="crewlet"))
    assert process.poll() is None


@pytest.mark.broker
def test_a_paused_broker_is_silent_within_the_time_given(
    process: subprocess.Popen[bytes], address: Address
) -> None:
    stop_still(process.pid)
    try:
        with pytest.raises(NotAnswering):
            ask(address, within=0.3)
    finally:
        os.kill(process.pid, signal.SIGCONT)
    eventually_blocking(lambda: answers(address), within=20, why="it answers again")


@pytest.mark.broker
def test_a_broker_without_jetstream_is_told_from_a_silent_one() -> None:
    not_enabled = pytest.raises(NotAnswering, match="JetStream is not enabled")
    with NatsServer(jetstream=False) as server, not_enabled:
        ask(outside(server, domain=""))


def test_credentials_and_configuration_are_private_and_kept(home: Home, address: Address) -> None:
    for name in ("credentials.json", "nats.conf"):
        assert stat.S_IMODE((home.broker / name).stat().st_mode) == 0o600
    assert broker.prepare(home, "core-1", home.broker / "store") == address
    assert json.loads(home.broker_credentials.read_text())["user"] == address.user


def test_the_port_is_another_one_when_somebody_took_the_remembered(home: Home) -> None:
    first = broker.prepare(home, "core-1", home.broker / "store")
    with socket.socket() as other:
        other.bind(("127.0.0.1", urlsplit(first.url).port))
        other.listen(1)
        second = broker.prepare(home, "core-1", home.broker / "store")
    assert second.url != first.url


def test_every_acknowledged_write_is_on_disk_and_nobody_else_reaches_the_broker() -> None:
    text = broker.render("core-1", 4321, ("crewlet", 'pa"ss'), Path("/srv/a b/ü"))
    assert "sync_interval: always" in text
    assert 'listen: "127.0.0.1:4321"' in text
    assert 'store_dir: "/srv/a b/ü"' in text
    assert r'password: "pa\"ss"' in text


def stub(tmp_path: Path, says: str) -> Path:
    path = tmp_path / "nats-server"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("says", ["nats-server: v2.10.22", "nats-server: v2.13.99"])
def test_an_old_server_is_refused_with_a_sentence(tmp_path: Path, says: str) -> None:
    with pytest.raises(StartRefused, match=r"2\.14 or newer is needed"):
        broker.find_binary(stub(tmp_path, says))


@pytest.mark.parametrize("says", ["nats-server: v2.14.0", "nats-server: v3.0.1"])
def test_a_new_enough_server_is_taken(tmp_path: Path, says: str) -> None:
    assert broker.find_binary(stub(tmp_path, says)) == tmp_path / "nats-server"


def test_a_missing_server_is_refused_with_the_variable_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="CREWLET_NATS_SERVER"):
        broker.find_binary(tmp_path / "none")


@pytest.mark.broker
def test_an_external_broker_with_a_small_max_payload_is_refused_by_that_name() -> None:
    too_small = pytest.raises(StartRefused, match="max_payload")
    with NatsServer(max_payload=9 * 1024 * 1024 - 1) as server, too_small as refusal:
        broker.judge_external(outside(server, domain=server.domain))
    assert "9437184" in str(refusal.value)


@pytest.mark.broker
def test_an_external_broker_with_room_for_a_record_is_taken() -> None:
    with NatsServer(max_payload=9 * 1024 * 1024) as server:
        found = broker.judge_external(outside(server, domain=server.domain))
    assert found.max_payload_bytes == 9 * 1024 * 1024


def test_an_external_broker_that_is_not_there_is_refused_by_its_key() -> None:
    with pytest.raises(StartRefused, match=r"stream\.url"):
        broker.judge_external(Address(url="nats://127.0.0.1:1"))
