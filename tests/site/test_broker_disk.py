"""A broker that met a full disk is started anew once there is room, and not before."""

from pathlib import Path

import pytest

from crewlet_site.supervisor import broker_disk
from crewlet_site.supervisor.broker_disk import BrokerDisk

FAULT = (
    "[807] 2026/12/01 02:38:18.142437 [ERR] JetStream failed to store a msg on stream "
    "'$G > KV_crewlet_leases': write 1.blk: no space left on device\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "broker.log"
    path.write_text(FAULT)
    return path


def write(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_a_fault_of_an_earlier_run_is_none_of_this_one(log: Path, tmp_path: Path) -> None:
    disk = BrokerDisk(log, tmp_path)
    write(log, "[807] [INF] Server is ready\n")
    assert not disk.must_restart()


def test_a_broker_that_met_a_fault_is_started_anew_once(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = BrokerDisk(log, tmp_path)
    write(log, FAULT)
    assert disk.must_restart()
    assert "starting it anew" in capsys.readouterr().out
    assert not disk.must_restart(), "it was, and its log says nothing new"
    write(log, FAULT)
    assert disk.must_restart()


def test_a_full_disk_is_said_once_and_waited_for(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = BrokerDisk(log, tmp_path)
    write(log, FAULT)
    with monkeypatch.context() as full:
        full.setattr(broker_disk, "LEAST_FREE_BYTES", 1 << 62)
        assert not disk.must_restart()
        assert not disk.must_restart()
        assert capsys.readouterr().out.count("is full") == 1
    assert disk.must_restart(), "there is room again, though the log says nothing new"


def test_a_disk_without_room_is_said_once_even_while_no_log_can_tell(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = BrokerDisk(log, tmp_path)
    monkeypatch.setattr(broker_disk, "SCARCE_BYTES", 1 << 62)
    assert not disk.must_restart()
    assert not disk.must_restart()
    assert capsys.readouterr().out.count("is full") == 1


def test_a_log_that_was_emptied_is_read_from_its_beginning(log: Path, tmp_path: Path) -> None:
    write(log, "a line\n" * 100)
    disk = BrokerDisk(log, tmp_path)
    log.write_text("")
    assert not disk.must_restart()
    write(log, FAULT)
    assert disk.must_restart()
