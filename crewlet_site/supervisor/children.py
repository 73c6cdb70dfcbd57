"""One child process: started so that it cannot outlive its parent, watched, and restarted.

A child has a process group of its own (a terminal's Ctrl-C reaches the supervisor alone), inherits
the descriptor that locks the home, and is killed by the kernel when the supervisor's main thread
ends, however it ends.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from crewlet_site.env import ROOT

PR_SET_PDEATHSIG: Final = 1
FIRST_BACK_OFF: Final = 0.5  # seconds; doubled at each further death
LONGEST_BACK_OFF: Final = 30.0
# A child that stayed up this long has recovered: its next death starts the back-off anew.
SETTLED_AFTER: Final = 60.0
LOG_LIMIT_BYTES: Final = 16 * 1024 * 1024

# Loaded before any fork: between fork and exec nothing may be imported.
_libc = ctypes.CDLL(None, use_errno=True)


class State(StrEnum):
    """Where a child stands."""

    STARTING = "starting"
    READY = "ready"
    WAITING = "waiting"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What one child is.

    Args:
        name: its word in lines, logs and the socket's file name.
        argv: the program.
        is_ready: asked while it starts, must answer within about a second.
        answers: asked while it runs; None where being alive is all there is to ask.
        must_restart: asked while it runs: whether it lives and answers, and yet is of no use until
            it starts anew; None where that cannot be.
        is_killed_when_deaf: whether silence ends it; a paused broker is not a crashed one.
        drain_seconds: what it gets between SIGTERM and SIGKILL.
    """

    name: str
    argv: tuple[str, ...]
    is_ready: Callable[[], bool]
    answers: Callable[[], bool] | None = None
    must_restart: Callable[[], bool] | None = None
    is_killed_when_deaf: bool = True
    drain_seconds: float = 10.0


class Child:
    """The running (or waiting) process of a spec."""

    def __init__(self, spec: Spec, *, log: Path, lock: int, environ: Mapping[str, str]) -> None:
        self.spec = spec
        self.log = log
        self.state = State.STOPPED
        self.deaths = 0
        self.started_at = 0.0
        self.answered_at = 0.0
        self.asked_at = 0.0
        self.retry_at = 0.0
        self.is_silent = False
        self.is_waiting = False  # it was said that it takes long to get ready
        self._lock = lock
        self._environ = {**environ, "CREWLET_PROCESS": spec.name}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id while there is a process."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Fork and exec; must be called on the main thread (see the module's promise)."""
        rotate(self.log)
        parent = os.getpid()

        def tie_to_parent() -> None:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.spec.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environ,
                pass_fds=(self._lock,),
                process_group=0,
                preexec_fn=tie_to_parent,
            )
        self.state = State.STARTING
        self.started_at = self.answered_at = time.monotonic()
        self.is_silent = self.is_waiting = False

    def poll(self) -> int | None:
        """The exit code once it ended, as subprocess counts them; None while it runs."""
        return self._process.poll() if self._process else None

    def note_death(self) -> float:
        """Clear what is left of it and plan the restart; the seconds until then."""
        self._signal_group(signal.SIGKILL)
        now = time.monotonic()
        self.deaths = 1 if now - self.started_at > SETTLED_AFTER else self.deaths + 1
        back_off = min(FIRST_BACK_OFF * 2.0 ** min(self.deaths - 1, 10), LONGEST_BACK_OFF)
        self.retry_at = now + back_off
        self.state = State.WAITING
        self._process = None
        return back_off

    def note_ready(self) -> None:
        """It answered for the first time."""
        self.state = State.READY
        self.answered_at = self.asked_at = time.monotonic()

    def wait(self) -> None:
        """Reap it; it must have been killed or have ended."""
        if self._process:
            self._process.wait()

    def terminate(self) -> None:
        """Ask it to drain."""
        if self._process and self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """End it and its group at once."""
        self._signal_group(signal.SIGKILL)

    def tail(self) -> str:
        """The last line of its log that says something, for the sentence about its death."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _signal_group(self, number: signal.Signals) -> None:
        if self._process:
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                return


def rotate(log: Path) -> None:
    """Keep one predecessor of a log that grew large."""
    try:
        if log.stat().st_size > LOG_LIMIT_BYTES:
            log.replace(log.with_name(f"{log.name}.1"))
    except FileNotFoundError:
        return


def cut(log: Path) -> None:
    """Move what a running child wrote to the predecessor, once it grew large.

    The child appends through its own descriptor, so the file stays and is emptied. Where the disk
    holds no copy, the room is worth more than the lines.
    """
    try:
        if log.stat().st_size <= LOG_LIMIT_BYTES:
            return
    except FileNotFoundError:
        return
    before = log.with_name(f"{log.name}.1")
    try:
        shutil.copyfile(log, before)
    except OSError:
        before.unlink(missing_ok=True)
    os.truncate(log, 0)


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def manage(*arguments: str) -> tuple[str, ...]:
    """The argv of one of the project's own commands under this interpreter."""
    return (sys.executable, str(ROOT / "manage.py"), *arguments)
