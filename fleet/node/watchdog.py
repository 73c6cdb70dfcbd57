"""The last resort: a loop that stands still for longer than the TTL no longer holds anything.

An independent thread compares; it writes straight to stderr and ends the process with code 75, with
no clean-up, since clean-up would need the loop.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

EXIT_CODE: Final = 75
BEAT_EVERY: Final = 0.5  # seconds


def end_process(lag: float) -> None:
    """Say why on stderr and end."""
    sys.stderr.write(f"watchdog: the loop stood still for {lag:.0f} s, longer than the lease TTL\n")
    sys.stderr.flush()
    os._exit(EXIT_CODE)


class Watchdog:
    """Watches one loop.

    Args:
        ttl: what the lag is compared with.
        bite: called on the watchdog's thread with the lag in seconds.
    """

    def __init__(self, ttl: timedelta, *, bite: Callable[[float], None] = end_process) -> None:
        self._ttl = ttl.total_seconds()
        self._bite = bite
        self._beat_at = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="crewlet-watchdog", daemon=True)

    async def run(self) -> None:
        """Beat for ever; on the watched loop."""
        self._beat_at = time.monotonic()
        self._thread.start()
        while True:
            self._beat_at = time.monotonic()
            await asyncio.sleep(BEAT_EVERY)

    def disarm(self) -> None:
        """Stop watching: a shutdown takes the time it takes."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(min(self._ttl / 10, 1.0)):
            lag = time.monotonic() - self._beat_at
            if lag > self._ttl:
                self._bite(lag)
                return
