"""The picture: everything the pages know at one moment, each part with how it was asked.

Nothing here asks the store: the parts are the hub's projections. What must stay true: a part that
could not be asked keeps its last answer beside the fact that it is the last one, so that no page
can mistake it for fresh, and no row leaves a page until a successful listing lacks it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from company.document import Company, Seat
from coordination.contract.answers import Absent
from coordination.contract.config import Activation
from coordination.contract.leases import Lease
from coordination.contract.pauses import Pause
from coordination.contract.status import ConfigStatus
from fleet.services.index import FleetIndex, newest
from runtime.hub.topics import OVERDUE_AFTER
from runtime.link import Link
from runtime.reading import Known, Reading

HEARTBEATS_A_TTL: Final = 3  # presence is renewed every TTL/3
LATE_AFTER: Final = 2  # heartbeats without a renewal before a node is called late


@dataclass(frozen=True, slots=True, kw_only=True)
class Told[T]:
    """A reading opened for drawing.

    Attributes:
        value: the answer, or the last one there was; None when there never was one.
        as_of: when it was true.
        is_known: it is the present answer.
        since: for one that is not: when the asking began to fail.
        why: for one that is not: the reason, for people.
    """

    value: T | None
    as_of: datetime | None
    is_known: bool
    since: datetime | None = None
    why: str = ""

    @property
    def is_blank(self) -> bool:
        """Never answered at all."""
        return self.value is None


def open_reading[T](reading: Reading[T]) -> Told[T]:
    """The reading's value or last value, labelled."""
    if isinstance(reading, Known):
        return Told(value=reading.value, as_of=reading.as_of, is_known=True)
    last = reading.last
    return Told(
        value=last.value if last else None,
        as_of=last.as_of if last else None,
        is_known=False,
        since=reading.since,
        why=reading.why,
    )


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One moment's knowledge.

    `now` is the server's clock, which pages show ages by; `store_now` the store's, by which leases
    are late or lapse.
    """

    now: datetime
    store_now: datetime
    this_node: str
    build: str
    company: Company | None
    link: Link
    presences: Told[tuple[Lease, ...]]
    seats: Told[tuple[Lease, ...]]
    pauses: Told[tuple[Pause, ...]]
    statuses: Told[tuple[ConfigStatus, ...]]
    activation: Told[Activation | Absent]

    @cached_property
    def index(self) -> FleetIndex:
        """The records joined, from the last answers where there is no present one."""
        return newest.of(
            self.presences.value or (),
            self.seats.value or (),
            self.pauses.value or (),
            self.statuses.value or (),
        )

    @cached_property
    def live_nodes(self) -> tuple[str, ...]:
        """Ids of the nodes with a presence lease, sorted.

        A deadline that passed removes nobody by itself: the hub asks the leader, and drops the
        record when the leader says that it is gone.
        """
        return tuple(self.index.nodes)

    @property
    def judged_at(self) -> datetime:
        """The moment lateness is judged for: now, or that of the last answer.

        A store that cannot be asked renews nothing here, so nobody is late on its account.
        """
        if self.presences.is_known or self.presences.as_of is None:
            return self.store_now
        return self.presences.as_of

    def heartbeat_of(self, lease: Lease) -> timedelta:
        """The span between two renewals of this lease."""
        return lease.ttl / HEARTBEATS_A_TTL

    def is_late(self, lease: Lease) -> bool:
        """Two heartbeats went by without a renewal."""
        age = self.judged_at - lease.renewed_at.as_datetime()
        return age > self.heartbeat_of(lease) * LATE_AFTER

    def is_overdue(self, lease: Lease) -> bool:
        """Its deadline passed, and the store has not let the record go.

        A broker that cannot write (its disk is full, say) removes nothing either: the holder has
        given up by its own clock, while the record still keeps others out.
        """
        return self.judged_at > lease.expires_at.as_datetime() + OVERDUE_AFTER

    @cached_property
    def agents(self) -> tuple[Seat, ...]:
        """The company's agent seats; none while no document is applied here."""
        return self.company.agents if self.company else ()

    @property
    def is_blank(self) -> bool:
        """Nothing about the membership was ever known to this process."""
        return self.presences.is_blank and self.seats.is_blank
