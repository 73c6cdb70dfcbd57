"""The buckets, in the order they are opened, and how long each keeps what it holds.

A retention is its bucket's age, fixed when the bucket is created, which is why these are separate
buckets. Each age is sized from what it has to outlive, and both are constants here, so that one
cannot drift away from the other. Source: coordination.txt, "Retention is a bucket's age".
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from coordination.errors import InvalidRequest
from coordination.rules.leases import MAX_DUTY_TTL

_DAY: Final = timedelta(days=1)

SHORTEST_AGE: Final = timedelta(milliseconds=100)  # the broker's floor
DUPLICATE_WINDOW: Final = timedelta(minutes=2)  # a message id is remembered this long at most

# What the ages are sized from.
RECONCILE_INTERVAL: Final = timedelta(seconds=15)  # how often a node reports its status
RATE_WINDOW: Final = timedelta(seconds=1)  # the window of the notification valve
MAX_CLAIM_TTL: Final = timedelta(minutes=30)  # the longest claim of a delivery
LONGEST_COOLDOWN: Final = _DAY  # the longest that anything benches a credential for
CATCH_UP_CEILING: Final = timedelta(hours=2)  # how late a missed schedule is still dispatched
LONGEST_WINDOW: Final = 31 * _DAY  # a month of spend
OPERATIONS_KEPT: Final = 30 * _DAY  # how long an operation is remembered
EVENT_LOG_KEPT: Final = 31 * _DAY  # how long an event may be asked about
QUIET_THREAD: Final = 30 * _DAY  # how long a chat thread may be quiet and go on

_STATUS_INTERVALS: Final = 4
_RATE_WINDOWS: Final = 3
_FOLLOW_SPANS: Final = 3

MARKER_RETENTION: Final = MAX_DUTY_TTL  # no claim outlives a removal that is still visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """One bucket.

    Attributes:
        suffix: its name behind the prefix.
        age: how long a message is kept; None forgets nothing.
        holds: what it is for, in words.
        raised: whether an age found shorter is lengthened. No age is ever shortened.
    """

    suffix: str
    age: timedelta | None
    holds: str
    raised: bool = False


DUTIES: Final = Retention(
    suffix="duties",
    age=MAX_DUTY_TTL,
    holds="who holds which duty, and every other claim",
    raised=True,
)
EPOCHS: Final = Retention(suffix="epochs", age=None, holds="the counters tokens are minted from")
RATE: Final = Retention(
    suffix="rate", age=_RATE_WINDOWS * RATE_WINDOW, holds="how many notifications a window took"
)
CLAIMS: Final = Retention(
    suffix="claims", age=MAX_CLAIM_TTL, holds="which inbound deliveries were seen"
)
LEDGER: Final = Retention(suffix="ledger", age=7 * _DAY, holds="which triggers were worked")
COOLDOWNS: Final = Retention(
    suffix="cooldowns", age=LONGEST_COOLDOWN, holds="which credentials are resting"
)
STATUS: Final = Retention(
    suffix="status",
    age=_STATUS_INTERVALS * RECONCILE_INTERVAL,
    holds="what each node applied",
)
CONFIG: Final = Retention(suffix="config", age=None, holds="which revision is current")
BUDGETS: Final = Retention(
    suffix="budgets", age=LONGEST_WINDOW + _DAY, holds="what each scope spent in each window"
)
CHANNELS: Final = Retention(suffix="channels", age=None, holds="who asks whom, and what is open")
FOLLOWS: Final = Retention(
    suffix="follows", age=_FOLLOW_SPANS * QUIET_THREAD, holds="which threads each seat follows"
)
FIRES: Final = Retention(suffix="fires", age=7 * _DAY, holds="which schedules were dispatched")
REBASES: Final = Retention(
    suffix="rebases", age=OPERATIONS_KEPT, holds="the instants old work is written at"
)
SANDBOX_RUNS: Final = Retention(
    suffix="sandbox_runs", age=None, holds="every detached run and its box"
)
SECRETS: Final = Retention(suffix="secrets", age=None, holds="the company's sealed credentials")
INTEGRATIONS: Final = Retention(
    suffix="integrations", age=None, holds="where each surface's reconciling got to"
)
MAILBOXES: Final = Retention(suffix="mailboxes", age=None, holds="which mailboxes may exist")
OBJECTS: Final = Retention(suffix="objects", age=None, holds="which store the files are in")
CUSTODY: Final = Retention(
    suffix="custody", age=EVENT_LOG_KEPT + _DAY, holds="who keeps each batch of events"
)
POSITIONS: Final = Retention(suffix="positions", age=None, holds="node positions and seat pauses")

FLEET: Final = (
    RATE,
    CLAIMS,
    LEDGER,
    COOLDOWNS,
    STATUS,
    CONFIG,
    BUDGETS,
    CHANNELS,
    FOLLOWS,
    FIRES,
    REBASES,
    SANDBOX_RUNS,
    SECRETS,
    INTEGRATIONS,
    MAILBOXES,
    OBJECTS,
    CUSTODY,
    POSITIONS,
)
# The fencing counters are ageless too, and outside: they are never removed, so they leave none.
SWEPT: Final = tuple(kept for kept in FLEET if kept.age is None)


def leases(ttl: timedelta) -> Retention:
    """The lease bucket, whose age is the lease TTL."""
    return Retention(suffix="leases", age=ttl, holds="who runs which seat, who lives")


def every_bucket(lease_ttl: timedelta) -> tuple[Retention, ...]:
    """Every bucket, in the order they are opened.

    Raises:
        InvalidRequest: an age no broker keeps.
    """
    table = (leases(lease_ttl), DUTIES, EPOCHS, *FLEET)
    for kept in table:
        if kept.age is not None and kept.age < SHORTEST_AGE:
            msg = f"the age {kept.age} of {kept.suffix} is under the broker's floor, {SHORTEST_AGE}"
            raise InvalidRequest(msg, operation="open", subject=kept.suffix)
    return table


def duplicate_window(age: timedelta | None) -> timedelta:
    """How long a bucket of this age remembers message ids."""
    return DUPLICATE_WINDOW if age is None else min(age, DUPLICATE_WINDOW)
