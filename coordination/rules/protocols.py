"""The oldest build that is alive, from lease records taken in one by one.

Liveness is a record's own deadline, even where its bucket's age would end it: whoever follows a
bucket never hears of an expiry. Source: coordination.txt, "The lease TTL bounds seats and presence
only", where the mixed-version gate counts seats and presences.
"""

from datetime import timedelta

from coordination.rules.instants import Instant
from coordination.rules.leases import Standing


class LiveProtocols:
    """The standing record of each key, filed by the protocol of the build that wrote it.

    Args:
        age: how long the bucket keeps a record, so that nothing older needs to be remembered; None
            where it forgets nothing.
    """

    def __init__(self, age: timedelta | None) -> None:
        self._age = age
        self._protocols: dict[str, int] = {}
        self._by_protocol: dict[int, dict[str, Standing]] = {}  # each oldest first

    def __len__(self) -> int:
        return len(self._protocols)

    def put(self, key: str, protocol: int, standing: Standing) -> None:
        """What now stands on a key: a claim being made counts, a tombstone does not.

        Records are to come in the order they were written.
        """
        self.drop(key)
        if not standing.is_tombstone:
            self._protocols[key] = protocol
            self._by_protocol.setdefault(protocol, {})[key] = standing

    def drop(self, key: str) -> None:
        """Nothing that counts stands on this key any more."""
        protocol = self._protocols.pop(key, None)
        if protocol is None:
            return
        filed = self._by_protocol[protocol]
        del filed[key]
        if not filed:
            del self._by_protocol[protocol]

    def lowest(self, now: Instant) -> int | None:
        """The lowest protocol with a live record, None when nothing is alive.

        Args:
            now: the broker's clock.
        """
        for protocol in sorted(self._by_protocol):
            self._forget_aged(self._by_protocol[protocol], now)
            newest_first = reversed(self._by_protocol.get(protocol, {}).values())
            if any(standing.deadline > now for standing in newest_first):
                return protocol
        return None

    def _forget_aged(self, filed: dict[str, Standing], now: Instant) -> None:
        """Drop what its bucket's age removed, which nobody will ever tell of."""
        while filed and self._age is not None:
            oldest = next(iter(filed))
            if filed[oldest].written_at + self._age > now:
                return
            self.drop(oldest)
