"""Following the company's revision, and reporting what this node made of it."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

from company.document import Company
from company.following import Applied, NotApplied, NothingToFollow, Outcome
from coordination.contract.answers import Epoch, NodeId
from coordination.contract.status import ConfigStatus
from coordination.contract.store import Store
from coordination.errors import Unavailable
from coordination.rules.instants import Instant

EVERY: Final = 15.0  # seconds; the status bucket forgets after a minute

_log = logging.getLogger("crewlet.node")


class RevisionFollower:
    """The document in effect on this node.

    Args:
        store: where the pointer is and the report goes.
        node: this node's id.
        apply: one reconcile tick.
        current: the document this node's own database holds, read off the loop.
        changed: called when another document took effect.
    """

    def __init__(
        self,
        store: Store,
        node: str,
        *,
        apply: Callable[[Store], Awaitable[Outcome]],
        current: Callable[[], Awaitable[Company | None]],
        changed: Callable[[], None],
    ) -> None:
        self._store, self._node = store, node
        self._apply, self._current, self._changed = apply, current, changed
        self._woken = asyncio.Event()
        self.company: Company | None = None

    def wake(self) -> None:
        """Look at the pointer soon instead of at the next fifteen seconds."""
        self._woken.set()

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            try:
                await self.tick()
            except Unavailable as unknown:
                _log.warning("revision_unanswered error=%s", unknown)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._woken.wait()
            self._woken.clear()

    async def tick(self) -> None:
        """Apply what the pointer names, and report."""
        outcome = await self._apply(self._store)
        match outcome:
            case Applied(company=company):
                self._take(company)
                await self._report(outcome.revision_id, outcome.epoch, "ok")
            case NotApplied(error=error):
                if self.company is None:
                    self._take(await self._current())
                await self._report(outcome.revision_id, outcome.epoch, "error", error)
            case NothingToFollow():
                _log.info("revision_absent")

    def _take(self, company: Company | None) -> None:
        if company != self.company:
            self.company = company
            self._changed()

    async def _report(self, revision_id: str, epoch: int, status: str, error: str = "") -> None:
        await self._store.status.report(
            ConfigStatus(
                node=NodeId(self._node),
                epoch=Epoch(epoch),
                revision_id=revision_id,
                status=status,
                error=error,
                updated_at=Instant.of(datetime.now(UTC)),
            )
        )
