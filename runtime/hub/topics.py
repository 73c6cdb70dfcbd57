"""The topics: which slot each one follows, and how its records are told apart."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from coordination.contract.answers import Absent
from coordination.contract.config import Activation
from coordination.contract.leases import Lease
from coordination.contract.pauses import Pause
from coordination.contract.status import ConfigStatus
from coordination.contract.store import Store
from coordination.contract.watch import Watch
from coordination.rules.keys import Resource, ResourceClass
from runtime.hub.projection import Shape

NODES: Final = "nodes"
SEATS: Final = "seats"
DUTIES: Final = "duties"
PAUSES: Final = "pauses"
ACTIVATION: Final = "activation"
STATUSES: Final = "statuses"
ALL: Final = (NODES, SEATS, PAUSES, ACTIVATION, STATUSES, DUTIES)
LINK: Final = "link"  # the probe's own notices; no projection

POINTER: Final = "activation"  # the one key of its topic
HEARTBEATS_A_TTL: Final = 3
LATE_AFTER: Final = 2  # heartbeats without a renewal
# A record that stands so long past its deadline is one that the broker fails to let go.
OVERDUE_AFTER: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic[T, K]:
    """How to follow one slot.

    Attributes:
        name: as readers and subscribers call it.
        shape: its records.
        open: opens its watch.
        list: a certified listing.
        get: reads one record from the leader by key; None where the slot reads no single record.
        key_of: the key a removal names.
        expires_at: when a record lapses, in nanoseconds of the store's clock; None where nothing
            tells. Thousands are looked at twice a second.
        late_at: when a record that was not renewed is late, likewise.
    """

    name: str
    shape: Shape[T]
    open: Callable[[Store], Awaitable[Watch[T, K]]]
    list: Callable[[Store], Awaitable[tuple[T, ...]]]
    get: Callable[[Store, str], Awaitable[T | Absent]] | None
    key_of: Callable[[K], str]
    expires_at: Callable[[T], int] | None = None
    late_at: Callable[[T], int] | None = None


def leases_of(resource_class: str, name: str, *, is_renewed: bool) -> Topic[Lease, Resource]:
    """The leases of one class; `is_renewed` where a heartbeat renews them."""
    parsed = ResourceClass.parse(resource_class)

    def resource_of(key: str) -> Resource:
        return Resource((resource_class, *key.split(":")))

    return Topic(
        name=name,
        shape=Shape(
            key=lambda lease: lease.resource.name,
            revision=lambda lease: lease.revision,
            meaning=_meaning_of_lease,
        ),
        open=lambda store: store.leases.watch(parsed),
        list=lambda store: store.leases.list_live(parsed),
        get=lambda store, key: store.leases.get(resource_of(key)),
        key_of=lambda resource: resource.name,
        expires_at=lambda lease: lease.expires_at.nanos,
        late_at=_late_at if is_renewed else None,
    )


def nodes() -> Topic[Lease, Resource]:
    """Presence leases, by node id."""
    return leases_of("node", NODES, is_renewed=True)


def seats() -> Topic[Lease, Resource]:
    """Seat leases, by handle."""
    return leases_of("seat", SEATS, is_renewed=True)


def duties() -> Topic[Lease, Resource]:
    """Duty leases, by the duty's name."""
    return leases_of("worker", DUTIES, is_renewed=False)


def pauses() -> Topic[Pause, str]:
    """Seat pauses, by handle."""
    return Topic(
        name=PAUSES,
        shape=Shape(
            key=lambda pause: pause.handle,
            revision=lambda pause: pause.revision,
            meaning=lambda pause: pause,
        ),
        open=lambda store: store.pauses.watch(),
        list=lambda store: store.pauses.list(),
        get=lambda store, key: store.pauses.get(key),
        key_of=lambda handle: handle,
    )


def activation() -> Topic[Activation, str]:
    """The configuration pointer, under one key."""
    return Topic(
        name=ACTIVATION,
        shape=Shape(
            key=lambda _: POINTER,
            revision=lambda pointer: pointer.epoch,
            meaning=lambda pointer: pointer,
        ),
        open=lambda store: store.config.watch(),
        list=_list_activation,
        get=lambda store, _: store.config.target(),
        key_of=lambda _: POINTER,
    )


def statuses() -> Topic[ConfigStatus, str]:
    """What each node applied, by node id. A status that ages out is missed by the next listing."""
    return Topic(
        name=STATUSES,
        shape=Shape(
            key=lambda status: status.node,
            revision=lambda status: status.updated_at.nanos,
            meaning=lambda status: (
                status.epoch,
                status.status,
                status.revision_id,
                status.error,
            ),
        ),
        open=lambda store: store.status.watch(),
        list=lambda store: store.status.list(),
        get=None,
        key_of=lambda node: node,
    )


def _meaning_of_lease(lease: Lease) -> object:
    return (lease.owner, lease.epoch, lease.hint, lease.protocol, lease.meta)


def _late_at(lease: Lease) -> int:
    renewed = lease.renewed_at.nanos
    return renewed + (lease.expires_at.nanos - renewed) * LATE_AFTER // HEARTBEATS_A_TTL


async def _list_activation(store: Store) -> tuple[Activation, ...]:
    target = await store.config.target()
    return () if isinstance(target, Absent) else (target,)
