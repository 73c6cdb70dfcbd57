"""The bucket port on JetStream."""

from datetime import timedelta
from typing import override

from coordination.contract.answers import Absent, Conflict, Revision, Written
from coordination.contract.bucket import Bucket, Entry, Listed, Operation, Position
from coordination.errors import InvalidRequest
from coordination.jetstream.broker import Broker
from coordination.jetstream.index import read_clock, read_position
from coordination.jetstream.listing import list_certified
from coordination.jetstream.markers import pass_markers, purge_through
from coordination.jetstream.reads import OPERATION_HEADER, read_at, read_last
from coordination.jetstream.watch import KvWatch
from coordination.jetstream.writes import Draft, write
from coordination.rules.instants import Instant
from coordination.rules.keys import names_of

_MARKS = {
    Operation.DELETE: ((OPERATION_HEADER, "DEL"),),
    Operation.PURGE: ((OPERATION_HEADER, "PURGE"), ("Nats-Rollup", "sub")),
}


class KvBucket(Bucket):
    """One bucket over the process's connection. Made by `coordination.jetstream.buckets`."""

    def __init__(self, broker: Broker, name: str, age: timedelta | None) -> None:
        self._broker = broker
        self._name = name
        self._age = age

    @property
    @override
    def name(self) -> str:
        """The whole bucket name."""
        return self._name

    @property
    @override
    def age(self) -> timedelta | None:
        """The retention in force when it was opened; None when it forgets nothing."""
        return self._age

    @override
    async def read(self, key: str) -> Entry | Absent:
        """The newest message on a key, a marker included. Cost: one leader read."""
        return await read_last(self._broker, self._name, key, operation="read")

    @override
    async def read_revision(self, key: str, revision: Revision) -> Entry | Absent:
        """That very message. Cost: one leader read."""
        return await read_at(self._broker, self._name, key, revision, operation="read")

    @override
    async def put(self, key: str, value: bytes, *, message_id: str = "") -> Written:
        """Write whatever stands there. Cost: one write."""
        draft = Draft(
            bucket=self._name, key=key, value=value, operation="put", message_id=message_id
        )
        return _unconditional(await write(self._broker, draft))

    @override
    async def put_beside(
        self, key: str, value: bytes, *, other: str, expected: Revision
    ) -> Written | Conflict:
        """Write while another key stands at `expected`. Cost: one write."""
        draft = Draft(
            bucket=self._name,
            key=key,
            value=value,
            operation="put",
            expected=expected,
            expected_on=other,
        )
        return await write(self._broker, draft)

    @override
    async def update(
        self, key: str, value: bytes, expected: Revision, *, message_id: str = ""
    ) -> Written | Conflict:
        """Write only over `expected`; 0 means that nothing stands there.

        Cost: one write; one leader read more for a message with an id that loses the comparison.
        """
        draft = Draft(
            bucket=self._name,
            key=key,
            value=value,
            operation="update",
            expected=expected,
            message_id=message_id,
        )
        return await write(self._broker, draft)

    @override
    async def remove(
        self,
        key: str,
        operation: Operation,
        expected: Revision | None = None,
        *,
        message_id: str = "",
    ) -> Written | Conflict:
        """Leave a marker. Cost: one write; none for `expected` 0, which is always a conflict.

        Raises:
            InvalidRequest: the operation leaves no marker.
        """
        if operation not in _MARKS:
            msg = f"{operation} removes nothing"
            raise InvalidRequest(msg, operation="remove", subject=self._name)
        if expected == 0:
            return Conflict()
        draft = Draft(
            bucket=self._name,
            key=key,
            value=b"",
            operation="remove",
            expected=expected,
            message_id=message_id,
            headers=_MARKS[operation],
        )
        return await write(self._broker, draft)

    @override
    async def listing(self, key_filter: str, *, what: str) -> Listed:
        """Every key live throughout, or `Unavailable` naming `what`."""
        return await list_certified(self._broker, self._name, _checked(key_filter), what=what)

    @override
    async def watch(self, key_filter: str, *, what: str) -> KvWatch:
        """A certified listing whose consumer stays open."""
        return await KvWatch.open(self._broker, self._name, _checked(key_filter), what=what)

    @override
    async def markers(self, *, before: Instant) -> tuple[Entry, ...]:
        """The markers written before an instant. Cost: one pass."""
        return await pass_markers(self._broker, self._name, before=before)

    @override
    async def purge_through(self, key: str, revision: Revision) -> int:
        """Remove a key's messages up to a revision. Cost: one request."""
        return await purge_through(self._broker, self._name, key, revision)

    @override
    async def now(self) -> Instant:
        """The broker's clock. Cost: one request to this stream's leader."""
        return await read_clock(self._broker, self._name, operation="clock")

    @override
    async def position(self) -> Position:
        """The last write and the clock. Cost: one request to this stream's leader."""
        return await read_position(self._broker, self._name, operation="position")


def _unconditional(answer: Written | Conflict) -> Written:
    if isinstance(answer, Conflict):
        msg = "the broker compared a write that carried no expectation"
        raise InvalidRequest(msg, operation="put")
    return answer


def _checked(key_filter: str) -> str:
    if key_filter != ">" and names_of(key_filter.removesuffix(".>")) is None:
        msg = f"{key_filter!r} is no key filter: >, a class followed by .>, or one whole key"
        raise InvalidRequest(msg, operation="list")
    return key_filter
