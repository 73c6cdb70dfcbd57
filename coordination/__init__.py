"""The company's shared state: leases, configuration, statuses and seat pauses over one broker.

Both openers return the same `coordination.contract.store.Store`; a backend's own dependencies are
imported when its opener is first named.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from coordination.jetstream.store import open_jetstream
    from coordination.memory.store import open_memory

__all__ = ["open_jetstream", "open_memory"]

_HOMES: Final = {
    "open_memory": "coordination.memory.store",
    "open_jetstream": "coordination.jetstream.store",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    opener: object = getattr(import_module(home), name)
    return opener
