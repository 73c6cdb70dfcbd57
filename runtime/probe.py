"""Asking the store anything at all, so that *live* and *could not ask* rest on an answer.

The next question follows an answer by two and a half seconds. Two failures in a row are *down*: a
single one may be a leader election's hiccup, and the second attempt follows at once. In the worst
case a silent broker is noticed 2.5 s + 2 s + 2 s after its last answer.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from coordination.contract.store import Store
from coordination.errors import Unavailable
from coordination.rules.instants import Instant

EVERY: Final = 2.5  # seconds from an answer to the next question
WITHIN: Final = 2.0  # seconds an answer may take
AGAIN: Final = 0.25  # seconds from a failure to the next question
DOWN_AFTER: Final = 2  # failures in a row
SAMPLES: Final = 8  # answers the clock is estimated from

_log = logging.getLogger("crewlet.probe")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    store_nanos: int  # the store's clock …
    answered_nanos: int  # … when this moment of ours (monotonic) had not come yet


class Probe:
    """The periodic question.

    Args:
        store: the process's store, opened on demand; raises `Unavailable`.
        changed: called on the loop whenever up turns to down or back.
    """

    def __init__(
        self, store: Callable[[], Awaitable[Store]], *, changed: Callable[[], None] = lambda: None
    ) -> None:
        self._store = store
        self._changed = changed
        self._samples: deque[_Sample] = deque(maxlen=SAMPLES)
        self._failures = 0
        self._asked_at = self._first_failed_at = self.started_at = datetime.now(UTC)
        self.is_up = False
        self.answered_at: datetime | None = None
        self.since = self.started_at
        self.why = "the store has not answered yet"

    @property
    def has_concluded(self) -> bool:
        """Whether it has been up or down once; before that it simply has not been asked."""
        return self.answered_at is not None or self._failures >= DOWN_AFTER

    def now(self) -> Instant | None:
        """What the store's clock shows at least; None before the first answer.

        Each answer was given before it arrived, so each is a lower bound and the highest is the
        best. A lease that has lapsed by it has lapsed.
        """
        samples = tuple(self._samples)
        if not samples:
            return None
        ours = time.monotonic_ns()
        return Instant(max(s.store_nanos + ours - s.answered_nanos for s in samples))

    async def run(self) -> None:
        """Ask for ever."""
        while True:
            try:
                async with asyncio.timeout(WITHIN):
                    await self._ask()
            except (Unavailable, TimeoutError) as unknown:
                self._note_failure(str(unknown) or f"no answer within {WITHIN:g} s")
                await asyncio.sleep(AGAIN)
            else:
                await asyncio.sleep(EVERY)

    async def _ask(self) -> None:
        self._asked_at = datetime.now(UTC)
        store = await self._store()
        answer = await store.probe()
        self._samples.append(_Sample(store_nanos=answer.nanos, answered_nanos=time.monotonic_ns()))
        self._note_answer()

    def _note_answer(self) -> None:
        self._failures = 0
        self.answered_at = datetime.now(UTC)
        if not self.is_up:
            self.is_up, self.since, self.why = True, self.answered_at, ""
            _log.info("store_answers")
            self._changed()

    def _note_failure(self, why: str) -> None:
        self._failures += 1
        self.why = why
        if self._failures == 1:
            self._first_failed_at = self._asked_at
        if self._failures == DOWN_AFTER:
            self._samples.clear()
            was_up, self.is_up, self.since = self.is_up, False, self._first_failed_at
            _log.warning("store_silent since=%s why=%r", self.since.isoformat(), why)
            if was_up:
                self._changed()
