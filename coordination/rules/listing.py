"""Certifying a listing: which keys one ordered pass cannot be trusted for.

A pass carries values but cannot tell that it is whole; the leader's subject index names every key
but carries no values. Together they are complete: each key the index names that the pass did not
deliver as a value is read from the leader by itself.
Source: coordination.txt, "A listing is one ordered pass, certified against the stream's own key
index" and "A tombstone the pass delivered is not taken as the key's answer either".
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

QUIET: Final = timedelta(seconds=5)  # a pass without a delivery for this long has been stopped


def keys_to_read(index: Iterable[str], passed: Mapping[str, bool]) -> tuple[str, ...]:
    """The keys to read from the leader, sorted.

    Args:
        index: every key the leader named.
        passed: the newest delivery of each key in the pass: True for a value, False for a marker.
    """
    return tuple(sorted(key for key in index if not passed.get(key, False)))
