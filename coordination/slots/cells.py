"""The plain record slot over a bucket. As `contract.cells`."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, override

import msgspec

from coordination.contract.answers import NO_REVISION, Absent, Answer, Conflict, Revision, Written
from coordination.contract.bucket import Bucket, Entry, Operation
from coordination.contract.cells import (
    Cell,
    Cells,
    Created,
    Drop,
    Exists,
    Judge,
    Leave,
    Name,
    Removed,
    Replace,
    Replaced,
)
from coordination.contract.records import decode, encode
from coordination.errors import InvalidRequest
from coordination.rules.keys import key_of, names_of
from coordination.slots.create import create
from coordination.slots.listed import decoded
from coordination.slots.rounds import worn_out

ROUNDS: Final = 16  # lost races a change takes before it gives up as unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing[R: msgspec.Struct]:
    """How a slot files its records.

    Attributes:
        kind: the record.
        what: what its records are called, for errors and logs, such as `mailboxes`.
        key_class: the literal its keys begin with, where the bucket is shared; else empty.
        segments: how many names a record is filed under.
        is_strict: whether a record that cannot be decoded fails a listing instead of being skipped.
        removal: the marker a removal leaves; None is a purge in a bucket that forgets nothing and
            a delete in one with an age.
    """

    kind: type[R]
    what: str
    key_class: str = ""
    segments: int = 1
    is_strict: bool = False
    removal: Operation | None = None


class CellSlot[R: msgspec.Struct](Cells[R]):
    """Every verb."""

    def __init__(self, bucket: Bucket, filing: Filing[R], log: logging.Logger) -> None:
        self._bucket = bucket
        self._filing = filing
        self._class = (filing.key_class,) if filing.key_class else ()
        ageless = Operation.PURGE if bucket.age is None else Operation.DELETE
        self._removal = filing.removal or ageless
        self._log = log

    @override
    async def create(self, name: Name, record: R) -> Created | Exists[R]:
        key = self._key(name)
        answer = await create(self._bucket, key, self._body(record, key))
        if isinstance(answer, Entry):
            return Exists(cell=self._cell(name, answer))
        return Created(version=answer.revision)

    @override
    async def read(self, name: Name) -> Cell[R] | Absent:
        entry = await self._bucket.read(self._key(name))
        return self._standing(name, entry)

    @override
    async def put(self, name: Name, record: R) -> Written:
        key = self._key(name)
        return await self._bucket.put(key, self._body(record, key))

    @override
    async def update(self, name: Name, record: R, version: Revision) -> Written | Conflict:
        key = self._key(name)
        body = self._body(record, key)
        if version == NO_REVISION:
            return Conflict()
        return await self._bucket.update(key, body, version)

    @override
    async def change[A: Answer](self, name: Name, judge: Judge[R, A]) -> Replaced[R] | Removed | A:
        key = self._key(name)
        for _ in range(ROUNDS):
            entry = await self._bucket.read(key)
            standing = self._standing(name, entry)
            at = entry.revision if isinstance(entry, Entry) else NO_REVISION
            match judge(standing):
                case Leave(answer=answer):
                    return answer
                case Replace(record=record):
                    written = await self._bucket.update(key, self._body(record, key), at)
                    if isinstance(written, Written):
                        return Replaced(record=record, version=written.revision)
                case Drop():
                    if isinstance(standing, Absent):
                        return Removed()
                    if isinstance(await self._bucket.remove(key, self._removal, at), Written):
                        return Removed()
        raise worn_out(operation="change", subject=f"{self._bucket.name}/{key}", rounds=ROUNDS)

    @override
    async def remove(self, name: Name, version: Revision) -> Removed | Conflict:
        answer = await self._bucket.remove(self._key(name), self._removal, version)
        return answer if isinstance(answer, Conflict) else Removed()

    @override
    async def discard(self, name: Name) -> Removed:
        await self._bucket.remove(self._key(name), self._removal)
        return Removed()

    @override
    async def list(self, *, under: Name = ()) -> tuple[Cell[R], ...]:
        if len(under) >= self._filing.segments:
            msg = f"{under!r} is no class of {self._filing.what}: it names one of them at most"
            raise InvalidRequest(msg, operation="list", subject=self._filing.what)
        first = (*self._class, *under)
        key_filter = f"{key_of(*first)}.>" if first else ">"
        listed = await self._bucket.listing(key_filter, what=self._filing.what)
        if self._filing.is_strict:
            return tuple(self._strictly(listed.entries))
        return tuple(decoded(listed.entries, self._cell_of, bucket=self._bucket, log=self._log))

    def _strictly(self, entries: Iterable[Entry]) -> Iterable[Cell[R]]:
        return (cell for cell in map(self._cell_of, entries) if cell is not None)

    def _cell_of(self, entry: Entry) -> Cell[R] | None:
        names = names_of(entry.key)
        first = len(self._class)
        if names is None or names[:first] != self._class:
            return None
        name = names[first:]
        return self._cell(name, entry) if len(name) == self._filing.segments else None

    def _standing(self, name: Name, entry: Entry | Absent) -> Cell[R] | Absent:
        if isinstance(entry, Absent) or not entry.is_live:
            return Absent()
        return self._cell(name, entry)

    def _cell(self, name: Name, entry: Entry) -> Cell[R]:
        record = decode(self._filing.kind, entry.value, subject=entry.key)
        return Cell(name=name, record=record, version=entry.revision, at=entry.written_at)

    def _key(self, name: Name) -> str:
        if len(name) != self._filing.segments:
            msg = f"{self._filing.what} are filed under {self._filing.segments} name(s): {name!r}"
            raise InvalidRequest(msg, subject=self._filing.what)
        return key_of(*self._class, *name)

    def _body(self, record: R, key: str) -> bytes:
        return encode(record, subject=f"{self._bucket.name}/{key}")
