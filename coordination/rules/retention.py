"""The buckets and how long each keeps what it holds.

A retention is its bucket's age, fixed when the bucket is created, which is why these are separate
buckets. Source: coordination.txt, "Retention is a bucket's age".
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from coordination.rules.leases import MAX_DUTY_TTL

RECONCILE_INTERVAL: Final = timedelta(seconds=15)
DUPLICATE_WINDOW: Final = timedelta(minutes=2)  # a message id is remembered this long at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """One bucket: its name behind the prefix, and its age; None forgets nothing."""

    suffix: str
    age: timedelta | None


DUTIES: Final = Retention(suffix="duties", age=MAX_DUTY_TTL)
EPOCHS: Final = Retention(suffix="epochs", age=None)
CONFIG: Final = Retention(suffix="config", age=None)
STATUS: Final = Retention(suffix="status", age=4 * RECONCILE_INTERVAL)
POSITIONS: Final = Retention(suffix="positions", age=None)


def leases(ttl: timedelta) -> Retention:
    """The lease bucket, whose age is the lease TTL."""
    return Retention(suffix="leases", age=ttl)


def duplicate_window(age: timedelta | None) -> timedelta:
    """How long a bucket of this age remembers message ids."""
    return DUPLICATE_WINDOW if age is None else min(age, DUPLICATE_WINDOW)
