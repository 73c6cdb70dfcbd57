"""A real nats-server for tests: the pinned binary on a free loopback port with its own store.

    with NatsServer() as server: ...            # in synchronous fixtures
    async with NatsServer() as server: ...      # in async tests

`server.url`, `server.user`, `server.password`, `server.domain` are what a client needs. It dies
with the test process, however that ends.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.waiting import eventually, eventually_blocking

BINARY = Path(sys.executable).parent / "nats-server"
STARTS_WITHIN = 20.0  # seconds; two busy cores
# The kernel ends the broker when the process that started it is gone, whatever became of it.
_DIES_WITH_PARENT = (
    "import ctypes,os,sys;ctypes.CDLL(None).prctl(1,9);os.execv(sys.argv[1],sys.argv[1:])"
)


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stop_still(pid: int) -> None:
    """SIGSTOP a process and wait until each of its threads stands: the signal alone is a wish."""

    def stands() -> bool:
        threads = Path(f"/proc/{pid}/task").glob("*/stat")
        return all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in threads)

    os.kill(pid, signal.SIGSTOP)
    eventually_blocking(stands, why=f"process {pid} stands still")


class NatsServer:
    """One broker process. `start`/`stop`/`kill`/`restart` wait; `pause`/`resume` do not."""

    def __init__(
        self,
        *,
        name: str = "n0",
        domain: str = "crewlet",
        user: str = "crewlet",
        password: str | None = None,
        port: int | None = None,
        jetstream: bool = True,
        sync_interval: str = "always",
        max_payload: int = 16 * 1024 * 1024,
        cluster: str = "",
        cluster_port: int | None = None,
        cluster_extra: str = "",
        routes: Sequence[str] = (),
        extra: str = "",
    ) -> None:
        self.name = name
        self.domain = domain
        self.user = user
        self.password = secrets.token_hex(8) if password is None else password
        self.port = port or free_port()
        self.home = Path(tempfile.mkdtemp(prefix="nats-"))
        self._jetstream = jetstream
        self._sync_interval = sync_interval
        self._max_payload = max_payload
        self._cluster = cluster
        self._cluster_port = cluster_port
        self._cluster_extra = cluster_extra
        self._routes = tuple(routes)
        self._extra = extra
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Without credentials."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is there (a paused one is)."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """Everything the broker logged so far."""
        path = self.home / "server.log"
        return path.read_text() if path.exists() else ""

    def launch(self) -> None:
        """Start the process and return at once."""
        assert not self.running, "the broker runs already"
        conf = self.home / "nats.conf"
        conf.write_text(self._config())
        self._process = subprocess.Popen(
            [sys.executable, "-ISc", _DIES_WITH_PARENT, str(BINARY), "-c", str(conf)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    async def start(self) -> None:
        """Start and wait until it takes clients."""
        self.launch()
        await eventually(self.answers, within=STARTS_WITHIN, why=f"broker {self.name} answers")

    def start_blocking(self) -> None:
        """`start` for synchronous fixtures."""
        self.launch()
        eventually_blocking(self.answers, within=STARTS_WITHIN, why=f"broker {self.name} answers")

    async def stop(self) -> None:
        """End it in order."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """End it as a crash would."""
        await self._end(signal.SIGKILL)

    def kill_blocking(self) -> None:
        """`kill` for synchronous fixtures."""
        if self.running:
            os.kill(self.pid, signal.SIGCONT)
            os.kill(self.pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def pause(self) -> None:
        """SIGSTOP: it holds every connection and answers none, from when this returns."""
        stop_still(self.pid)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    async def restart(self, *, crash: bool = False) -> None:
        """The same store on the same port, after an orderly end or a crash."""
        await (self.kill() if crash else self.stop())
        await self.start()

    def answers(self) -> bool:
        """Whether it greets a client (JetStream included, where it has one)."""
        assert self.running, f"broker {self.name} ended: {self.log[-800:]}"
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=0.5) as link:
                link.settimeout(0.5)
                return link.recv(16).startswith(b"INFO")
        except OSError:
            return False

    def dispose(self) -> None:
        """End it and remove its store."""
        self.kill_blocking()
        shutil.rmtree(self.home, ignore_errors=True)

    async def _end(self, sign: signal.Signals) -> None:
        if not self.running or self._process is None:
            return
        os.kill(self.pid, signal.SIGCONT)
        os.kill(self.pid, sign)
        process = self._process
        await eventually(
            lambda: process.poll() is not None, within=30, why=f"broker {self.name} ends"
        )

    def _config(self) -> str:
        account = f"{{ user: {json.dumps(self.user)}, password: {json.dumps(self.password)} }}"
        lines = [
            f"server_name: {self.name}",
            f'listen: "127.0.0.1:{self.port}"',
            f"max_payload: {self._max_payload}",
            f"log_file: {json.dumps(str(self.home / 'server.log'))}",
            f"authorization: {account}" if self.user else "",
        ]
        if self._jetstream:
            domain = f"domain: {self.domain}, " if self.domain else ""
            lines.append(
                f"jetstream: {{ {domain}store_dir: {json.dumps(str(self.home / 'store'))},"
                f" sync_interval: {self._sync_interval} }}"
            )
        if self._cluster:
            routes = ", ".join(json.dumps(route) for route in self._routes)
            cluster_extra = f", {self._cluster_extra}" if self._cluster_extra else ""
            lines.append(
                f'cluster: {{ name: {self._cluster}, listen: "127.0.0.1:{self._cluster_port}",'
                f" authorization: {account}, routes: [{routes}]{cluster_extra} }}"
            )
        lines.append(self._extra)
        return "\n".join(line for line in lines if line) + "\n"

    def __enter__(self) -> Self:
        try:
            self.start_blocking()
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

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            self.dispose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dispose()
