"""The lock on a home: `up` holds it, and so does each child, through the inherited descriptor."""

import fcntl
import os
import time
from typing import Final

from crewlet_site.errors import StartRefused
from crewlet_site.home import Home

# A killed supervisor's children die with it, but not in the same instant.
ORPHANS_GONE_WITHIN: Final = 5.0


def take(home: Home) -> int:
    """Lock the home; the open descriptor, which children must inherit.

    Raises:
        StartRefused: another `up`, or a child it left behind, holds it.
    """
    descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + ORPHANS_GONE_WITHIN
    while not _try(descriptor):
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        is_alive = holder.isdigit() and os.path.exists(f"/proc/{holder}")
        if is_alive or time.monotonic() > deadline:
            os.close(descriptor)
            who = f"process {holder}" if is_alive else "a process that an earlier one left behind"
            msg = (
                f"The home {home.root} is in use by {who}: stop that one, or set CREWLET_HOME to "
                "another directory."
            )
            raise StartRefused(msg)
        time.sleep(0.05)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
