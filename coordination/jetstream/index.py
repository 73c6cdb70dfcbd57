"""What the stream's leader says about its stream: clock, settings, and the index of its keys.

Source: coordination.txt, "So every listing also reads the stream's per-subject index" and "An index
read while the stream has no leader is refused rather than trusted".
"""

from dataclasses import dataclass

import msgspec

from coordination.contract.answers import NO_REVISION, Revision
from coordination.contract.bucket import Position
from coordination.errors import Unavailable
from coordination.jetstream.broker import ApiReply, Broker
from coordination.jetstream.reads import stream_of, told_instant
from coordination.rules.instants import Instant


class ClusterInfo(msgspec.Struct, frozen=True):
    """Who keeps the stream; absent where the broker has no peers."""

    leader: str = ""


class StreamConfig(msgspec.Struct, frozen=True):
    """The settings that are read back; spans in nanoseconds, 0 for none."""

    name: str = ""
    max_age: int = 0
    num_replicas: int = 1


class StreamState(msgspec.Struct, frozen=True):
    """How far its writes have come; how many messages each subject has, where that was asked."""

    messages: int = 0
    last_seq: int = 0
    subjects: dict[str, int] = {}


class StreamInfo(ApiReply, frozen=True):
    """The answer to `STREAM.INFO`."""

    config: StreamConfig = StreamConfig()
    state: StreamState = StreamState()
    cluster: ClusterInfo | None = None
    ts: str = ""
    total: int = 0

    @property
    def is_led(self) -> bool:
        """Whether the answer is a leader's; a broker without peers names none."""
        return self.cluster is None or bool(self.cluster.leader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Every key the leader holds under a filter, and the broker's clock when it said so."""

    keys: frozenset[str]
    as_of: Instant


async def read_info(
    broker: Broker, bucket: str, *, operation: str, payload: bytes = b""
) -> StreamInfo:
    """The leader's word on a bucket's stream.

    Raises:
        Unavailable: nobody answered, the stream is not there, or it has no leader.
    """
    verb = f"STREAM.INFO.{stream_of(bucket)}"
    info = await broker.demand(verb, StreamInfo, payload, operation=operation, subject=bucket)
    if not info.is_led:
        msg = f"{operation} of {bucket}: the stream has no leader"
        raise Unavailable(msg, operation=operation, subject=bucket)
    return info


async def read_clock(broker: Broker, bucket: str, *, operation: str) -> Instant:
    """The broker's clock, from a bucket's stream.

    Raises:
        Unavailable: as for `read_info`, or the answer carries no time.
    """
    info = await read_info(broker, bucket, operation=operation)
    return told_instant(info.ts, operation=operation, subject=bucket)


async def read_position(broker: Broker, bucket: str, *, operation: str) -> Position:
    """How far a bucket's writes have come, and the broker's clock.

    Raises:
        Unavailable: as for `read_clock`.
    """
    info = await read_info(broker, bucket, operation=operation)
    return Position(
        last_sequence=Revision(info.state.last_seq) if info.state.messages else NO_REVISION,
        now=told_instant(info.ts, operation=operation, subject=bucket),
    )


async def read_index(broker: Broker, bucket: str, key_filter: str, *, operation: str) -> Index:
    """Every key under a filter.

    Complete up to the broker's page, 100,000 keys. Beyond it the pages are read by offset into a
    list the broker sorts anew for each, so a key removed between two pages may hide another.

    Args:
        broker: the connection.
        bucket: whose keys.
        key_filter: `>` or `<class>.>`.
        operation: the listing this is for, named in errors.

    Raises:
        Unavailable: a page could not be read from a leader.
    """
    plain = await read_info(broker, bucket, operation=operation)
    prefix = f"$KV.{bucket}."
    keys: set[str] = set()
    offset = 0
    while True:
        payload = msgspec.json.encode({"subjects_filter": prefix + key_filter, "offset": offset})
        page = await read_info(broker, bucket, operation=operation, payload=payload)
        for subject in page.state.subjects:
            if not subject.startswith(prefix):
                msg = f"{operation} of {bucket}: its key index names {subject}"
                raise Unavailable(msg, operation=operation, subject=bucket)
            keys.add(subject[len(prefix) :])
        offset += len(page.state.subjects)
        if not page.state.subjects or offset >= page.total:
            as_of = told_instant(plain.ts, operation=operation, subject=bucket)
            return Index(keys=frozenset(keys), as_of=as_of)
