"""A real node for tests: `./crewlet up` on a free port and a home of its own.

    with RunningNode() as node: node.url, node.sign_in_link, node.token, node.said, node.pids()

It ends with the test, its children with it, however the test ends.
"""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.nats_server import free_port
from tests.support.waiting import eventually_blocking

ROOT = Path(__file__).resolve().parents[2]
UP_WITHIN = 60.0  # seconds; two busy cores
DOWN_WITHIN = 60.0


class RunningNode:
    """One `./crewlet up`. A home handed in stays; one of its own is removed at the end."""

    def __init__(
        self,
        *,
        home: Path | None = None,
        port: int | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._own_home = None if home else Path(tempfile.mkdtemp(prefix="node-"))
        self.home = home or self._own_home or Path()
        self.port = port or free_port()
        self._environ = dict(environ or {})
        self._said = Path(tempfile.mkstemp(prefix="up-")[1])
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def said(self) -> str:
        """Everything on stdout and stderr so far."""
        return self._said.read_text(encoding="utf-8")

    @property
    def sign_in_link(self) -> str:
        """The first admin's one-time link."""
        match = re.search(r"\S+/welcome/\S+", self.said)
        assert match, self.said
        return match[0]

    @property
    def token(self) -> str:
        """The API token of `./crewlet`."""
        return (self.home / "cli-token").read_text(encoding="ascii").strip()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The supervisor."""
        assert self._process is not None, "it was not launched"
        return self._process

    def launch(self) -> None:
        """Start the supervisor and return at once."""
        environ = plain_environ()
        environ |= {"CREWLET_HOME": str(self.home), "CREWLET_PORT": str(self.port)}
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [str(ROOT / "crewlet"), "up"],
                cwd="/",
                env=environ | self._environ,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def start(self) -> None:
        """Start it and wait until it says that it is up."""
        self.launch()
        eventually_blocking(self._is_up, within=UP_WITHIN, why="the node is up")

    def stop(self) -> int:
        """SIGTERM and wait for the drain; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=DOWN_WITHIN)

    def kill(self) -> None:
        """SIGKILL the supervisor alone."""
        self.process.kill()
        self.process.wait()

    def pids(self) -> dict[str, int]:
        """The running children by name: the direct ones of the supervisor."""
        found = {}
        for pid in _children_of(self.process.pid):
            name = _name_of(pid)
            if name:
                found[name] = pid
        return found

    def await_said(self, text: str, *, after: int = 0, within: float = 60.0) -> None:
        """Wait until `up` says something, beyond the first `after` characters that it said."""

        def is_said() -> bool:
            assert text in self.said[after:], f"{text!r} was not said in:\n{self.said}"
            return True

        eventually_blocking(is_said, within=within)

    def get(self, path: str, *, token: str | None = None) -> tuple[int, Any]:
        """Status and JSON body of a GET."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def dispose(self) -> None:
        """End it at once and remove what is its own."""
        if self._process is not None:
            self.kill()
        self._said.unlink(missing_ok=True)
        if self._own_home is not None:
            shutil.rmtree(self._own_home, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.dispose()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dispose()

    def _is_up(self) -> bool:
        assert self.process.poll() is None, f"it ended at once:\n{self.said}"
        return "\nUp after" in self.said


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended (a zombie has)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def plain_environ() -> dict[str, str]:
    """The environment without what the suite or a developer set for this project."""
    ours = ("CREWLET_", "DJANGO_", "PYTHONDEVMODE")
    return {name: text for name, text in os.environ.items() if not name.startswith(ours)}


def _children_of(parent: int) -> list[int]:
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _parent_of(int(entry.name)) == parent
    ]


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _name_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except FileNotFoundError:
        return ""
    if "nats-server" in words[0]:
        return "broker"
    return words[2] if len(words) > 2 and words[1].endswith("manage.py") else ""
