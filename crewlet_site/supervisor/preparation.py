"""What `up` does before any child runs; each thing that can be wrong there is one sentence."""

import errno
import hashlib
import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import DatabaseError, connections

from crewlet_site.errors import StartRefused
from crewlet_site.home import Home

# Below this a broker and two databases cannot be promised a minute of work.
LEAST_FREE_BYTES: Final = 64 * 1024 * 1024
# The other documentation page that django-ninja brings: a megabyte nobody asks for.
UNUSED_STATIC: Final = ["redoc*", "*/redoc*"]
# sockaddr_un holds 108 bytes with its end; the longest name beside `run/` is "worker.sock".
LONGEST_SOCKET_PATH: Final = 107


@contextmanager
def disk_faults(home: Home) -> Iterator[None]:
    """Turn a full or unwritable disk, met anywhere inside, into its sentence."""
    try:
        yield
    except OSError as error:
        raise _refusal(home, error) from error
    except (DatabaseError, sqlite3.DatabaseError) as error:
        text = str(error)
        if "full" in text:
            raise _full(home) from error
        msg = (
            f"A database in {home.root} cannot be used ({text}): restore it from a backup, or set "
            "CREWLET_HOME to another directory."
        )
        raise StartRefused(msg) from error


def make_directories(home: Home) -> None:
    """Make the home and its rooms, private to their owner, and prove that they can be written."""
    with disk_faults(home):
        rooms = (home.run, home.log, home.celery / "queue", home.celery / "control", home.broker)
        for directory in (home.root, *rooms):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = home.run / f"probe.{os.getpid()}"
        try:
            with probe.open("wb") as file:
                file.write(b"\0" * 65536)
                file.flush()
                os.fsync(file.fileno())
        finally:
            probe.unlink(missing_ok=True)
        if shutil.disk_usage(home.root).free < LEAST_FREE_BYTES:
            raise _full(home)
    if len(os.fsencode(home.socket("worker"))) > LONGEST_SOCKET_PATH:
        msg = (
            f"The path of the home {home.root} is too long for the sockets in it: set CREWLET_HOME "
            f"to a path of at most {LONGEST_SOCKET_PATH - len('/run/worker.sock')} bytes."
        )
        raise StartRefused(msg)


def sweep_leftovers(home: Home) -> None:
    """Remove sockets and notes of an earlier run; the home's lock must be held."""
    for pattern in ("*.sock", "*.pid", "draining"):
        for path in home.run.glob(pattern):
            path.unlink(missing_ok=True)


def judge_port(host: str, port: int) -> None:
    """Refuse a listening address that somebody else has.

    Raises:
        StartRefused: it is taken, or is none of this machine's addresses.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            msg = (
                f"Port {port} on {host} is taken: stop what listens there, or set CREWLET_PORT to "
                "a free one."
            )
            raise StartRefused(msg) from error
        msg = (
            f"Port {port} on {host} cannot be listened on ({error.strerror}): set CREWLET_HOST and "
            "CREWLET_PORT to an address of this machine."
        )
        raise StartRefused(msg) from error


def migrate(home: Home) -> None:
    """Bring both databases to this build's tables."""
    with disk_faults(home):
        for alias in ("default", "estate"):
            call_command("migrate", database=alias, interactive=False, verbosity=0)
            connections[alias].close()


def collect_static(home: Home) -> None:
    """Put static files under hashed names where the web process serves them from.

    Compressing them takes a second, so it happens only when one changed.
    """
    if settings.DEBUG:
        return
    sources = hashlib.sha256()
    for finder in finders.get_finders():
        for name, storage in finder.list(UNUSED_STATIC):
            found = Path(storage.path(name)).stat()
            sources.update(f"{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    stamp = home.run / "static.stamp"
    with disk_faults(home):
        if home.static.is_dir() and stamp.exists() and stamp.read_text() == sources.hexdigest():
            return
        shutil.rmtree(home.static, ignore_errors=True)
        home.static.mkdir()
        call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=UNUSED_STATIC)
        stamp.write_text(sources.hexdigest())


def _refusal(home: Home, error: OSError) -> StartRefused:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(home)
    return StartRefused(
        f"The home {home.root} cannot be written ({error.strerror or error}): make it a directory "
        "that this user may write, or set CREWLET_HOME to one."
    )


def _full(home: Home) -> StartRefused:
    return StartRefused(
        f"The disk under {home.root} is full: free some space (64 MiB at least), or set "
        "CREWLET_HOME to a directory on another disk."
    )
