"""When a configuration pointer says it was published.

Every node orders activations by the pointer, so its instant may not stand still or run back when a
requester's clock does. Source: coordination.txt, slot `config`.
"""

from typing import Final

from coordination.rules.instants import Instant

_MILLI: Final = 1_000_000  # nanoseconds


def published_at(requested: Instant, previous: Instant | None) -> Instant:
    """The requested instant, forced forward in whole milliseconds past the one it replaces."""
    if previous is None:
        return requested
    before = previous.nanos // _MILLI
    if requested.nanos // _MILLI > before:
        return requested
    return Instant((before + 1) * _MILLI)
