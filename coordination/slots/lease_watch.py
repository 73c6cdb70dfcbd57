"""The watch of one class of leases."""

import logging

from coordination.contract.bucket import Entry, Listed
from coordination.contract.leases import Lease
from coordination.contract.watch import Change, Cleared
from coordination.rules.keys import Resource, ResourceClass
from coordination.slots.lease_values import Lane, Stood, resource_and_record
from coordination.slots.listed import decoded
from coordination.slots.watching import SlotWatch, open_watch


async def lease_watch(
    lane: Lane, resource_class: ResourceClass, log: logging.Logger
) -> SlotWatch[Lease, Resource]:
    """Follow a class: live tenures first, then each write; a tombstone or a claim clears."""
    what = f"{resource_class.name} leases"

    def collect(listed: Listed) -> tuple[Lease, ...]:
        found = decoded(listed.entries, resource_and_record, bucket=lane.bucket, log=log)
        return tuple(
            stood.lease(resource)
            for resource, stood in found
            if lane.is_tenure(stood.standing, listed.as_of)
        )

    def read(entry: Entry) -> Change[Lease] | Cleared[Resource] | None:
        resource = Resource.of_key(entry.key)
        if resource is not None and not entry.is_live:
            return Cleared(name=resource, revision=entry.revision, at=entry.written_at)
        for name, stood in decoded((entry,), resource_and_record, bucket=lane.bucket, log=log):
            return _event_of(name, stood)
        return None

    source = await lane.bucket.watch(resource_class.filter, what=what)
    return await open_watch(source, collect, read, what=what)


def _event_of(resource: Resource, stood: Stood) -> Change[Lease] | Cleared[Resource]:
    if stood.standing.is_tombstone or stood.standing.is_claiming:
        return Cleared(name=resource, revision=stood.revision, at=stood.written_at)
    return Change(item=stood.lease(resource), revision=stood.revision, at=stood.written_at)
