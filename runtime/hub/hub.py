"""The hub: every topic of a process followed once, read by views and fanned out to sockets."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from coordination.contract.answers import Absent
from coordination.contract.config import Activation
from coordination.contract.store import Store
from runtime.hub import topics
from runtime.hub.following import RELIST_EVERY, Follower
from runtime.hub.notices import Notice, State, Subscribers, Subscription
from runtime.link import Link, Source, SourceState
from runtime.probe import Probe
from runtime.reading import Known, Reading, Unknown

FIRST_ANSWER_WITHIN: Final = 2.5  # seconds the first readers of a young process wait


class Followed(Protocol):
    """What the hub asks of every follower, whatever its records are."""

    has_answered: threading.Event

    @property
    def is_fresh(self) -> bool:
        """Whether its projection is the present answer."""

    @property
    def heard_at(self) -> datetime | None:
        """When its watch last said anything."""

    def judge_state(self) -> None:
        """Tell subscribers if it became known or unknown."""

    async def run(self) -> None:
        """Follow for ever."""


class Hub:
    """The topics over one store.

    Args:
        store: the process's store, opened on demand; raises `Unavailable`.
        relist_every: span between certified listings of a topic.
        follow: names of the topics to follow; the others stay unknown.
    """

    def __init__(
        self,
        store: Callable[[], Awaitable[Store]],
        *,
        relist_every: timedelta = RELIST_EVERY,
        follow: Collection[str] = topics.ALL,
    ) -> None:
        self._subscribers = Subscribers()
        self._link_rev = 0
        self._born = time.monotonic()
        self.probe = Probe(store, changed=self._note_link)

        def follower[T, K](topic: topics.Topic[T, K]) -> Follower[T, K]:
            return Follower(
                topic,
                store=store,
                probe=self.probe,
                publish=self._subscribers.offer,
                relist_every=relist_every,
            )

        self.nodes = follower(topics.nodes())
        self.seats = follower(topics.seats())
        self.pauses = follower(topics.pauses())
        self.pointer = follower(topics.activation())
        self.statuses = follower(topics.statuses())
        self.duties = follower(topics.duties())
        every: Mapping[str, Followed] = {
            topics.NODES: self.nodes,
            topics.SEATS: self.seats,
            topics.PAUSES: self.pauses,
            topics.ACTIVATION: self.pointer,
            topics.STATUSES: self.statuses,
            topics.DUTIES: self.duties,
        }
        self._all = {name: one for name, one in every.items() if name in follow}

    async def run(self) -> None:
        """Probe and follow for ever; on the loop thread."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.probe.run(), name="hub-probe")
            for name, follower in self._all.items():
                group.create_task(follower.run(), name=f"hub-{name}")

    def subscribe(self) -> Subscription:
        """Notices from now on, on the caller's running loop; close it when done."""
        return self._subscribers.add()

    def link(self) -> Link:
        """The probe's word and each watch's own; from any thread."""
        probe = self.probe
        return Link(
            up=probe.is_up,
            answered_at=probe.answered_at,
            since=probe.since,
            sources=tuple(
                Source(
                    name=name,
                    state=SourceState.LIVE if follower.is_fresh else SourceState.DOWN,
                    answered_at=follower.heard_at,
                )
                for name, follower in self._all.items()
            ),
        )

    def activation(self) -> Reading[Activation | Absent]:
        """The configuration pointer."""
        reading = self.pointer.reading()
        if isinstance(reading, Known):
            return _one_of(reading)
        last = _one_of(reading.last) if reading.last is not None else None
        return Unknown(reading.why, reading.since, last)

    def freshness(self, topic: str) -> Source:
        """One watch's own word.

        Raises:
            KeyError: there is no such topic.
        """
        follower = self._all[topic]
        state = SourceState.LIVE if follower.is_fresh else SourceState.DOWN
        return Source(name=topic, state=state, answered_at=follower.heard_at)

    @property
    def has_answered(self) -> bool:
        """Whether every topic has answered or failed once."""
        return all(follower.has_answered.is_set() for follower in self._all.values())

    def wait_for_answers(self) -> None:
        """Block until every topic has answered or failed once; on a thread without a loop.

        A process that has just started is not one that could not ask. Its first readers wait for
        it at most `FIRST_ANSWER_WITHIN` from its start.
        """
        ends = self._born + FIRST_ANSWER_WITHIN
        for follower in self._all.values():
            follower.has_answered.wait(max(0.0, ends - time.monotonic()))

    def _note_link(self) -> None:
        self._link_rev += 1
        state = State.KNOWN if self.probe.is_up else State.UNKNOWN
        self._subscribers.offer(Notice(topic=topics.LINK, rev=self._link_rev, state=state))
        for follower in self._all.values():
            follower.judge_state()


def _one_of(known: Known[tuple[Activation, ...]]) -> Known[Activation | Absent]:
    return Known(known.value[0] if known.value else Absent(), known.as_of)
