"""The byte door against real sockets: a peer that stops reading costs a bounded buffer."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import daphne.server
import pytest

from crewlet_site import byte_door
from crewlet_site.errors import StartRefused
from tests.site.door import DoorServer

# What one stalled peer may cost the process: Twisted's buffer, one message, and slack for Python.
STALLED_PEER_BYTES = 8 * 1024 * 1024


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DoorServer]:
    running = DoorServer(tmp_path)
    yield running
    running.close()


def read_frame(client: socket.socket) -> tuple[int, bytes]:
    """One unmasked frame: opcode and payload."""
    first, second = read_exactly(client, 2)
    length = second & 0x7F
    if length == 126:
        (length,) = struct.unpack("!H", read_exactly(client, 2))
    elif length == 127:
        (length,) = struct.unpack("!Q", read_exactly(client, 8))
    return first & 0x0F, read_exactly(client, length)


def read_exactly(client: socket.socket, count: int) -> bytes:
    held = bytearray()
    while len(held) < count:
        chunk = client.recv(count - len(held))
        assert chunk, "the server closed the connection"
        held += chunk
    return bytes(held)


def masked(payload: bytes) -> bytes:
    """A text frame as a client sends it; a mask of zeros changes nothing."""
    return b"\x81" + bytes([0x80 | 127]) + struct.pack("!Q", len(payload)) + b"\0" * 4 + payload


def test_a_client_that_stops_reading_costs_a_bounded_buffer(server: DoorServer) -> None:
    with server.connect("/flood"):
        stalled = server.await_state("waiting")
    assert stalled["sent"] * 65536 < 64 * 1024 * 1024, "256 MiB were offered and nothing waited"
    assert stalled["grown_bytes"] < STALLED_PEER_BYTES


def test_a_client_that_reads_on_gets_every_message_in_order(server: DoorServer) -> None:
    with server.connect("/flood") as client:
        server.await_state("waiting")
        for number in range(4096):
            opcode, payload = read_frame(client)
            assert (opcode, int(payload[:8])) == (1, number)
        finished = server.await_state("done")
    assert finished["waited"]
    assert finished["grown_bytes"] < STALLED_PEER_BYTES


def test_a_stalled_client_that_leaves_lets_its_application_end(server: DoorServer) -> None:
    client = server.connect("/flood")
    server.await_state("waiting")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    server.await_state("disconnected")


def test_a_client_that_stays_stalled_is_let_go(tmp_path: Path) -> None:
    impatient = DoorServer(tmp_path, ping_seconds=1)
    try:
        with impatient.connect("/flood"):
            impatient.await_state("waiting")
            impatient.await_state("disconnected")
    finally:
        impatient.close()


def test_a_client_that_writes_faster_than_it_is_heard_has_to_wait(server: DoorServer) -> None:
    offered = masked(b"x" * 65536)
    sent = 0
    with server.connect("/deaf") as client:
        client.settimeout(1.0)
        try:
            while sent < 256 * 1024 * 1024:
                client.sendall(offered)
                sent += len(offered)
        except TimeoutError:
            pass
    assert sent < 64 * 1024 * 1024, "256 MiB were offered and nothing had to wait"


def test_a_page_may_be_told_more_at_once_than_it_may_say(server: DoorServer) -> None:
    limit = byte_door.MESSAGE_LIMIT_BYTES
    with server.connect("/large") as client:
        assert read_frame(client) == (1, b"." * (8 * limit))
        client.sendall(masked(b"x" * (limit + 1)))
        server.await_state("disconnected")


def test_a_stop_of_the_server_tells_sockets_to_come_back(server: DoorServer) -> None:
    with server.connect("/idle") as client:
        server.process.terminate()
        opcode, payload = read_frame(client)
    assert opcode == 8
    assert struct.unpack("!H", payload[:2]) == (1012,)
    assert server.process.wait(timeout=20) == 0


def test_the_installed_server_has_all_that_the_door_stands_on() -> None:
    assert byte_door.missing_internals() == ()


def test_without_its_internals_the_door_refuses_to_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    server = byte_door.Server(application=None, endpoints=["tcp:port=1"])
    monkeypatch.delattr(daphne.server.Server, "handle_reply")
    assert byte_door.missing_internals() == ("Server.handle_reply",)
    with pytest.raises(StartRefused, match=r"Server\.handle_reply"):
        server.run()
