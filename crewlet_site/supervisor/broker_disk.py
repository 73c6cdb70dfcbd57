"""Faults of the disk under the embedded broker, told by its log.

The broker remembers a failed write for ever: on a disk that was full it answers reads and refuses
every write, also when there is room again, until it is started anew. Its log says so at each write.
"""

import shutil
from pathlib import Path
from typing import Final

from crewlet_site.supervisor.lines import say
from crewlet_site.supervisor.preparation import LEAST_FREE_BYTES

FAULTS: Final = (b"JetStream failed to store a msg", b"ritical write error")
# With less than this free the next write may fail, and on a full disk not even the log tells.
SCARCE_BYTES: Final = LEAST_FREE_BYTES // 8
LOOKED_AT_BYTES: Final = 64 * 1024  # of what was logged since the last look


class BrokerDisk:
    """What the broker's log tells from now on.

    Args:
        log: the file that the broker writes.
        store: where it keeps its streams.
    """

    def __init__(self, log: Path, store: Path) -> None:
        self._log = log
        self._store = store
        self._seen = _size_of(log)
        self._is_faulty = False
        self._is_told = False

    def must_restart(self) -> bool:
        """Whether it met a fault and would write again if it started anew; says either."""
        self._is_faulty = self._is_faulty or self._reads_fault()
        free = shutil.disk_usage(self._store).free
        if free < (LEAST_FREE_BYTES if self._is_faulty else SCARCE_BYTES):
            self._tell_full()
            return False
        if not self._is_faulty:
            self._is_told = self._is_told and free < LEAST_FREE_BYTES
            return False
        say("broker met a fault of its disk and writes no more by itself; starting it anew")
        self._is_faulty = self._is_told = False
        self._seen = _size_of(self._log)
        return True

    def _tell_full(self) -> None:
        if not self._is_told:
            self._is_told = True
            say(
                f"The disk under {self._store} is full, and nothing can be recorded: free some "
                "space. The broker is started anew when 64 MiB are free, if it needs it"
            )

    def _reads_fault(self) -> bool:
        size = _size_of(self._log)
        # A log that was emptied meanwhile is new from its first byte on.
        seen = self._seen if self._seen <= size else 0
        self._seen = size
        if size == seen:
            return False
        try:
            with self._log.open("rb") as log:
                log.seek(max(seen, size - LOOKED_AT_BYTES))
                said = log.read(LOOKED_AT_BYTES)
        except OSError:
            return False
        return any(fault in said for fault in FAULTS)


def _size_of(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0
