"""Following one topic: its watch, the leader reads that confirm it, the listings that certify it.

::

    watch ── Snapshot ──► projection replaced        (at open and after every gap)
      ├──── Change/Cleared ► projection at once ─► notice after 10 ms, leader read of that key
      └──── silence > 6.5 s, or Unavailable ─► not fresh; opened again after 0.2 to 2 s
    clock ── a deadline passed ─► leader read ─► gone only if the leader says so
    every 15 s ── certified listing ─► differences

What must stay true: nothing is removed because asking failed; a renewal is no news.
"""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable, Set
from datetime import UTC, datetime, timedelta
from typing import Final

from coordination.contract.answers import Absent
from coordination.contract.store import Store
from coordination.contract.watch import Change, Cleared, Event, Heard, Snapshot
from coordination.errors import Unavailable
from runtime.hub.notices import Notice, State
from runtime.hub.projection import Difference, Projection
from runtime.hub.topics import OVERDUE_AFTER, Topic
from runtime.probe import Probe
from runtime.reading import Known, Reading, Unknown

MUTE_AFTER: Final = 6.5  # seconds of a silent watch; the broker's heartbeat is two
OPEN_WITHIN: Final = 10.0
READ_WITHIN: Final = 5.0
AGAIN_FIRST: Final = 0.2  # seconds before a watch is opened again; doubles, jittered
AGAIN_MOST: Final = 2.0
COALESCE: Final = 0.01  # seconds a notice waits for others of its kind
LOOK_EVERY: Final = 0.5  # seconds between looks at deadlines and freshness
CONFIRM_MOST: Final = 256  # more keys to confirm than this and one listing is cheaper
RELIST_EVERY: Final = timedelta(seconds=15)
_OVERDUE_NANOS: Final = int(OVERDUE_AFTER.total_seconds() * 1e9)

_log = logging.getLogger("crewlet.hub")


class Follower[T, K]:
    """One topic of one process.

    Args:
        topic: what to follow.
        store: the process's store; raises `Unavailable`.
        probe: whether the store answers at all, and its clock.
        publish: takes each notice; on the loop.
        relist_every: span between certified listings while the watch is open.
    """

    def __init__(
        self,
        topic: Topic[T, K],
        *,
        store: Callable[[], Awaitable[Store]],
        probe: Probe,
        publish: Callable[[Notice], None],
        relist_every: timedelta = RELIST_EVERY,
    ) -> None:
        self.topic = topic
        self.projection: Projection[T] = Projection(topic.shape)
        self.has_answered = threading.Event()  # the first snapshot is there, or asking failed
        self._store, self._probe, self._publish = store, probe, publish
        self._relist_every = relist_every.total_seconds()
        self._started_at = datetime.now(UTC)
        self._heard_at: datetime | None = None
        self._heard = 0.0  # monotonic
        self._why = ""
        self._open = False
        self._state = State.UNKNOWN
        self._rev = 0
        self._changed: set[str] = set()
        self._appeared: set[str] = set()
        self._left: set[str] = set()
        self._flush_due: asyncio.TimerHandle | None = None
        self._doubted: dict[str, None] = {}  # keys to ask the leader about, in order
        self._has_doubts = asyncio.Event()
        self._touched: set[str] | None = None  # keys the watch told of while a listing runs
        self._listed = 0.0  # monotonic: the last certified listing
        self._late: set[str] = set()
        self._overdue: set[str] = set()

    # --- reading, from any thread ---------------------------------------------------------------

    @property
    def is_fresh(self) -> bool:
        """Whether the projection is the present answer."""
        is_heard = self._heard_at is not None and time.monotonic() - self._heard < MUTE_AFTER
        return is_heard and self._probe.is_up

    @property
    def heard_at(self) -> datetime | None:
        """When the watch last said anything."""
        return self._heard_at

    @property
    def is_quiet(self) -> bool:
        """Whether every difference has been told."""
        return self._flush_due is None

    def reading(self) -> Reading[tuple[T, ...]]:
        """The records, sorted by key, or that they are not known and what they were."""
        heard_at = self._heard_at
        is_fresh = self.is_fresh
        last = Known(self.projection.items(), heard_at) if heard_at is not None else None
        if is_fresh and last is not None:
            return last
        if not self._probe.is_up:
            return Unknown(self._probe.why, self._probe.since, last)
        why = self._why or f"the watch of {self.topic.name} is silent"
        return Unknown(why, heard_at or self._started_at, last)

    # --- the loops ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow for ever."""
        async with asyncio.TaskGroup() as group:
            for loop in (self._follow, self._confirm, self._relist, self._look):
                group.create_task(loop(), name=f"hub-{self.topic.name}-{loop.__name__}")

    async def _follow(self) -> None:
        again = AGAIN_FIRST
        while True:
            try:
                await self._follow_one_watch()
            except (Unavailable, TimeoutError) as unknown:
                if self._open:
                    again = AGAIN_FIRST
                self._note_ended(str(unknown) or f"the watch of {self.topic.name} is silent")
            await asyncio.sleep(random.uniform(AGAIN_FIRST, again))
            again = min(again * 2, AGAIN_MOST)

    async def _follow_one_watch(self) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(OPEN_WITHIN) as silence:
            store = await self._store()
            async with await self.topic.open(store) as watch:
                async for event in watch:
                    silence.reschedule(loop.time() + MUTE_AFTER)
                    self._take(event)
        msg = f"the watch of {self.topic.name} ended"
        raise Unavailable(msg, operation="watch", subject=self.topic.name)

    async def _confirm(self) -> None:
        while True:
            await self._has_doubts.wait()
            try:
                await self._ask_leader()
            except (Unavailable, TimeoutError) as unknown:
                _log.info("leader_read_failed topic=%s error=%s", self.topic.name, unknown)
                await asyncio.sleep(LOOK_EVERY)

    async def _relist(self) -> None:
        while True:
            due = self._listed + self._relist_every - time.monotonic()
            if due > 0 or not self._open:
                await asyncio.sleep(min(max(due, LOOK_EVERY), self._relist_every))
                continue
            try:
                await self._list()
            except (Unavailable, TimeoutError) as unknown:
                _log.info("listing_failed topic=%s error=%s", self.topic.name, unknown)
                await asyncio.sleep(LOOK_EVERY)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self.judge_state()
            now = self._probe.now()
            if self.is_fresh and now is not None:
                self._judge_deadlines(now.nanos)

    # --- taking what is told --------------------------------------------------------------------

    def _take(self, event: Event[T, K]) -> None:
        self._heard_at, self._heard = datetime.now(UTC), time.monotonic()
        shape = self.topic.shape
        match event:
            case Change(item=item):
                self._tell(self.projection.put(item), touched=shape.key(item), doubt=True)
            case Cleared(name=name, revision=revision):
                key = self.topic.key_of(name)
                self._tell(self.projection.drop(key, revision), touched=key, doubt=True)
            case Heard():
                pass
            case Snapshot(items=items):
                self._open, self._why, self._listed = True, "", time.monotonic()
                self._tell(self.projection.replace(items))
        if self._state is State.UNKNOWN:
            self.judge_state()

    def _note_ended(self, why: str) -> None:
        if self._open:
            _log.warning("watch_ended topic=%s why=%r", self.topic.name, why)
        self._open, self._why = False, why
        self._touched = None
        self.has_answered.set()

    def _tell(self, difference: Difference, *, touched: str = "", doubt: bool = False) -> None:
        if touched and self._touched is not None:
            self._touched.add(touched)
        keys = difference.keys
        if not keys:
            return
        if doubt and self.topic.get is not None:
            self._doubt(keys)
        self._changed |= difference.changed
        for key in difference.appeared:
            self._turn(key, self._appeared, self._left)
        for key in difference.left:
            self._late.discard(key)
            self._overdue.discard(key)
            self._turn(key, self._left, self._appeared)
        self._flush_soon()

    def _turn(self, key: str, into: set[str], out_of: set[str]) -> None:
        """Left and back within one notice is a change; appeared and gone again is nothing."""
        self._changed.discard(key)
        if key not in out_of:
            into.add(key)
            return
        out_of.discard(key)
        if into is self._appeared:
            self._changed.add(key)

    def _flush_soon(self) -> None:
        if self._flush_due is None:
            loop = asyncio.get_running_loop()
            self._flush_due = loop.call_later(COALESCE, self._flush)

    def _flush(self) -> None:
        self._flush_due = None
        changed = self._changed - self._appeared
        told = (tuple(sorted(keys)) for keys in (changed, self._appeared, self._left))
        keys, appeared, left = told
        self._changed, self._appeared, self._left = set(), set(), set()
        if keys or appeared or left:
            self._send(keys=keys, appeared=appeared, left=left)

    def _send(
        self,
        *,
        keys: tuple[str, ...] = (),
        appeared: tuple[str, ...] = (),
        left: tuple[str, ...] = (),
    ) -> None:
        self._rev += 1
        notice = Notice(
            topic=self.topic.name,
            rev=self._rev,
            state=self._state,
            keys=keys,
            appeared=appeared,
            left=left,
        )
        self._publish(notice)

    def judge_state(self) -> None:
        """Publish a notice if the projection became fresh or stopped being so; on the loop."""
        state = State.KNOWN if self.is_fresh else State.UNKNOWN
        if state is State.KNOWN or (self._probe.has_concluded and not self._probe.is_up):
            self.has_answered.set()
        if state is not self._state:
            self._state = state
            self._send()

    # --- asking the leader ----------------------------------------------------------------------

    def _doubt(self, keys: Set[str]) -> None:
        self._doubted.update(dict.fromkeys(keys))
        self._has_doubts.set()

    async def _ask_leader(self) -> None:
        if len(self._doubted) > CONFIRM_MOST:
            self._doubted.clear()
            await self._list()
        while self._doubted:
            key = next(iter(self._doubted))
            del self._doubted[key]
            await self._ask_about(key)
        self._has_doubts.clear()

    async def _ask_about(self, key: str) -> None:
        if self.topic.get is None:
            return
        standing = self.projection.get(key)
        async with asyncio.timeout(READ_WITHIN):
            found = await self.topic.get(await self._store(), key)
        if not isinstance(found, Absent):
            self._tell(self.projection.put(found), touched=key)
        elif standing is not None:
            revision = self.topic.shape.revision(standing)
            self._tell(self.projection.drop(key, revision), touched=key)

    async def _list(self) -> None:
        self._touched = set()
        try:
            async with asyncio.timeout(OPEN_WITHIN):
                items = await self.topic.list(await self._store())
            touched = self._touched
            if touched is not None:  # else the watch ended meanwhile, and its next answer is whole
                self._listed = time.monotonic()
                self._tell(self.projection.merge(items, touched=touched))
        finally:
            self._touched = None

    def _judge_deadlines(self, now: int) -> None:
        expires_at, late_at = self.topic.expires_at, self.topic.late_at
        if expires_at is None:
            return
        key_of = self.topic.shape.key
        lapsed, late, overdue = set(), set(), set()
        for item in self.projection.values():
            if expires_at(item) < now:
                lapsed.add(key_of(item))
            if expires_at(item) + _OVERDUE_NANOS < now:
                overdue.add(key_of(item))
            if late_at is not None and late_at(item) < now:
                late.add(key_of(item))
        if lapsed:
            self._doubt(lapsed)
        turned = (late ^ self._late) | (overdue ^ self._overdue)
        if turned:
            self._late, self._overdue = late, overdue
            self._tell(
                Difference(changed={key for key in turned if self.projection.get(key) is not None})
            )
