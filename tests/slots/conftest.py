"""Two handles on one twin: one whose bucket port fails as planned, and a peer whose does not."""

import pytest

from coordination.memory.store import MemoryBroker
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, ManualClock
from tests.slots.terms import AGE


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def broker(clock: ManualClock) -> MemoryBroker:
    return MemoryBroker(clock, lease_ttl=AGE)


@pytest.fixture
def store(broker: MemoryBroker) -> FaultyStore:
    return FaultyStore(broker.open())


@pytest.fixture
def peer(broker: MemoryBroker) -> SlotStore:
    return broker.open()
