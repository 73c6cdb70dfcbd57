"""Live pages: one feed a view, drawn once and told to every socket that looks at it.

A change in the hub's projections wakes the pump; after a short gathering each feed draws its sheet
again, compares, and tells the difference. What must stay true: nothing depends on a frame having
arrived (`rev` and `prev_rev` show a gap), a socket that does not read costs a bounded queue, and a
silence of the store is told as loudly as a change.
"""

import asyncio
import contextlib
import json
import logging
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.template.loader import render_to_string

from coordination.contract.leases import Lease
from fleet.pages.frame import draw_link
from fleet.pages.sheets import Sheet, View, draw_sheet
from fleet.services.picture import Picture, Told
from fleet.services.taking import take_duties, take_picture
from runtime import drawing, hub
from runtime.frame import LinkState
from runtime.moments import Clock

CLOCK_EVERY: Final = timedelta(seconds=5)
SOURCES_EVERY: Final = 3  # clock frames: the list of sources rides every third one
GATHER: Final = timedelta(milliseconds=20)  # between the first change and the drawing
BATCH_EVERY: Final = timedelta(milliseconds=250)  # at most four batches a second
OUTBOX_FRAMES: Final = 64
GHOSTS: Final = 200  # rows that left the view and are still kept true
WHOLE_ROWS: Final = 60  # a newcomer to a longer page reads it again instead of being told whole

_log = logging.getLogger("crewlet.live")


class Outbox:
    """A socket's frames: bounded; when it overflows they are dropped for one `resync`."""

    def __init__(self) -> None:
        self._frames: deque[str] = deque()
        self._ready = asyncio.Event()

    def put(self, frame: str, topic: str) -> None:
        """Queue a frame, or drop all and ask the page to read itself again."""
        if len(self._frames) >= OUTBOX_FRAMES:
            self._frames.clear()
            frame = json.dumps({"kind": "resync", "topic": topic})
        self._frames.append(frame)
        self._ready.set()

    async def get(self) -> str:
        """The oldest frame."""
        while not self._frames:
            self._ready.clear()
            await self._ready.wait()
        return self._frames.popleft()

    def __len__(self) -> int:
        return len(self._frames)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What a drawing is made from, taken once for all feeds."""

    picture: Picture
    duties: Told[tuple[Lease, ...]]


def take_knowledge() -> Knowledge:
    """The picture and the duties."""
    return Knowledge(picture=take_picture(), duties=take_duties())


class Feed:
    """One view, the sockets that look at it, and the sheet they were told."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.topic = view.page
        self.outboxes: set[Outbox] = set()
        self.sheet: Sheet | None = None
        self.rev = 0
        self._ghosts: dict[str, str] = {}

    def tell(self, frame: Mapping[str, object]) -> None:
        """Queue a frame for every socket, encoded once."""
        text = encode(frame)
        for outbox in self.outboxes:
            outbox.put(text, self.topic)

    def draw(self, knowledge: Knowledge) -> Sheet:
        """The view's present sheet, rows that went away included."""
        ghosts = tuple(self._ghosts.values())
        sheet = draw_sheet(knowledge.picture, self.view, knowledge.duties, ghosts)
        gone = [
            name
            for row, name in (self.sheet.rows if self.sheet else {}).items()
            if row not in sheet.rows
        ]
        if not gone:
            return sheet
        return draw_sheet(knowledge.picture, self.view, knowledge.duties, (*ghosts, *gone))

    def differ(self, fresh: Sheet, said: str, now: datetime) -> list[dict[str, object]]:
        """The frames that turn the last sheet into this one; takes it over."""
        before, self.sheet = self.sheet, fresh
        if before is None:
            return []
        if before.is_blank != fresh.is_blank:
            self.rev += 1
            return [{"kind": "resync", "topic": self.topic}]
        frames: list[dict[str, object]] = []
        appeared = [row for row in fresh.rows if row not in before.rows]
        left = [row for row in before.rows if row not in fresh.rows]
        moved = find_moved(tuple(before.rows), tuple(fresh.rows))
        if appeared or left or moved:
            self._remember_ghosts(before, left, appeared)
            rows = {"kind": "rows", "appeared": appeared, "left": left, "moved": moved}
            frames.append(self._next(rows))
        cells = draw_changes(before, fresh, now)
        if cells or said:
            frames.append(self._next({"kind": "cells", "cells": cells, "say": said}))
        return frames

    def _next(self, frame: Mapping[str, object]) -> dict[str, object]:
        self.rev += 1
        return {**frame, "topic": self.topic, "rev": self.rev, "prev_rev": self.rev - 1}

    def _remember_ghosts(self, before: Sheet, left: list[str], appeared: list[str]) -> None:
        for row in appeared:
            self._ghosts.pop(row, None)
        for row in left:
            self._ghosts[row] = before.rows[row]
        while len(self._ghosts) > GHOSTS:
            self._ghosts.pop(next(iter(self._ghosts)))

    def greet(self, now: datetime) -> dict[str, object]:
        """Everything on the page, for a socket whose page may be older than the sheet."""
        if self.sheet is None or self.sheet.is_blank or len(self.sheet.rows) > WHOLE_ROWS:
            return {"kind": "resync", "topic": self.topic}
        nothing = Sheet(rows={}, facts={}, blocks={})
        cells = draw_changes(nothing, self.sheet, now)
        rev = {"rev": self.rev, "prev_rev": None}
        return {"kind": "cells", "topic": self.topic, "cells": cells, "say": "", **rev}


def find_moved(before: tuple[str, ...], after: tuple[str, ...]) -> list[str]:
    """The fewest rows of both orders that had to move to turn one into the other."""
    place = {row: number for number, row in enumerate(before)}
    common = [row for row in after if row in place]
    tails: list[int] = []  # the smallest last place of a rising run, by its length
    lengths = []
    for row in common:
        length = bisect_left(tails, place[row])
        tails[length : length + 1] = [place[row]]
        lengths.append(length)
    stayed, wanted = set(), len(tails) - 1
    for row, length in zip(reversed(common), reversed(lengths), strict=True):
        if length == wanted:
            stayed.add(row)
            wanted -= 1
    return [row for row in common if row not in stayed]


def draw_changes(before: Sheet, after: Sheet, now: datetime) -> dict[str, str]:
    """Outer HTML by element id of what differs; times in UTC, which browsers localise."""
    clock = Clock(now=now)
    changed = {
        element: str(drawing.draw_fact(fact, clock=clock, id=element, setting=setting))
        for element, (fact, setting) in after.facts.items()
        if before.facts.get(element) != (fact, setting)
    }
    for element, block in after.blocks.items():
        if before.blocks.get(element) != block:
            context = {**block.context, "clock": clock}
            changed[element] = render_to_string(block.template, context).strip()
    return changed


def describe_change(before: Picture, after: Picture) -> str:
    """One polite sentence about what changed; empty when nothing of note did."""
    if not (before.pauses.is_known and after.pauses.is_known):
        return ""
    old, new = before.index.pauses, after.index.pauses
    paused = [handle for handle in new if handle not in old]
    resumed = [handle for handle in old if handle not in new]
    parts = [_counted(paused, "paused"), _counted(resumed, "resumed")]
    if before.presences.is_known and after.presences.is_known:
        gone = set(before.live_nodes) - set(after.live_nodes)
        come = set(after.live_nodes) - set(before.live_nodes)
        parts += [_counted(sorted(gone), "left", "nodes"), _counted(sorted(come), "came", "nodes")]
    return ", ".join(part for part in parts if part)


def _counted(names: list[str], verb: str, many: str = "seats") -> str:
    if not names:
        return ""
    return f"{names[0]} {verb}" if len(names) == 1 else f"{len(names)} {many} {verb}"


def encode(frame: Mapping[str, object]) -> str:
    """A frame's text."""
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False)


class Pump:
    """Feeds of one event loop, woken by the hub and by the clock."""

    def __init__(self) -> None:
        self.feeds: dict[View, Feed] = {}
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._picture: Picture | None = None
        self._link: LinkState | None = None
        self._clocks = 0
        self._drawing = asyncio.Lock()
        self.listening_since: datetime | None = None
        self.changed_at: datetime | None = None

    def ensure_running(self) -> None:
        """Start with the first socket."""
        if not self._tasks:
            self.listening_since = datetime.now(UTC)
            loop = asyncio.get_running_loop()
            self._tasks = [
                loop.create_task(self._listen(), name="live-listen"),
                loop.create_task(self._draw_on_change(), name="live-draw"),
                loop.create_task(self._tick(), name="live-clock"),
            ]

    async def close(self) -> None:
        """Stop; a test's loop ends with its test."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []

    async def join(self, view: View, outbox: Outbox, made_at: datetime | None) -> Feed:
        """Look at a view; the outbox is told what the page may have missed since it was made."""
        self.ensure_running()
        async with self._drawing:
            feed = self.feeds.get(view)
            if feed is None:
                feed = Feed(view)
                knowledge = await _threaded(take_knowledge)
                feed.sheet = await _threaded(feed.draw, knowledge)
                self._picture = self._picture or knowledge.picture
                self.feeds[view] = feed
            if not self._is_fresh(made_at):
                outbox.put(encode(await _threaded(feed.greet, datetime.now(UTC))), feed.topic)
            feed.outboxes.add(outbox)
        picture = await _threaded(take_picture)
        outbox.put(encode(self._clock_frame(picture, with_sources=True)), feed.topic)
        return feed

    def _is_fresh(self, made_at: datetime | None) -> bool:
        """Whether nothing changed since a page was made, as far as this process listened."""
        since = self.listening_since
        if made_at is None or since is None or made_at < since:
            return False
        return self.changed_at is None or self.changed_at <= made_at

    def leave(self, feed: Feed, outbox: Outbox) -> None:
        """Look away; a feed without sockets is forgotten."""
        feed.outboxes.discard(outbox)
        if not feed.outboxes:
            self.feeds.pop(feed.view, None)

    async def _listen(self) -> None:
        async with hub.subscribe() as subscription:
            async for _ in subscription:
                self.changed_at = datetime.now(UTC)
                self._wake.set()

    async def _draw_on_change(self) -> None:
        while True:
            await self._wake.wait()
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(GATHER.total_seconds())
            self._wake.clear()
            await self.redraw()
            # Counted from its beginning, for a batch that took long to draw has waited already;
            # and yet no more than half of the time goes into drawing.
            spent = asyncio.get_running_loop().time() - began
            await asyncio.sleep(max(BATCH_EVERY.total_seconds() - spent, spent))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(CLOCK_EVERY.total_seconds())
            await self.redraw(with_clock=True)

    async def redraw(self, *, with_clock: bool = False) -> None:
        """Draw every feed once and tell the differences; the clock too when it is due."""
        async with self._drawing:
            feeds = tuple(self.feeds.values())
            if not feeds:
                return
            knowledge = await _threaded(take_knowledge)
            before, self._picture = self._picture, knowledge.picture
            self._tell_clock(feeds, knowledge.picture, is_due=with_clock)
            said = describe_change(before, knowledge.picture) if before else ""
            for feed in feeds:
                frames = await _threaded(_differences, feed, knowledge, said)
                for frame in frames:
                    feed.tell(frame)

    def _tell_clock(self, feeds: Iterable[Feed], picture: Picture, *, is_due: bool) -> None:
        link = draw_link(picture)
        flipped = self._link is not None and self._link.up != link.up
        self._link = link
        if not (is_due or flipped):
            return
        self._clocks += 1
        with_sources = flipped or self._clocks % SOURCES_EVERY == 0
        frame = self._clock_frame(picture, with_sources=with_sources)
        for feed in feeds:
            feed.tell(frame)

    def _clock_frame(self, picture: Picture, *, with_sources: bool) -> dict[str, object]:
        link = draw_link(picture)
        frame: dict[str, object] = {
            "kind": "clock",
            "server_time": _stamp(datetime.now(UTC)),
            "store": {
                "state": "live" if link.up else "down",
                "answered_at": _stamp(link.answered_at),
                "since": _stamp(link.since),
            },
        }
        if with_sources:
            frame["sources"] = [
                {
                    "name": source.name,
                    "state": "live" if source.up else "down",
                    "answered_at": _stamp(source.answered_at),
                }
                for source in link.sources
            ]
        return frame


def _differences(feed: Feed, knowledge: Knowledge, said: str) -> list[dict[str, object]]:
    return feed.differ(feed.draw(knowledge), said, knowledge.picture.now)


async def _threaded[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run on a thread of its own: rows are read and templates drawn there, not on the loop."""
    call = database_sync_to_async(function, thread_sensitive=False)
    result: T = await call(*args, **kwargs)
    return result


def _stamp(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds") if moment else None


_pumps: WeakKeyDictionary[asyncio.AbstractEventLoop, Pump] = WeakKeyDictionary()


def pump() -> Pump:
    """The pump of the running loop."""
    loop = asyncio.get_running_loop()
    found = _pumps.get(loop)
    if found is None:
        found = _pumps[loop] = Pump()
    return found
