"""Claiming: a claim is written, its token minted, the tenure written, then read back.

::

    read ── held by a peer ─────────────> Refused(held)
      │  ── an older build is alive ────> Refused(protocol)
      │  ── ours, still claiming ───────> read again
      │  ── ours ───────> write the new deadline ──────────────────────────┐
      └─ free ──> write a claim (epoch 0) ──> mint ──> write the tenure ───┴─> read back ──> Granted

A claim that failed half way is taken back (`abandon`) before its error goes on, so that a failed
call does not hold a resource until its TTL; one that could not be taken back is claimed over by its
owner's next call. Lost races start over.
"""

import asyncio
import logging
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final

import msgspec

from coordination.contract.answers import (
    NO_REVISION,
    Conflict,
    Owner,
    Refused,
    RefusedReason,
    Revision,
    Written,
)
from coordination.contract.bucket import Entry
from coordination.contract.leases import Granted
from coordination.contract.records import LeaseRecord
from coordination.rules.instants import nanos_of, set_or_none
from coordination.rules.keys import Resource
from coordination.rules.leases import (
    ABANDON_WITHIN,
    CAS_ROUNDS,
    Abandonment,
    Move,
    judge_acquire,
    plan_abandon,
)
from coordination.slots.cleanup import Cleanup
from coordination.slots.epochs import EpochCounters
from coordination.slots.gate import Gate
from coordination.slots.lease_values import Found, Lane, Stood, body_of
from coordination.slots.rounds import worn_out
from coordination.slots.tenures import give_back

_LAST_WRITE_WITHIN: Final = 1.0  # seconds a taking back waits for an acknowledgement on its way


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a caller asks for, already checked."""

    resource: Resource
    owner: Owner
    ttl: timedelta
    hint: str  # empty keeps what stands
    protocol: int
    meta: dict[str, Any] | None  # None keeps what stands
    gate: Gate | None


@dataclass(slots=True, kw_only=True)
class _Making:
    """A new tenure on its way, and its last write, which goes on when the caller is cancelled."""

    claiming: LeaseRecord
    made_over: Revision
    last_write: asyncio.Task[Written | Conflict] | None = None

    async def tenure(self) -> Revision:
        """Where the tenure was acknowledged; 0 when it was not, or is not in time."""
        if self.last_write is None:
            return NO_REVISION
        await asyncio.wait({self.last_write}, timeout=_LAST_WRITE_WITHIN)
        self.last_write.cancel()
        await asyncio.wait({self.last_write})
        if self.last_write.cancelled() or self.last_write.exception() is not None:
            return NO_REVISION
        answer = self.last_write.result()
        return answer.revision if isinstance(answer, Written) else NO_REVISION


class Acquiring:
    """Carries claims out over one lane at a time."""

    # By claim id, for every handle of this process, since an owner is one process incarnation.
    _in_flight: ClassVar[set[str]] = set()

    def __init__(self, epochs: EpochCounters, log: logging.Logger) -> None:
        self._epochs = epochs
        self._log = log
        self._cleanup = Cleanup(ABANDON_WITHIN)

    async def finish(self) -> None:
        """Wait for the clean-ups of cancelled callers."""
        await self._cleanup.finish()

    async def acquire(self, lane: Lane, claim: Claim) -> Granted | Refused:
        """As `contract.leases.Leases.acquire`."""
        for _ in range(CAS_ROUNDS):
            answer = await self._round(lane, claim)
            if answer is not None:
                return answer
        raise worn_out(operation="acquire", subject=str(claim.resource), rounds=CAS_ROUNDS)

    async def _round(self, lane: Lane, claim: Claim) -> Granted | Refused | None:
        found = await lane.find(claim.resource)
        standing = found.standing
        held = standing is not None and await lane.is_held(standing)
        move = judge_acquire(standing, claim.owner, held=held, in_flight=self._in_flight)
        if move is Move.REFUSE_HELD:
            return Refused(because=RefusedReason.HELD)
        if claim.gate is not None and await claim.gate.blocks(claim.protocol):
            return Refused(because=RefusedReason.PROTOCOL)
        if move is Move.AGAIN:
            return None
        if move is Move.EXTEND and found.stood is not None:
            written = await self._extend(lane, claim, found.stood)
            return (
                None if written is None else await self._settle(lane, claim, written, fresh=False)
            )
        return await self._take(lane, claim, found)

    async def _extend(self, lane: Lane, claim: Claim, stood: Stood) -> LeaseRecord | None:
        if claim.hint and claim.hint != stood.record.preferred:
            await self._epochs.pin(claim.resource, hint=claim.hint)
        record = msgspec.structs.replace(
            _claimed(claim, stood.record),
            epoch=stood.record.epoch,
            acquired_at=set_or_none(stood.record.acquired_at),
        )
        answer = await lane.bucket.update(claim.resource.key, body_of(record), stood.revision)
        return record if isinstance(answer, Written) else None

    async def _take(self, lane: Lane, claim: Claim, found: Found) -> Granted | Refused | None:
        """A new tenure over what was found; None when somebody was faster."""
        old = None if found.stood is None else found.stood.record
        making = _Making(
            claiming=msgspec.structs.replace(_claimed(claim, old), claim=str(uuid.uuid4())),
            made_over=found.revision,
        )
        self._in_flight.add(making.claiming.claim)
        try:
            tenure = await self._mint_over(lane, claim, making)
            return None if tenure is None else await self._settle(lane, claim, tenure, fresh=True)
        except BaseException:
            await self._cleanup.run(
                lambda: self._abandon(lane, claim.resource, making),
                failed=lambda error: self._log.warning(
                    "coord_kv_claim_abandon_failed resource=%s owner=%s error=%r",
                    claim.resource,
                    claim.owner,
                    error,
                ),
            )
            raise
        finally:
            self._in_flight.discard(making.claiming.claim)

    async def _mint_over(self, lane: Lane, claim: Claim, making: _Making) -> LeaseRecord | None:
        key = claim.resource.key
        claimed = await lane.bucket.update(key, body_of(making.claiming), making.made_over)
        if not isinstance(claimed, Written):
            return None
        stored = await lane.bucket.read_revision(key, claimed.revision)
        if not isinstance(stored, Entry):
            return None
        minted = await self._epochs.mint(claim.resource, hint=claim.hint)
        tenure = msgspec.structs.replace(
            making.claiming,
            epoch=minted.epoch,
            preferred=minted.hint,
            acquired_at=stored.written_at,
            claim="",
        )
        write = lane.bucket.update(key, body_of(tenure), claimed.revision)
        making.last_write = asyncio.create_task(write)
        won = await asyncio.shield(making.last_write)
        return tenure if isinstance(won, Written) else None

    async def _settle(
        self, lane: Lane, claim: Claim, written: LeaseRecord, *, fresh: bool
    ) -> Granted | Refused:
        """Read the tenure back for its deadline and judge the gate again behind the write."""
        stood = (await lane.find(claim.resource)).stood
        if (
            stood is None
            or stood.record.owner != claim.owner
            or stood.record.epoch != written.epoch
        ):
            return Refused(because=RefusedReason.HELD)
        if claim.gate is not None and await claim.gate.blocks(claim.protocol):
            if fresh:
                await self._yield(lane, claim, written)
            return Refused(because=RefusedReason.PROTOCOL)
        return Granted(lease=stood.lease(claim.resource))

    async def _yield(self, lane: Lane, claim: Claim, tenure: LeaseRecord) -> None:
        await give_back(lane, claim.resource, claim.owner, tenure.epoch)
        self._log.info(
            "coord_kv_claim_yielded_to_older_peer resource=%s owner=%s protocol=%d",
            claim.resource,
            claim.owner,
            claim.protocol,
        )

    async def _abandon(self, lane: Lane, resource: Resource, making: _Making) -> None:
        """Take a half-made claim back, or fence its late write out."""
        claiming, tenure = making.claiming, await making.tenure()
        for _ in range(CAS_ROUNDS):
            found = await lane.find(resource)
            plan = plan_abandon(
                found.standing,
                claim=claiming.claim,
                revision=found.revision,
                made_over=making.made_over,
                tenure=tenure,
            )
            if plan is Abandonment.NOTHING:
                return
            body = body_of(lane.tombstone(_abandoned(claiming, found)))
            answer = await lane.bucket.update(resource.key, body, found.revision)
            if isinstance(answer, Written):
                self._log.info(
                    "coord_kv_claim_abandoned resource=%s owner=%s", resource, claiming.owner
                )
                return
        raise worn_out(operation="abandon", subject=str(resource), rounds=CAS_ROUNDS)


def _claimed(claim: Claim, old: LeaseRecord | None) -> LeaseRecord:
    """The claim as a record without a token, carrying hint and meta it does not name."""
    return LeaseRecord(
        resource=str(claim.resource),
        owner=claim.owner,
        epoch=0,
        ttl_ns=nanos_of(claim.ttl),
        preferred=claim.hint or (old.preferred if old else ""),
        protocol=claim.protocol,
        meta=claim.meta if claim.meta is not None else (old.meta if old else {}),
    )


def _abandoned(claiming: LeaseRecord, found: Found) -> LeaseRecord:
    """What the tombstone keeps: the record it is written over, or the claim that never landed."""
    return claiming if found.stood is None else found.stood.record
