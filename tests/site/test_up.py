"""`./crewlet up` against the real thing: broker, node, web server, worker and beat."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.nats_server import NatsServer, stop_still
from tests.support.running_node import ROOT, RunningNode, is_running, plain_environ
from tests.support.waiting import eventually_blocking

pytestmark = [pytest.mark.broker, pytest.mark.slow]

CHILDREN = {"broker", "node", "web", "worker", "beat"}
# The example company's agent seats but the one that asks for hardware no single node has.
SEATS_PLACED = 24
LEASE_TTL = 45.0  # seconds


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    """One node for the tests that leave it whole."""
    with RunningNode() as running:
        yield running


def whole(node: RunningNode) -> dict[str, int]:
    """The children once all five run."""

    def all_five() -> dict[str, int]:
        found = node.pids()
        assert set(found) == CHILDREN, f"{found}\n{node.said}"
        return found

    return eventually_blocking(all_five, within=60)


def test_a_first_start_serves_and_says_where_and_how_to_sign_in(node: RunningNode) -> None:
    whole(node)
    assert f"{node.url}/" in node.said
    assert node.sign_in_link.startswith(f"{node.url}/welcome/")
    assert "Harbourline imported" in node.said
    status, health = node.get("/health")
    assert (status, health["status"], health["configured"]) == (200, "ok", True)


def test_the_token_of_the_commands_reads_the_api(node: RunningNode) -> None:
    assert node.get("/api/people", token=node.token)[0] == 200
    status, body = node.get("/api/people", token=f"{node.token}x")
    assert (status, body["error"]) == (401, "invalid_token")


def test_a_second_up_on_the_same_home_is_told_who_has_it(node: RunningNode) -> None:
    run = subprocess.run(
        [ROOT / "crewlet", "up"],
        env=plain_environ() | {"CREWLET_HOME": str(node.home), "CREWLET_PORT": str(node.port)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert f"in use by process {node.process.pid}" in run.stderr
    assert run.stderr.count("\n") == 1
    assert set(node.pids()) == CHILDREN


def fleet(node: RunningNode) -> dict[str, Any]:
    """`/api/fleet` once it can be told and every placeable seat is held by a live node."""

    def told() -> dict[str, Any]:
        status, body = node.get("/api/fleet", token=node.token)
        assert status == 200, body
        assert body["nodes"], body
        assert len(body["seats"]) == SEATS_PLACED, len(body["seats"])
        assert {row["owner"] for row in body["seats"]} == {body["nodes"][0]["owner"]}
        found: dict[str, Any] = body
        return found

    return eventually_blocking(told, within=90)


def test_a_killed_node_process_takes_its_seats_back_at_higher_epochs(node: RunningNode) -> None:
    before, pids = fleet(node), whole(node)
    os.kill(pids["node"], signal.SIGKILL)
    eventually_blocking(lambda: node.pids().get("node", pids["node"]) != pids["node"], within=60)

    def taken_back() -> dict[str, Any]:
        found = fleet(node)
        assert found["nodes"][0]["owner"] != before["nodes"][0]["owner"]
        return found

    after = eventually_blocking(taken_back, within=90)
    epochs = {row["handle"]: row["epoch"] for row in before["seats"]}
    assert all(row["epoch"] > epochs[row["handle"]] for row in after["seats"])
    held = {row["duty"]: row["node"] for row in before["duties"]}
    assert held
    assert {row["duty"]: row["node"] for row in after["duties"]} == held


def test_after_a_kill_of_the_broker_the_same_processes_hold_their_leases_again(
    node: RunningNode,
) -> None:
    before, pids = fleet(node), whole(node)
    os.kill(pids["broker"], signal.SIGKILL)
    killed_at = time.monotonic()
    node.await_said("broker is back after", after=len(node.said))

    def held_again() -> dict[str, Any]:
        found = fleet(node)
        ages = [LEASE_TTL - row["expires_in"] for row in found["seats"]]
        assert max(ages) < time.monotonic() - killed_at, "not every seat was renewed since"
        return found

    after = eventually_blocking(held_again, within=90)
    epochs = {row["handle"]: row["epoch"] for row in before["seats"]}
    assert all(row["epoch"] >= epochs[row["handle"]] for row in after["seats"])
    assert after["nodes"][0]["owner"] == before["nodes"][0]["owner"]
    now = whole(node)
    assert {name for name in CHILDREN if now[name] != pids[name]} == {"broker"}


@pytest.mark.parametrize("name", ["node", "web", "worker", "beat"])
def test_a_killed_process_comes_back_alone(node: RunningNode, name: str) -> None:
    before, said = whole(node), len(node.said)
    os.kill(before[name], signal.SIGKILL)
    node.await_said(f"{name} died (signal SIGKILL); starting it again in", after=said)
    node.await_said(f"{name} is back after", after=said)
    after = whole(node)
    assert {child for child in CHILDREN if after[child] != before[child]} == {name}
    assert node.get("/health")[0] == 200


def test_a_killed_broker_comes_back_on_its_port_and_nothing_else_restarts(
    node: RunningNode,
) -> None:
    before, said = whole(node), len(node.said)
    port = (node.home / "run" / "broker.port").read_text()
    os.kill(before["broker"], signal.SIGKILL)
    node.await_said("broker is back after", after=said)
    after = whole(node)
    assert (node.home / "run" / "broker.port").read_text() == port
    assert {child for child in CHILDREN if after[child] != before[child]} == {"broker"}


def test_a_paused_broker_is_not_taken_for_a_crashed_one(node: RunningNode) -> None:
    before, said = whole(node), len(node.said)
    stop_still(before["broker"])
    try:
        node.await_said("broker does not answer; its process is alive, so it is", after=said)
    finally:
        os.kill(before["broker"], signal.SIGCONT)
    node.await_said("broker answers again", after=said)
    assert whole(node) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_drains_from_beat_to_broker(number: signal.Signals) -> None:
    with RunningNode() as node:
        pids = whole(node)
        node.process.send_signal(number)
        assert node.process.wait(timeout=60) == 0
        stopped = [line.split()[0] for line in node.said.splitlines() if "stopped after" in line]
        assert stopped == ["beat", "worker", "web", "node", "broker"]
        assert node.said.rstrip().endswith("Stopped")
        assert not any(is_running(pid) for pid in pids.values())


def test_after_a_kill_of_up_nothing_is_left_and_the_next_one_just_works(tmp_path: Path) -> None:
    killed = RunningNode(home=tmp_path / "home")
    with killed:
        pids = whole(killed)
        killed.kill()
        eventually_blocking(
            lambda: not any(is_running(pid) for pid in pids.values()),
            within=10,
            why="the children died with their parent",
        )
    with RunningNode(home=tmp_path / "home", port=killed.port) as again:
        whole(again)
        assert again.get("/health")[0] == 200
        assert "nothing to do" in again.said


def test_an_admin_from_the_environment_needs_no_link(tmp_path: Path) -> None:
    environ = {"CREWLET_ADMIN_USER": "ada", "CREWLET_ADMIN_PASSWORD": "a long enough one 7"}
    with RunningNode(environ=environ) as node:
        assert "/welcome/" not in node.said
        assert "admin ada added" in node.said
        for pid in whole(node).values():
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"long enough" not in environment


def test_a_node_on_an_external_broker_runs_none_of_its_own(tmp_path: Path) -> None:
    with NatsServer() as outside:
        config = tmp_path / "node.yaml"
        config.write_text(
            f"stream:\n  type: nats\n  url: {outside.url}\n"
            f"  credentials: {{user: {outside.user}, password: '${{BROKER_PASSWORD}}'}}\n"
        )
        environ = {"CREWLET_CONFIG": str(config), "BROKER_PASSWORD": outside.password}
        with RunningNode(environ=environ) as node:
            assert set(node.pids()) == CHILDREN - {"broker"}
            assert fleet(node)["nodes"][0]["broker"] == "client"
            assert node.stop() == 0
        assert outside.running
