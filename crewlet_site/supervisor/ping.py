"""Asking a child's loop thread over its Unix socket whether it still runs."""

import socket
from pathlib import Path

ASK = b"ping\n"
ANSWER = b"ok\n"
NOT_YET = b"wait\n"


def is_ready(path: Path, *, within: float = 1.0) -> bool:
    """Whether the process behind `path` says within so many seconds that it is ready."""
    return _ask(path, within) == ANSWER


def answers(path: Path, *, within: float = 1.0) -> bool:
    """Whether its loop thread answers at all, ready or not."""
    return _ask(path, within) in (ANSWER, NOT_YET)


def _ask(path: Path, within: float) -> bytes:
    """What it says; empty when it says nothing."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(within)
            connection.connect(str(path))
            connection.sendall(ASK)
            return connection.recv(max(len(ANSWER), len(NOT_YET)))
    except OSError:
        return b""
