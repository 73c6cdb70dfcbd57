"""Finding a bucket's removal markers, and removing one through its own revision.

The client library's own sweep is not used: it purges a key whole, so a record created again in
between would go with its marker. Source: coordination.txt, "Removal markers are swept".
"""

import asyncio

import msgspec

from coordination.contract.answers import Revision
from coordination.contract.bucket import Entry
from coordination.errors import Unavailable
from coordination.jetstream.broker import ApiReply, Broker
from coordination.jetstream.ordered import PASS_BEAT, Beat, OrderedConsumer
from coordination.jetstream.reads import stream_of, subject_of
from coordination.rules.instants import Instant
from coordination.rules.listing import QUIET


class PurgeReply(ApiReply, frozen=True):
    """The answer to `STREAM.PURGE`."""

    success: bool = False
    purged: int = 0


async def pass_markers(broker: Broker, bucket: str, *, before: Instant) -> tuple[Entry, ...]:
    """The markers of one pass written before an instant, sorted by key.

    Nothing certifies the pass: a marker it misses is swept another time, and one that was
    overwritten since is left alone by `purge_through`. It ends where the broker said that there is
    no more, or once nothing was delivered for `QUIET`.

    Raises:
        Unavailable: the pass could not be begun, or broke.
    """
    consumer = OrderedConsumer(
        broker, bucket, ">", beat=PASS_BEAT, operation="sweep of removal markers: ordered pass"
    )
    found: dict[str, Entry] = {}
    loop = asyncio.get_running_loop()
    try:
        await consumer.open()
        received = 0
        ends = loop.time() + QUIET.total_seconds()
        while received < consumer.initial:
            item = await consumer.next(ends)
            if item is None:
                break
            if isinstance(item, Beat):
                continue
            received += 1
            ends = loop.time() + QUIET.total_seconds()
            if item.entry.is_live:
                found.pop(item.entry.key, None)
            elif item.entry.written_at < before:
                found[item.entry.key] = item.entry
            if item.pending == 0:
                break
    finally:
        await consumer.close()
    return tuple(found[key] for key in sorted(found))


async def purge_through(broker: Broker, bucket: str, key: str, revision: Revision) -> int:
    """Remove a key's messages up to a revision; how many the broker says it removed.

    Raises:
        Unavailable: the broker did not say that it did.
    """
    operation = "sweep of a removal marker"
    payload = msgspec.json.encode({"filter": subject_of(bucket, key), "seq": revision + 1})
    verb = f"STREAM.PURGE.{stream_of(bucket)}"
    reply = await broker.demand(verb, PurgeReply, payload, operation=operation, subject=bucket)
    if not reply.success:
        msg = f"{operation} of {bucket}/{key}: the broker's answer is neither success nor error"
        raise Unavailable(msg, operation=operation, subject=bucket)
    return reply.purged
