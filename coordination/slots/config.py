"""The configuration pointer and its payload over the `config` bucket. As `contract.config`.

The payload is put first, then the pointer moves by compare-and-set. A put lands only while the
pointer stands where the editor read it, so one that comes late never overwrites a winner's. Two
editors may both put before either wins, so the winner sees that its own payload is what stands.
"""

from dataclasses import dataclass
from typing import Final, override

import msgspec

from coordination.contract.answers import (
    NO_REVISION,
    Absent,
    Conflict,
    Epoch,
    Revision,
    Written,
)
from coordination.contract.bucket import Bucket, Entry, Listed
from coordination.contract.config import NO_ORIGIN, Activation, Config, Origin, Payload
from coordination.contract.records import PayloadRecord, PointerRecord, decode, encode
from coordination.contract.watch import Change, Cleared, Watch
from coordination.errors import ActivationRaced, InvalidRequest
from coordination.rules.activation import published_at
from coordination.rules.instants import Instant, set_or_none
from coordination.slots.watching import open_watch

POINTER: Final = "activation"
PAYLOAD: Final = "revision_payload"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The pointer as it was read, and the revision to write over."""

    pointer: PointerRecord | None
    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What an activation asks for, already checked."""

    pointer: PointerRecord
    body: bytes  # the encoded payload record
    expect: str | None
    expect_absent: bool


class ConfigSlot(Config):
    """Every configuration verb."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    @override
    async def activate(
        self,
        revision_id: str,
        payload: bytes,
        *,
        at: Instant,
        summary: str = "",
        origin: Origin = NO_ORIGIN,
        expect: str | None = None,
        expect_absent: bool = False,
    ) -> Activation:
        _check(revision_id, expect, expect_absent)
        wanted = _Wanted(
            pointer=_pointer(revision_id, at, summary, origin),
            body=encode(
                PayloadRecord(revision_id=revision_id, payload=payload),
                subject=f"the payload of revision {revision_id}",
            ),
            expect=expect,
            expect_absent=expect_absent,
        )
        found = await self._expected(wanted)
        landed = await self._land(wanted, found)
        await self._keep_payload(wanted, Revision(landed.epoch))
        return landed

    @override
    async def target(self) -> Activation | Absent:
        entry = await self._bucket.read(POINTER)
        return activation_of(entry) if isinstance(entry, Entry) and entry.is_live else Absent()

    @override
    async def payload(self, revision_id: str) -> Payload | Absent:
        _check_revision(revision_id, operation="payload")
        entry = await self._bucket.read(PAYLOAD)
        if not isinstance(entry, Entry) or not entry.is_live:
            return Absent()
        record = decode(PayloadRecord, entry.value, subject=PAYLOAD)
        return Payload(record.payload) if record.revision_id == revision_id else Absent()

    @override
    async def watch(self) -> Watch[Activation, str]:
        what = "the configuration pointer"
        source = await self._bucket.watch(POINTER, what=what)
        return await open_watch(source, _activations, _event_of, what=what)

    async def _expected(self, wanted: _Wanted) -> _Found:
        """Read the pointer and hold it against what the caller expects of it."""
        found = await self._find()
        standing = found.pointer
        if standing is None:
            return found
        if wanted.expect_absent:
            raise _raced(standing.revision_id, what="a configuration is active already")
        if wanted.expect is not None and standing.revision_id != wanted.expect:
            gone = f"revision {wanted.expect} is not active any more"
            raise _raced(standing.revision_id, what=gone)
        return found

    async def _land(self, wanted: _Wanted, found: _Found) -> Activation:
        """Put and move over what was found; without an expectation until it lands."""
        while True:
            landed = await self._put_and_move(wanted, found)
            if isinstance(landed, Activation):
                return landed
            found = await self._find()
            if wanted.expect_absent or wanted.expect is not None:
                standing = "" if found.pointer is None else found.pointer.revision_id
                raise _raced(standing, what="another revision became active first")

    async def _put_and_move(self, wanted: _Wanted, found: _Found) -> Activation | Conflict:
        put = await self._put_while(wanted, found.revision)
        if isinstance(put, Conflict):
            return put
        previous = None if found.pointer is None else found.pointer.at
        at = published_at(wanted.pointer.at, previous)
        pointer = msgspec.structs.replace(wanted.pointer, at=at)
        body = encode(pointer, subject=POINTER)
        moved = await self._bucket.update(POINTER, body, found.revision)
        return moved if isinstance(moved, Conflict) else _activation(pointer, moved.revision)

    async def _keep_payload(self, wanted: _Wanted, moved: Revision) -> None:
        """See that the payload stands while the pointer does; a later activation brings its own."""
        entry = await self._bucket.read(PAYLOAD)
        if not isinstance(entry, Entry) or not entry.is_live or entry.value != wanted.body:
            await self._put_while(wanted, moved)

    async def _put_while(self, wanted: _Wanted, pointer: Revision) -> Written | Conflict:
        return await self._bucket.put_beside(PAYLOAD, wanted.body, other=POINTER, expected=pointer)

    async def _find(self) -> _Found:
        entry = await self._bucket.read(POINTER)
        if not isinstance(entry, Entry):
            return _Found(pointer=None, revision=NO_REVISION)
        pointer = decode(PointerRecord, entry.value, subject=POINTER) if entry.is_live else None
        return _Found(pointer=pointer, revision=entry.revision)


def activation_of(entry: Entry) -> Activation:
    """The activation a pointer entry states.

    Raises:
        CorruptRecord: it cannot be decoded.
    """
    return _activation(decode(PointerRecord, entry.value, subject=POINTER), entry.revision)


def _check(revision_id: str, expect: str | None, expect_absent: bool) -> None:
    _check_revision(revision_id, operation="activate")
    if expect is not None and expect_absent:
        msg = "an activation expects a revision or none at all, not both"
        raise InvalidRequest(msg, operation="activate", subject=revision_id)
    if expect is not None and not expect.strip():
        msg = "an expectation names a revision; leave it out to expect nothing"
        raise InvalidRequest(msg, operation="activate", subject=revision_id)


def _check_revision(revision_id: str, *, operation: str) -> None:
    if not revision_id.strip():
        msg = "a revision id is required"
        raise InvalidRequest(msg, operation=operation)


def _pointer(revision_id: str, at: Instant, summary: str, origin: Origin) -> PointerRecord:
    return PointerRecord(
        revision_id=revision_id,
        at=at,
        summary=summary,
        author=origin.author,
        author_kind=origin.author_kind,
        source=origin.source,
        created_at=set_or_none(origin.created_at),
    )


def _activation(pointer: PointerRecord, revision: Revision) -> Activation:
    return Activation(
        revision_id=pointer.revision_id,
        epoch=Epoch(revision),
        at=pointer.at,
        summary=pointer.summary,
        origin=Origin(
            author=pointer.author,
            author_kind=pointer.author_kind,
            source=pointer.source,
            created_at=set_or_none(pointer.created_at),
        ),
    )


def _activations(listed: Listed) -> tuple[Activation, ...]:
    return tuple(activation_of(entry) for entry in listed.entries)


def _event_of(entry: Entry) -> Change[Activation] | Cleared[str]:
    if not entry.is_live:
        return Cleared(name=POINTER, revision=entry.revision, at=entry.written_at)
    return Change(item=activation_of(entry), revision=entry.revision, at=entry.written_at)


def _raced(standing: str, *, what: str) -> ActivationRaced:
    msg = f"{what}: {standing or 'nothing'} is active"
    return ActivationRaced(msg, standing=standing, subject=POINTER)
