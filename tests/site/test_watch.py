"""The supervisor's loop with small children of its own; `up` itself is tried in test_up.py."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import eventually_blocking

# A supervisor of two children: `first` gets ready by making a file, `second` by being alive.
# `argv`: its home, what the children do at SIGTERM, their seconds to drain, and what silence of
# `first` means (it answers pings only while a file `hears` is there).
SUPERVISOR = """
import os, sys
from pathlib import Path
from crewlet_site.home import Home
from crewlet_site.supervisor.children import Child, Spec
from crewlet_site.supervisor import watch
from crewlet_site.supervisor.watch import Supervisor

watch.READY_WITHIN = float(os.environ.get("READY_WITHIN", "60"))
home = Home(Path(sys.argv[1]))
manner = sys.argv[2]
body = '''
import os, signal, sys, time
def stop(*_):
    if sys.argv[2] == "obey":
        sys.exit(0)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, stop)
open(sys.argv[1], "w").close()
while True:
    signal.pause()
'''
children = []
lock = os.open(home.root / "lock", os.O_RDWR | os.O_CREAT)
for name in ("first", "second"):
    def is_ready(name=name):
        never = name == "first" and (home.root / "never").exists()
        return (home.root / f"{name}.ready").exists() and not never
    spec = Spec(
        name=name,
        argv=(sys.executable, "-c", body, str(home.root / f"{name}.ready"), manner),
        is_ready=is_ready,
        answers=(home.root / "hears").exists if name == "first" else None,
        is_killed_when_deaf=sys.argv[4] == "kill",
        drain_seconds=float(sys.argv[3]),
    )
    children.append(Child(spec, log=home.root / f"{name}.log", lock=lock, environ=os.environ))
supervisor = Supervisor(home, children, deaf_after=0.3, ping_every=0.1)
supervisor.listen()
supervisor.start()
print("pids", *(child.pid for child in children), flush=True)
supervisor.watch()
supervisor.drain()
print("drained", flush=True)
"""


class Supervised:
    """A running supervisor and what it said so far."""

    def __init__(
        self, home: Path, manner: str = "obey", drain_seconds: float = 10, silence: str = "kill"
    ) -> None:
        self.home = home
        (home / "run").mkdir()
        (home / "hears").touch()
        self._said = home / "said"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    textwrap.dedent(SUPERVISOR),
                    str(home),
                    manner,
                    str(drain_seconds),
                    silence,
                ],
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        self.pids = self._await_pids()

    @property
    def said(self) -> str:
        return self._said.read_text()

    def await_said(self, text: str) -> None:
        eventually_blocking(lambda: text in self.said, within=20, why=f"{text!r} is said")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def _await_pids(self) -> tuple[int, int]:
        self.await_said("pids")
        line = next(line for line in self.said.splitlines() if line.startswith("pids"))
        first, second = line.split()[1:]
        return int(first), int(second)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def supervised(home: Path) -> Iterator[Supervised]:
    running = Supervised(home)
    yield running
    running.close()


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended (a zombie has)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def test_children_start_in_order_each_ready_before_the_next(supervised: Supervised) -> None:
    lines = [line.split()[0] for line in supervised.said.splitlines()]
    assert lines == ["first", "second", "pids"]


def test_a_killed_child_is_restarted_with_a_line_that_says_so(supervised: Supervised) -> None:
    os.kill(supervised.pids[0], signal.SIGKILL)
    supervised.await_said("first died (signal SIGKILL); starting it again in 0.5 s")
    supervised.await_said("first is back after")
    assert is_running(supervised.pids[1])


def test_each_further_death_waits_longer(supervised: Supervised) -> None:
    os.kill(supervised.pids[0], signal.SIGKILL)
    supervised.await_said("first is back after")
    again = int(supervised.said.rsplit("pid ", 1)[1].split()[0])
    os.kill(again, signal.SIGKILL)
    supervised.await_said("first died (signal SIGKILL); starting it again in 1 s")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_drains_in_reverse_order(supervised: Supervised, number: signal.Signals) -> None:
    supervised.process.send_signal(number)
    assert supervised.process.wait(timeout=20) == 0
    stopped = [line.split()[0] for line in supervised.said.splitlines() if "stopped after" in line]
    assert stopped == ["second", "first"]
    assert not any(is_running(pid) for pid in supervised.pids)


def test_a_child_that_ignores_the_stop_is_killed_after_its_time(home: Path) -> None:
    stubborn = Supervised(home, manner="ignore", drain_seconds=0.2)
    stubborn.process.terminate()
    assert stubborn.process.wait(timeout=20) == 0
    assert stubborn.said.count("did not stop in 0.2 s; killed") == 2
    assert not any(is_running(pid) for pid in stubborn.pids)


def test_a_second_signal_ends_everything_at_once(home: Path) -> None:
    stubborn = Supervised(home, manner="ignore", drain_seconds=60)
    stubborn.process.terminate()
    eventually_blocking(
        lambda: (home / "run" / "draining").exists(), within=20, why="the drain has begun"
    )
    stubborn.process.terminate()
    assert stubborn.process.wait(timeout=20) == 0
    assert not any(is_running(pid) for pid in stubborn.pids)


def test_after_a_kill_of_the_supervisor_no_child_is_left(supervised: Supervised) -> None:
    supervised.process.kill()
    supervised.process.wait()
    eventually_blocking(
        lambda: not any(is_running(pid) for pid in supervised.pids),
        within=10,
        why="the children died with their parent",
    )


def test_a_child_deaf_for_too_long_is_ended_and_started_anew(supervised: Supervised) -> None:
    (supervised.home / "hears").unlink()
    supervised.await_said("first has not answered for")
    supervised.await_said("first died (signal SIGKILL)")
    (supervised.home / "hears").touch()
    supervised.await_said("first is back")
    assert is_running(supervised.pids[1])


def test_a_child_that_answers_and_is_not_ready_is_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READY_WITHIN", "3")
    supervised = Supervised(home)
    (home / "never").touch()
    os.kill(supervised.pids[0], signal.SIGKILL)
    supervised.await_said("first runs and is not ready yet: see")
    (home / "never").unlink()
    supervised.await_said("first is back after")
    assert supervised.said.count("is not ready yet") == 1
    assert "has not answered" not in supervised.said
    supervised.close()


def test_a_silent_child_that_may_be_paused_is_named_once_and_left_alone(home: Path) -> None:
    supervised = Supervised(home, silence="bear")
    (home / "hears").unlink()
    supervised.await_said("first does not answer; its process is alive, so it is left alone")
    (home / "hears").touch()
    supervised.await_said("first answers again")
    assert supervised.said.count("does not answer") == 1
    assert is_running(supervised.pids[0])
    supervised.close()
