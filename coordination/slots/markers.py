"""The sweep over a store's ageless buckets. As `contract.markers`."""

from collections.abc import Iterable
from typing import override

from coordination.contract.bucket import Bucket
from coordination.contract.markers import Markers, Swept, Unswept
from coordination.errors import Unavailable
from coordination.rules.instants import Instant


class MarkerSlot(Markers):
    """As the contract.

    Args:
        buckets: what is swept, in this order.
    """

    def __init__(self, buckets: Iterable[Bucket]) -> None:
        self.buckets = tuple(buckets)

    @override
    async def sweep(self, cutoff: Instant) -> Swept:
        removed = 0
        failed = []
        for bucket in self.buckets:
            try:
                for marker in await bucket.markers(before=cutoff):
                    removed += await bucket.purge_through(marker.key, marker.revision)
            except Unavailable as unknown:  # handed on in the answer, beside what did get removed
                failed.append(Unswept(bucket=bucket.name, because=unknown))
        return Swept(removed=removed, failed=tuple(failed))
