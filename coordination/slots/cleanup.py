"""Work that must run to its end although its caller was cancelled or got an error."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from coordination.errors import CorruptRecord, Unavailable

_ATTEMPT: Final = 2.0  # seconds of one attempt: a request lost in an election costs no more
_AGAIN: Final = 0.25  # seconds after an attempt the store did not answer


class Cleanup:
    """Runs clean-ups apart from their callers, each for a bounded time.

    What made a clean-up necessary is often a link that broke, so one that could not be asked is
    tried again while there is time.

    A caller waits for its own clean-up, so that what it left is gone when it learns of the failure.
    Cancelling that wait leaves the clean-up running.
    """

    def __init__(self, within: timedelta) -> None:
        self._within = within
        self._running: set[asyncio.Task[None]] = set()

    async def run(
        self, work: Callable[[], Awaitable[None]], *, failed: Callable[[BaseException], None]
    ) -> None:
        """Run it and wait.

        Args:
            work: what to finish; begun again after an attempt that could not be asked.
            failed: told why it did not finish; the failure itself goes no further, because the
                caller already has the error that led here.
        """
        task = asyncio.create_task(self._bounded(work))
        self._running.add(task)
        task.add_done_callback(lambda done: self._settle(done, failed))
        await asyncio.wait({task})

    async def finish(self) -> None:
        """Wait for whatever still runs."""
        if self._running:
            await asyncio.wait(self._running)

    async def _bounded(self, work: Callable[[], Awaitable[None]]) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._within.total_seconds()
        while True:
            try:
                async with asyncio.timeout_at(min(ends, loop.time() + _ATTEMPT)):
                    return await work()
            except (Unavailable, TimeoutError) as unknown:
                if isinstance(unknown, CorruptRecord) or loop.time() + _AGAIN >= ends:
                    raise
            await asyncio.sleep(_AGAIN)

    def _settle(self, task: asyncio.Task[None], failed: Callable[[BaseException], None]) -> None:
        self._running.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            failed(error)
