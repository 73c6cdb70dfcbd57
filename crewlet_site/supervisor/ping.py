"""Asking a child's loop thread over its Unix socket whether it still runs."""

import socket
from pathlib import Path

ASK = b"ping\n"
ANSWER = b"ok\n"


def answers(path: Path, *, within: float = 1.0) -> bool:
    """Whether the loop thread behind `path` answered within so many seconds."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(within)
            connection.connect(str(path))
            connection.sendall(ASK)
            return connection.recv(len(ANSWER)) == ANSWER
    except OSError:
        return False
