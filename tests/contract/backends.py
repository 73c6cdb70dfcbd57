"""Backends the suite certifies, and how to certify another.

A backend is a factory: called once per case, it gives a `Backend` on an empty store of its own. To
certify yours, register it from a module and name that module to pytest::

    # acme/certify.py
    from tests.contract.backends import Certified, register
    register(Certified(name="acme", factory=AcmeBackend))

    python -m pytest -p acme.certify tests/contract
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import pytest

from coordination.contract.answers import Absent
from coordination.contract.store import Store
from tests.contract.cases import Scope, Tally
from tests.contract.observing import observed
from tests.contract.terms import AGE, MARGIN, NODE, SEAT, WINDOW, WORKER


@dataclass(kw_only=True)
class Backend(ABC):
    """One empty store, several handles on it, its clock, and its faults.

    `make_unreachable` and `heal` must reach the backend itself: a wrapper that raises above it
    certifies the wrapper.
    """

    tally: Tally = field(default_factory=Tally)

    @property
    @abstractmethod
    def can_move_clock(self) -> bool:
        """Whether `advance` moves the store's clock instead of waiting for it."""

    @property
    def has_replicas(self) -> bool:
        """Whether a pass may come from a copy that is behind, so that a listing may lag."""
        return False

    @abstractmethod
    async def connect(self, index: int, *, lease_ttl: timedelta) -> Store:
        """One more handle on this store, such as another node's."""

    @abstractmethod
    async def advance(self, span: timedelta) -> None:
        """Let this much of the store's time pass."""

    @abstractmethod
    async def make_unreachable(self, *, silent: bool = False) -> None:
        """Take the store away from every handle.

        Args:
            silent: requests are swallowed rather than failing at once.
        """

    @abstractmethod
    async def heal(self) -> None:
        """Give it back, and return once a handle can reach it."""

    @abstractmethod
    async def close(self) -> None:
        """Close every handle; called once, after a fault too."""

    async def open(self, handles: int = 1, *, lease_ttl: timedelta = AGE) -> tuple[Store, ...]:
        """Several handles on one store, asserted empty."""
        stores = [await self.connect(index, lease_ttl=lease_ttl) for index in range(handles)]
        await assert_empty(stores[0])
        return tuple(observed(store, self.tally) for store in stores)

    async def lapse(self, ttl: timedelta) -> None:
        """Let a lease claimed for this long lapse, on the store's clock."""
        assert self.can_move_clock or ttl <= WINDOW, "real time lapses SHORT and WINDOW leases only"
        await self.advance(ttl + MARGIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """A backend the suite runs on: its name, its factory, the scopes and marks of its cases."""

    name: str
    factory: Callable[[], Backend]
    scopes: frozenset[Scope] = frozenset({Scope.BOTH})
    marks: tuple[pytest.MarkDecorator, ...] = ()


_REGISTERED: Final[dict[str, Certified]] = {}


def register(certified: Certified) -> None:
    """Run the suite on this backend too."""
    _REGISTERED[certified.name] = certified


def backends_for(scope: Scope) -> Iterator[Certified]:
    """The backends a case of this scope is due on."""
    return (one for one in _REGISTERED.values() if scope in one.scopes)


async def assert_empty(store: Store) -> None:
    """A case starts on an empty store: one left-over lease changes the next case."""
    for resource_class in (SEAT, NODE, WORKER):
        assert await store.leases.list_live(resource_class) == ()
    assert await store.pauses.list() == ()
    assert await store.status.list() == ()
    assert await store.config.target() == Absent()
