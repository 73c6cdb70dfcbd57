"""The sweep of removal markers.

A removal leaves a marker, and a bucket that forgets nothing keeps it for good; each is one more
leader read in every listing that meets it. Nothing takes a marker for an answer, so none is missed.
Source: coordination.txt, "Removal markers are swept".
"""

from dataclasses import dataclass
from typing import Protocol

from coordination.contract.answers import Answer
from coordination.errors import Unavailable
from coordination.rules.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Unswept(Answer):
    """A bucket whose sweep stopped half way; the next sweep takes up what it left."""

    bucket: str  # its whole name
    because: Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept(Answer):
    """What a sweep did.

    Attributes:
        removed: messages removed, by the broker's count, in the failed buckets too.
        failed: the buckets that could not be asked, and why.
    """

    removed: int
    failed: tuple[Unswept, ...] = ()


class Markers(Protocol):
    """The sweep, over every shared bucket without an age."""

    async def sweep(self, cutoff: Instant) -> Swept:
        """Remove the markers written before an instant.

        Args:
            cutoff: of the broker's clock, as the messages' times are; the maintenance duty takes
                `rules.retention.MARKER_RETENTION` off it.

        Returns:
            How many were removed. A bucket that fails stops none of the others and is named.

        Cost: one pass a bucket, and one request for each marker removed.
        """
