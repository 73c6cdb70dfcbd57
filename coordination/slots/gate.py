"""The mixed-version gate: no seat for a newer build while an older one is alive.

Seats and presences count, because they are what the lease bucket holds; duties never do. Liveness
here is always the record's own deadline, even at full age.
Source: coordination.txt, "Neither holds a newer build back".
"""

import logging

from coordination.contract.answers import Absent
from coordination.contract.bucket import Bucket
from coordination.errors import CorruptRecord
from coordination.rules.instants import Instant
from coordination.slots.lease_values import Stood, stood_of
from coordination.slots.listed import log_undecodable


class Gate:
    """Judges claims against the lowest protocol alive, from one certified listing each time."""

    def __init__(self, leases: Bucket, log: logging.Logger) -> None:
        self._leases = leases
        self._log = log

    async def blocks(self, protocol: int) -> bool:
        """Whether a live record is older than this protocol.

        Raises:
            Unavailable: nobody knows who is alive.
        """
        lowest = await self.floor()
        return not isinstance(lowest, Absent) and lowest < protocol

    async def floor(self) -> int | Absent:
        """The lowest protocol among live seats and presences; a claim being made counts.

        Raises:
            Unavailable: nobody knows who is alive.
        """
        listed = await self._leases.listing(">", what="live protocols")
        lowest: int | None = None
        for entry in listed.entries:
            try:
                stood = stood_of(entry)
            except CorruptRecord as fault:
                log_undecodable(self._log, self._leases, entry.key, fault)
                continue
            if _is_alive(stood, listed.as_of):
                protocol = stood.record.protocol
                lowest = protocol if lowest is None else min(lowest, protocol)
        return Absent() if lowest is None else lowest


def _is_alive(stood: Stood, now: Instant) -> bool:
    standing = stood.standing
    return not standing.is_tombstone and standing.deadline > now
