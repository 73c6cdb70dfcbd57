"""The certified listing: one ordered pass, and the leader's index to check it against.

Either every key that was live throughout, or `Unavailable`; never a shorter list. The index read
starts first and runs beside the pass. Cost: two requests for the index, one consumer made and
deleted, and one leader read for each key the pass lost or delivered as a marker.
Source: coordination.txt, "A listing is one ordered pass, certified against the stream's own key
index", "A pass can also stop short and never end".
"""

import asyncio
from datetime import timedelta

from coordination.contract.answers import Absent
from coordination.contract.bucket import Entry, Listed
from coordination.jetstream.broker import Broker
from coordination.jetstream.index import Index, read_index
from coordination.jetstream.ordered import PASS_BEAT, Beat, OrderedConsumer
from coordination.jetstream.reads import read_last
from coordination.rules.listing import QUIET, keys_to_read


async def list_certified(broker: Broker, bucket: str, key_filter: str, *, what: str) -> Listed:
    """Every key live throughout.

    Args:
        broker: the connection.
        bucket: what to list.
        key_filter: `>` or `<class>.>`.
        what: the listing's name for errors.

    Raises:
        Unavailable: any step failed; it names the listing and the step.
    """
    listed, _ = await open_listing(
        broker, bucket, key_filter, what=what, beat=PASS_BEAT, keep=False
    )
    return listed


async def open_listing(
    broker: Broker, bucket: str, key_filter: str, *, what: str, beat: timedelta, keep: bool
) -> tuple[Listed, OrderedConsumer]:
    """A certified listing and the consumer it came from.

    Args:
        broker: the connection.
        bucket: what to list.
        key_filter: `>` or `<class>.>`.
        what: the listing's name for errors.
        beat: how often the idle broker says that it is there.
        keep: leave the consumer open for the changes that follow; else it is deleted already.

    Raises:
        Unavailable: any step failed; nothing is left open.
    """
    index = asyncio.ensure_future(
        read_index(
            broker, bucket, key_filter, operation=f"listing of {what} ended early: key index"
        )
    )
    consumer = OrderedConsumer(
        broker,
        bucket,
        key_filter,
        beat=beat,
        operation=f"listing of {what} ended early: ordered pass",
    )
    kept = False
    try:
        await consumer.open()
        found = await _pass(consumer, index)
        if not keep:
            await consumer.close()
        listed = await _certify(broker, bucket, found, await index, what)
        kept = keep
    finally:
        if not index.done():
            index.cancel()
            await asyncio.wait({index})
        if not index.cancelled():
            index.exception()
        if not kept:
            consumer.abandon()
    return listed, consumer


async def _pass(
    consumer: OrderedConsumer, index: "asyncio.Future[Index]", quiet: timedelta = QUIET
) -> dict[str, Entry]:
    """The newest delivery of each key, markers included.

    It ends where the broker said that there is no more, which is a guess, or when the index has
    answered and nothing was delivered for `quiet` since.
    """
    found: dict[str, Entry] = {}
    received = 0
    loop = asyncio.get_running_loop()
    index.add_done_callback(lambda _: consumer.nudge())
    ends: float | None = None
    while received < consumer.initial:
        if index.done() and ends is None:
            if index.cancelled() or index.exception() is not None:
                break  # the index's own error is the answer
            ends = loop.time() + quiet.total_seconds()
        item = await consumer.next(ends)
        if item is None or isinstance(item, Beat):
            if ends is not None and loop.time() >= ends:
                break
            continue
        received += 1
        if ends is not None:
            ends = loop.time() + quiet.total_seconds()
        found[item.entry.key] = item.entry
        if item.pending == 0:
            break
    return found


async def _certify(
    broker: Broker, bucket: str, found: dict[str, Entry], index: Index, what: str
) -> Listed:
    passed = {key: entry.is_live for key, entry in found.items()}
    for key in keys_to_read(index.keys, passed):
        entry = await read_last(
            broker, bucket, key, operation=f"listing of {what} ended early: certifying read"
        )
        if isinstance(entry, Absent):
            continue
        if key not in found or entry.revision > found[key].revision:
            found[key] = entry
    return Listed(
        entries=tuple(found[key] for key in sorted(found) if found[key].is_live),
        seen={key: entry.revision for key, entry in found.items()},
        as_of=index.as_of,
    )
