"""The fencing counters: one record per resource, minted from, never removed, never restarted.

Source: coordination.txt, slot `epochs`: a fence that restarts is not a fence.
"""

from dataclasses import dataclass

import msgspec

from coordination.contract.answers import NO_REVISION, Absent, Epoch, Revision, Written
from coordination.contract.bucket import Bucket, Entry
from coordination.contract.records import EpochRecord, decode, encode
from coordination.errors import CorruptRecord
from coordination.rules.keys import Resource
from coordination.rules.leases import CAS_ROUNDS
from coordination.slots.rounds import worn_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Minted:
    """A fresh fencing token and the placement hint that stands beside the counter."""

    epoch: Epoch
    hint: str


class EpochCounters:
    """Reads and moves the counters."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    async def mint(self, resource: Resource, *, hint: str) -> Minted:
        """The next token of a resource. Only the holder of its claiming record may ask.

        Args:
            resource: what is being claimed.
            hint: node id to pin, empty to keep what stands.

        Raises:
            Unavailable: could not be asked. A counter that cannot be read is never begun again.
        """
        for _ in range(CAS_ROUNDS):
            found, revision = await self._find(resource)
            record = EpochRecord(
                resource=str(resource),
                epoch=found.epoch + 1 if found else 1,
                preferred=hint or (found.preferred if found else ""),
            )
            if await self._write(resource, record, revision):
                return Minted(epoch=Epoch(record.epoch), hint=record.preferred)
        raise worn_out(operation="mint", subject=str(resource), rounds=CAS_ROUNDS)

    async def pin(self, resource: Resource, *, hint: str) -> None:
        """Record a placement hint beside the counter; a resource without one needs none.

        Raises:
            Unavailable: could not be asked.
        """
        for _ in range(CAS_ROUNDS):
            found, revision = await self._find(resource)
            if found is None or found.preferred == hint:
                return
            pinned = msgspec.structs.replace(found, preferred=hint)
            if await self._write(resource, pinned, revision):
                return
        raise worn_out(operation="pin", subject=str(resource), rounds=CAS_ROUNDS)

    async def _write(self, resource: Resource, record: EpochRecord, expected: Revision) -> bool:
        body = encode(record, subject=str(resource))
        return isinstance(await self.bucket.update(resource.key, body, expected), Written)

    async def _find(self, resource: Resource) -> tuple[EpochRecord | None, Revision]:
        entry = await self.bucket.read(resource.key)
        match entry:
            case Absent():
                return None, NO_REVISION
            case Entry(is_live=True):
                record = decode(EpochRecord, entry.value, subject=entry.key)
                return record, entry.revision
            case Entry():
                msg = f"the fencing counter of {resource} was removed: its last token is not known"
                raise CorruptRecord(msg, operation="mint", subject=str(resource))
