"""A server behind the byte door in a process of its own, for tests that speak to it in bytes."""

import base64
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.nats_server import free_port
from tests.support.waiting import eventually_blocking


class DoorServer:
    """A subprocess that serves behind the door, and what its application reported."""

    def __init__(
        self, tmp_path: Path, *, ping_seconds: int = 60, request_seconds: float = 60
    ) -> None:
        self.port = free_port()
        self._progress = tmp_path / "progress"
        script = Path(__file__).parent / "door_server.py"
        root = Path(__file__).parents[2]
        self.process = subprocess.Popen(
            [
                sys.executable,
                script,
                str(self.port),
                self._progress,
                str(ping_seconds),
                str(request_seconds),
            ],
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        eventually_blocking(self._accepts, within=20, why="the server listens")

    def connect(self, path: str) -> socket.socket:
        """A client after the handshake; it reads only what the test reads."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        key = base64.b64encode(os.urandom(16)).decode()
        client.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        assert head.startswith(b"HTTP/1.1 101"), head
        return client

    def send(self, *parts: bytes) -> bytes:
        """Everything that is answered to raw bytes, until the server ends the connection."""
        answered = bytearray()
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
            try:
                for part in parts:
                    client.sendall(part)
            except OSError:
                # Refused in the middle: the answer is there all the same.
                pass
            while chunk := client.recv(65536):
                answered += chunk
        return bytes(answered)

    def await_state(self, state: str, within: float = 30) -> dict[str, Any]:
        """What the application reported when it reached a state."""

        def report() -> dict[str, Any] | None:
            if not self._progress.exists():
                return None
            facts: dict[str, Any] = json.loads(self._progress.read_text())
            return facts if facts["state"] == state else None

        found = eventually_blocking(report, within=within, why=f"the application is {state}")
        assert found is not None
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

    def _accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True
