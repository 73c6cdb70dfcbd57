"""Doubles for tests, never imported by production modules."""

from coordination.memory.clock import ManualClock
from coordination.testing.faults import Faults, Held, Late, Verb
from coordination.testing.store import FaultyBucket, FaultyStore

__all__ = ["Faults", "FaultyBucket", "FaultyStore", "Held", "Late", "ManualClock", "Verb"]
