"""Lease records as values: what stands on a key, and the lease a reader is handed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from coordination.contract.answers import NO_REVISION, Absent, Epoch, Owner, Revision
from coordination.contract.bucket import Bucket, Entry
from coordination.contract.leases import Lease
from coordination.contract.records import LeaseRecord, decode, encode
from coordination.rules.instants import Instant, nanos_of, set_or_none, span_of
from coordination.rules.keys import Resource
from coordination.rules.leases import Standing, is_held, needs_clock
from coordination.slots.clock import ClockFloor


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """A lease record as it was read, with the bucket's own revision and time of it."""

    record: LeaseRecord
    revision: Revision
    written_at: Instant

    @property
    def standing(self) -> Standing:
        """The fields that decide."""
        return Standing(
            owner=self.record.owner,
            epoch=self.record.epoch,
            ttl_ns=self.record.ttl_ns,
            written_at=self.written_at,
            claim=self.record.claim,
        )

    def lease(self, resource: Resource) -> Lease:
        """The lease a caller is handed. The key names the resource, not the body."""
        return lease_of(resource, self.record, self.revision, self.written_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A leader read of one lease key: the record, or none, and the revision to write over."""

    stood: Stood | None
    revision: Revision  # 0 when nothing, not even a marker, is there

    @property
    def standing(self) -> Standing | None:
        """The fields that decide; None when nothing stands there."""
        return None if self.stood is None else self.stood.standing


class Lane:
    """One lease bucket and how its records are judged.

    Args:
        bucket: `leases` or `duties`.
        age: the age that makes a clock needless, None where records end by their own deadline.
        longest_ttl: the longest TTL a record may ask for; a tombstone carries it.
        ticks: as for `ClockFloor`.
    """

    def __init__(
        self,
        bucket: Bucket,
        *,
        age: timedelta | None,
        longest_ttl: timedelta,
        ticks: Callable[[], int],
    ) -> None:
        self.bucket = bucket
        self.age = age
        self.longest_ttl = longest_ttl
        self.clock_floor = ClockFloor(bucket, ticks)

    async def find(self, resource: Resource) -> Found:
        """Read what stands on a resource's key.

        Raises:
            CorruptRecord: its record cannot be decoded, so nobody knows who holds it.
        """
        entry = await self.bucket.read(resource.key)
        match entry:
            case Entry(is_live=True):
                return Found(stood=stood_of(entry), revision=entry.revision)
            case Entry():
                return Found(stood=None, revision=entry.revision)
            case Absent():
                return Found(stood=None, revision=NO_REVISION)

    async def is_held(self, standing: Standing) -> bool:
        """Whether a record is held, asking the broker's clock only where that decides."""
        if not needs_clock(standing, self.age):
            return is_held(standing, self.age, None)
        return is_held(standing, self.age, await self.bucket.now())

    def is_tenure(self, standing: Standing, now: Instant) -> bool:
        """Whether a listed record is a live tenure by a clock already read."""
        return not standing.is_claiming and is_held(standing, self.age, now)

    def tombstone(self, record: LeaseRecord) -> LeaseRecord:
        """The record given back: nobody's, with its epoch, hint and meta kept."""
        return msgspec.structs.replace(
            record, owner="", claim="", ttl_ns=nanos_of(self.longest_ttl)
        )


def stood_of(entry: Entry) -> Stood:
    """A live entry decoded.

    Raises:
        CorruptRecord: it is no lease record.
    """
    record = decode(LeaseRecord, entry.value, subject=entry.key)
    return Stood(record=record, revision=entry.revision, written_at=entry.written_at)


def resource_and_record(entry: Entry) -> tuple[Resource, Stood] | None:
    """A live entry's resource and record; None where the key is no resource's.

    Raises:
        CorruptRecord: it is no lease record.
    """
    resource = Resource.of_key(entry.key)
    return None if resource is None else (resource, stood_of(entry))


def body_of(record: LeaseRecord) -> bytes:
    """A lease record's bytes."""
    return encode(record, subject=record.resource)


def lease_of(
    resource: Resource, record: LeaseRecord, revision: Revision, written_at: Instant
) -> Lease:
    """The lease that a record written at that instant states."""
    return Lease(
        resource=resource,
        owner=Owner(record.owner),
        epoch=Epoch(record.epoch),
        ttl=span_of(record.ttl_ns),
        renewed_at=written_at,
        expires_at=Instant(written_at.nanos + record.ttl_ns),
        acquired_at=set_or_none(record.acquired_at),
        hint=record.preferred,
        protocol=record.protocol,
        meta=record.meta,
        revision=revision,
    )
