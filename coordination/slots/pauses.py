"""Seat pauses over the `positions` bucket, key class `seat_pause`. As `contract.pauses`.

An operation's `request_id` is its message id, so the broker writes it once in two minutes however
often it is sent. A duplicate answer is therefore success, once the leader shows that the write it
names was on this key: the same id used for another operation is the caller's bug.
"""

import logging
from typing import Final, override

from coordination.contract.answers import NO_REVISION, Absent, Conflict, Revision, Written
from coordination.contract.bucket import Bucket, Entry, Listed, Operation
from coordination.contract.pauses import Created, Exists, Lifted, Pause, Pauses
from coordination.contract.records import PauseRecord, decode, encode
from coordination.contract.watch import Change, Cleared, Watch
from coordination.errors import CorruptRecord, InvalidRequest
from coordination.rules.instants import set_or_none
from coordination.rules.keys import key_of, names_of
from coordination.slots.create import create
from coordination.slots.watching import open_watch

PAUSE_CLASS: Final = "seat_pause"
_FILTER: Final = f"{PAUSE_CLASS}.>"
_WHAT: Final = "seat pauses"


class PauseSlot(Pauses):
    """Every pause verb."""

    def __init__(self, bucket: Bucket, log: logging.Logger) -> None:
        self._bucket = bucket
        self._log = log

    @override
    async def create(self, pause: Pause) -> Created | Exists:
        key, body = _checked(pause)
        answer = await create(self._bucket, key, body, message_id=pause.request_id)
        if isinstance(answer, Entry):
            return _standing(answer, pause.request_id)
        if not answer.duplicate:
            return Created(version=answer.revision)
        newest = await self._landed(key, answer.revision, after=NO_REVISION)
        if newest.is_live:
            return _standing(newest, pause.request_id)
        return Created(version=answer.revision)

    @override
    async def amend(self, pause: Pause, version: Revision) -> Written | Conflict:
        key, body = _checked(pause)
        if version == NO_REVISION:
            return Conflict()
        answer = await self._bucket.update(key, body, version, message_id=pause.request_id)
        if isinstance(answer, Written) and answer.duplicate:
            await self._landed(key, answer.revision, after=version)
        return answer

    @override
    async def lift(
        self, handle: str, version: Revision, *, request_id: str = ""
    ) -> Lifted | Conflict:
        key = _key(handle)
        if version == NO_REVISION:
            return Conflict()
        answer = await self._bucket.remove(key, Operation.PURGE, version, message_id=request_id)
        if isinstance(answer, Conflict):
            return answer
        if answer.duplicate:
            await self._landed(key, answer.revision, after=version)
        return Lifted()

    @override
    async def get(self, handle: str) -> Pause | Absent:
        entry = await self._bucket.read(_key(handle))
        return pause_of(entry) if isinstance(entry, Entry) and entry.is_live else Absent()

    @override
    async def list(self) -> tuple[Pause, ...]:
        return _collect(await self._bucket.listing(_FILTER, what=_WHAT))

    @override
    async def watch(self) -> Watch[Pause, str]:
        source = await self._bucket.watch(_FILTER, what=_WHAT)
        return await open_watch(source, _collect, self._event_of, what=_WHAT)

    def _event_of(self, entry: Entry) -> Change[Pause] | Cleared[str] | None:
        handle = handle_of(entry.key)
        if handle is None:
            return None
        if not entry.is_live:
            return Cleared(name=handle, revision=entry.revision, at=entry.written_at)
        try:
            item = pause_of(entry)
        except CorruptRecord as fault:
            self._log.warning("seat_pause_undecodable handle=%s error=%r", handle, fault)
            raise
        return Change(item=item, revision=entry.revision, at=entry.written_at)

    async def _landed(self, key: str, acknowledged: Revision, *, after: Revision) -> Entry:
        """The newest message on a key that a duplicate answer says was written at a revision."""
        newest = await self._bucket.read(key)
        if acknowledged > after and isinstance(newest, Entry) and newest.revision >= acknowledged:
            return newest
        msg = f"this request id was used for another operation than the one on {key}"
        raise InvalidRequest(msg, operation="pause", subject=key)


def handle_of(key: str) -> str | None:
    """The seat a pause key is filed under; None when the key is no pause's."""
    names = names_of(key)
    return names[1] if names is not None and len(names) == 2 and names[0] == PAUSE_CLASS else None


def pause_of(entry: Entry) -> Pause:
    """The pause in a live entry; its handle is the key's.

    Raises:
        CorruptRecord: it cannot be decoded.
    """
    record = decode(PauseRecord, entry.value, subject=entry.key)
    return Pause(
        handle=handle_of(entry.key) or record.handle,
        by=record.by,
        at=record.at,
        reason=record.reason,
        stop_running=record.stop_running,
        operator_id=record.operator_id,
        seat=record.seat,
        request_id=record.request_id,
        review_by=set_or_none(record.review_by),
        revision=entry.revision,
    )


def _collect(listed: Listed) -> tuple[Pause, ...]:
    return tuple(pause_of(entry) for entry in listed.entries if handle_of(entry.key) is not None)


def _standing(entry: Entry, request_id: str) -> Created | Exists:
    standing = pause_of(entry)
    if request_id and standing.request_id == request_id:
        return Created(version=entry.revision)
    return Exists(pause=standing, version=entry.revision)


def _key(handle: str) -> str:
    return key_of(PAUSE_CLASS, handle)


def _checked(pause: Pause) -> tuple[str, bytes]:
    """A pause's key and bytes, once it names a seat, an author and an instant."""
    key = _key(pause.handle)
    if not pause.by.strip():
        msg = f"the pause of {pause.handle} names no author"
        raise InvalidRequest(msg, operation="pause", subject=pause.handle)
    if set_or_none(pause.at) is None:
        msg = f"the pause of {pause.handle} has no instant"
        raise InvalidRequest(msg, operation="pause", subject=pause.handle)
    record = PauseRecord(
        handle=pause.handle,
        by=pause.by,
        operator_id=pause.operator_id,
        seat=pause.seat,
        reason=pause.reason,
        stop_running=pause.stop_running,
        at=pause.at,
        request_id=pause.request_id,
        review_by=set_or_none(pause.review_by),
    )
    return key, encode(record, subject=f"the pause of {pause.handle}")
