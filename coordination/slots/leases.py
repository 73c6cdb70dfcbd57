"""The lease slot over three buckets: `leases`, `duties` and `epochs`. As `contract.leases`."""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import override

import msgspec

from coordination.contract.answers import (
    Absent,
    Lost,
    NotHeld,
    Owner,
    Refused,
    Released,
    Written,
)
from coordination.contract.bucket import Bucket, Entry, Listed
from coordination.contract.leases import (
    Granted,
    Lease,
    Leases,
    Renewed,
    Supported,
    Unsupported,
)
from coordination.contract.records import EpochRecord, check_meta, decode
from coordination.contract.watch import Watch
from coordination.errors import ConfigurationMismatch, InvalidRequest
from coordination.rules.instants import nanos_of
from coordination.rules.keys import Resource, ResourceClass
from coordination.rules.leases import (
    CAS_ROUNDS,
    MAX_DUTY_TTL,
    PROTOCOL,
    LostReason,
    check_claim,
    check_owner,
)
from coordination.slots.acquiring import Acquiring, Claim
from coordination.slots.epochs import EpochCounters
from coordination.slots.features import all_support, holder_supports
from coordination.slots.gate import Gate
from coordination.slots.lease_values import Lane, body_of, lease_of, resource_and_record
from coordination.slots.lease_watch import lease_watch
from coordination.slots.listed import decoded
from coordination.slots.rounds import worn_out
from coordination.slots.tenures import give_back, own_tenure


class LeaseSlot(Leases):
    """Every lease verb.

    Args:
        leases: seats and presences; its age in force is the lease TTL.
        duties: every other class.
        epochs: the fencing counters.
        log: where claims taken back and records left out are told.
        ticks: as for `ClockFloor`.
    """

    def __init__(
        self,
        leases: Bucket,
        duties: Bucket,
        epochs: Bucket,
        log: logging.Logger,
        *,
        ticks: Callable[[], int],
    ) -> None:
        if leases.age is None:
            msg = f"the bucket {leases.name} has no age, so no lease in it would ever end"
            raise ConfigurationMismatch(msg, operation="open", subject=leases.name)
        self._ttl_in_force = leases.age
        self._seats = Lane(leases, age=leases.age, longest_ttl=leases.age, ticks=ticks)
        self._duties = Lane(duties, age=None, longest_ttl=MAX_DUTY_TTL, ticks=ticks)
        self._epochs = EpochCounters(epochs)
        self._gate = Gate(leases, log)
        self._log = log
        self._acquiring = Acquiring(self._epochs, log)

    @property
    @override
    def ttl_in_force(self) -> timedelta:
        return self._ttl_in_force

    async def finish(self) -> None:
        """Wait for claims still being taken back for callers that were cancelled; then gate none.

        The gate's watch ends here.
        """
        await self._acquiring.finish()
        await self._gate.close()

    @override
    async def acquire(
        self,
        resource: Resource,
        *,
        owner: Owner,
        ttl: timedelta,
        hint: str | None = None,
        protocol: int = PROTOCOL,
        meta: Mapping[str, object] | None = None,
        gated: bool = True,
    ) -> Granted | Refused:
        check_claim(resource, owner, ttl, self._ttl_in_force)
        claim = Claim(
            resource=resource,
            owner=owner,
            ttl=ttl,
            hint=hint or "",
            protocol=protocol if protocol > 0 else PROTOCOL,
            meta=None if meta is None else check_meta(meta, subject=str(resource)),
            gate=self._gate if gated else None,
        )
        return await self._acquiring.acquire(self._lane(resource.resource_class), claim)

    @override
    async def renew(self, lease: Lease, *, ttl: timedelta) -> Renewed | Lost:
        check_claim(lease.resource, lease.owner, ttl, self._ttl_in_force)
        lane = self._lane(lease.resource.resource_class)
        for _ in range(CAS_ROUNDS):
            stood = await own_tenure(lane, lease.resource, lease.owner, lease.epoch)
            if isinstance(stood, LostReason):
                return Lost(because=stood)
            reached = await lane.clock_floor.read()
            record = msgspec.structs.replace(stood.record, ttl_ns=nanos_of(ttl))
            answer = await lane.bucket.update(lease.resource.key, body_of(record), stood.revision)
            if isinstance(answer, Written):
                renewed_at = max(stood.written_at, reached)
                return Renewed(lease=lease_of(lease.resource, record, answer.revision, renewed_at))
        raise worn_out(operation="renew", subject=str(lease.resource), rounds=CAS_ROUNDS)

    @override
    async def release(self, lease: Lease) -> Released | NotHeld:
        check_owner(lease.owner, str(lease.resource))
        lane = self._lane(lease.resource.resource_class)
        lost = await give_back(lane, lease.resource, lease.owner, lease.epoch)
        if lost is not None:
            return NotHeld(because=lost)
        self._log.debug(
            "coord_kv_lease_released resource=%s owner=%s epoch=%d",
            lease.resource,
            lease.owner,
            lease.epoch,
        )
        return Released()

    @override
    async def get(self, resource: Resource) -> Lease | Absent:
        lane = self._lane(resource.resource_class)
        stood = (await lane.find(resource)).stood
        if stood is None or stood.standing.is_claiming or not await lane.is_held(stood.standing):
            return Absent()
        return stood.lease(resource)

    @override
    async def list_live(self, resource_class: ResourceClass) -> tuple[Lease, ...]:
        asked = ResourceClass.parse(resource_class.name)
        lane = self._lane(asked)
        listed = await lane.bucket.listing(asked.filter, what=f"{asked.name} leases")
        return tuple(sorted(self._live(lane, listed), key=_by_resource))

    @override
    async def list_owned(self, owner: Owner) -> tuple[Lease, ...]:
        check_owner(owner, "leases of one owner")
        found: list[Lease] = []
        for lane in (self._seats, self._duties):
            listed = await lane.bucket.listing(">", what="leases of one owner")
            found.extend(lease for lease in self._live(lane, listed) if lease.owner == owner)
        return tuple(sorted(found, key=_by_resource))

    @override
    async def hints(self, resource_class: ResourceClass, node: str) -> tuple[Resource, ...]:
        asked = ResourceClass.parse(resource_class.name)
        if not node.strip():
            msg = f"{asked.name} placement hints of which node?"
            raise InvalidRequest(msg, operation="hints", subject=asked.name)
        bucket = self._epochs.bucket
        listed = await bucket.listing(asked.filter, what=f"{asked.name} placement hints")
        hinted = decoded(listed.entries, _hint_of, bucket=bucket, log=self._log)
        return tuple(sorted(resource for resource, hint in hinted if hint == node))

    @override
    async def protocol_floor(self) -> int | Absent:
        return await self._gate.floor()

    @override
    async def all_support(self, feature: str) -> Supported | Unsupported:
        return await all_support(self, feature)

    @override
    async def holder_supports(self, resource: Resource, feature: str) -> Supported | Unsupported:
        return await holder_supports(self, resource, feature)

    @override
    async def watch(self, resource_class: ResourceClass) -> Watch[Lease, Resource]:
        asked = ResourceClass.parse(resource_class.name)
        return await lease_watch(self._lane(asked), asked, self._log)

    def _lane(self, resource_class: ResourceClass) -> Lane:
        return self._seats if resource_class.is_seat_lane else self._duties

    def _live(self, lane: Lane, listed: Listed) -> list[Lease]:
        found = decoded(listed.entries, resource_and_record, bucket=lane.bucket, log=self._log)
        return [
            stood.lease(resource)
            for resource, stood in found
            if lane.is_tenure(stood.standing, listed.as_of)
        ]


def _hint_of(entry: Entry) -> tuple[Resource, str] | None:
    resource = Resource.of_key(entry.key)
    if resource is None:
        return None
    return resource, decode(EpochRecord, entry.value, subject=entry.key).preferred


def _by_resource(lease: Lease) -> Resource:
    return lease.resource
