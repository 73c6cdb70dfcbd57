"""What each node applied, over the `status` bucket. As `contract.status`."""

import logging
from typing import override

from coordination.contract.answers import Epoch, NodeId, Written
from coordination.contract.bucket import Bucket, Entry, Listed
from coordination.contract.records import StatusRecord, decode, encode
from coordination.contract.status import ERROR_CHARACTERS, ConfigStatus, Statuses
from coordination.contract.watch import Change, Cleared, Watch
from coordination.errors import InvalidRequest
from coordination.rules.keys import key_of, names_of
from coordination.slots.listed import decoded
from coordination.slots.watching import open_watch


class StatusSlot(Statuses):
    """Every status verb."""

    def __init__(self, bucket: Bucket, log: logging.Logger) -> None:
        self._bucket = bucket
        self._log = log

    @override
    async def report(self, status: ConfigStatus) -> Written:
        if not status.status.strip():
            msg = f"the report of node {status.node} says nothing: a status is required"
            raise InvalidRequest(msg, operation="report", subject=status.node)
        record = StatusRecord(
            epoch=status.epoch,
            revision_id=status.revision_id,
            status=status.status,
            error=cut_error(status.error),
            updated_at=status.updated_at,
        )
        body = encode(record, subject=f"the status of node {status.node}")
        return await self._bucket.put(key_of(status.node), body)

    @override
    async def list(self) -> tuple[ConfigStatus, ...]:
        listed = await self._bucket.listing(">", what="node statuses")
        rows = sorted(self._read(listed), key=lambda row: row.node)
        return tuple(sorted(rows, key=lambda row: row.updated_at, reverse=True))

    @override
    async def watch(self) -> Watch[ConfigStatus, str]:
        what = "node statuses"
        source = await self._bucket.watch(">", what=what)
        return await open_watch(source, self._read, self._event_of, what=what)

    def _read(self, listed: Listed) -> tuple[ConfigStatus, ...]:
        return tuple(decoded(listed.entries, _status_of, bucket=self._bucket, log=self._log))

    def _event_of(self, entry: Entry) -> Change[ConfigStatus] | Cleared[str] | None:
        names = names_of(entry.key)
        if names is not None and len(names) == 1 and not entry.is_live:
            return Cleared(name=names[0], revision=entry.revision, at=entry.written_at)
        for row in decoded((entry,), _status_of, bucket=self._bucket, log=self._log):
            return Change(item=row, revision=entry.revision, at=entry.written_at)
        return None


def cut_error(text: str) -> str:
    """An error text short enough to keep, ending in an ellipsis where it was cut."""
    return text if len(text) <= ERROR_CHARACTERS else text[: ERROR_CHARACTERS - 1] + "…"


def _status_of(entry: Entry) -> ConfigStatus | None:
    names = names_of(entry.key)
    if names is None or len(names) != 1:
        return None
    record = decode(StatusRecord, entry.value, subject=entry.key)
    return ConfigStatus(
        node=NodeId(names[0]),
        epoch=Epoch(record.epoch),
        status=record.status,
        updated_at=record.updated_at,
        revision_id=record.revision_id,
        error=record.error,
    )
