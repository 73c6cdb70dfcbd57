"""A certified listing whose consumer goes on: nothing falls between the answer and the changes.

Source: coordination.txt, "The one watch the store hands its callers".
"""

from collections.abc import AsyncIterator
from typing import Self

from coordination.contract.answers import Revision
from coordination.contract.bucket import Entry, Listed
from coordination.contract.watch import Heard
from coordination.jetstream.broker import Broker
from coordination.jetstream.listing import open_listing
from coordination.jetstream.ordered import WATCH_BEAT, Beat, OrderedConsumer


class KvWatch:
    """An open watch of one bucket; it ends by `Unavailable` or `close`, never by itself."""

    def __init__(self, listed: Listed, consumer: OrderedConsumer) -> None:
        self._listed = listed
        self._consumer = consumer
        self._seen = dict(listed.seen)

    @classmethod
    async def open(cls, broker: Broker, bucket: str, key_filter: str, *, what: str) -> Self:
        """List, and keep the consumer.

        Raises:
            Unavailable: the listing failed; nothing is left open.
        """
        listed, consumer = await open_listing(
            broker, bucket, key_filter, what=what, beat=WATCH_BEAT, keep=True
        )
        consumer.operation = f"watch of {what}"
        return cls(listed, consumer)

    @property
    def listed(self) -> Listed:
        """The first answer."""
        return self._listed

    @property
    def reached(self) -> Revision:
        """How far the broker has looked through the stream for it, as far as was taken.

        A consumer goes through the stream in order, and a heartbeat says how far where nothing is
        left to deliver: messages that were removed hold nobody up for longer than one beat.
        """
        return self._consumer.reached

    async def events(self) -> AsyncIterator[Entry | Heard]:
        """Entries newer than what was handed over for their key, markers included, and beats.

        Raises:
            Unavailable: the link was lost, or the consumer is gone, mute or out of order.
        """
        while True:
            item = await self._consumer.next()
            if item is None and self._consumer.is_closed:
                return
            if item is None:
                continue
            if isinstance(item, Beat):
                yield Heard()
                continue
            entry = item.entry
            if entry.revision <= self._seen.get(entry.key, 0):
                yield Heard()  # the listing held it already, or a newer one
                continue
            self._seen.pop(entry.key, None)
            yield entry

    async def close(self) -> None:
        """Delete the consumer. Safe to call twice."""
        await self._consumer.close()
