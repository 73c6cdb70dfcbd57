"""The process's store, built from settings by dotted path, as Django does for its storages.

`settings.COORDINATION = {"BACKEND": "coordination.open_jetstream", "OPTIONS": {…}}`; the options
are the opener's keyword arguments. It is opened by its first user on the loop thread, once, and
closed with the portal. While it cannot be opened every use says so, and the next attempt waits for
a pause that doubles from a fifth of a second to five seconds.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, cast

from django.conf import settings
from django.utils.module_loading import import_string

from coordination.contract.store import Store
from coordination.errors import Unavailable
from runtime import portal

FIRST_PAUSE: Final = 0.2  # seconds
LONGEST_PAUSE: Final = 5.0

_log = logging.getLogger("crewlet.components")

type Opener = Callable[[], Awaitable[Store]]


class StoreHolder:
    """One store, opened by whoever needs it first. Lives on one loop.

    Args:
        opener: connects, or raises `Unavailable`.
    """

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._opening: asyncio.Task[Store] | None = None
        self._failures = 0
        self._next_at = 0.0  # loop time before which nothing is tried

    async def get(self) -> Store:
        """The open store.

        Raises:
            Unavailable: it cannot be opened now.
            ConfigurationMismatch: it must not be used by this node as it is set up.
        """
        if self._opening is None or self._has_failed(self._opening):
            self._check_pause()
            self._opening = asyncio.create_task(self._open(), name="open-store")
        # Shielded: one caller's deadline must not take the connection from all others.
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        """Close the store if it was opened, or stop opening it."""
        opening, self._opening = self._opening, None
        if opening is None:
            return
        if not opening.done():
            opening.cancel()
            await asyncio.wait((opening,))
        if not self._has_failed(opening):
            await opening.result().close()

    async def _open(self) -> Store:
        self._failures += 1
        pause = min(FIRST_PAUSE * 2 ** min(self._failures, 10), LONGEST_PAUSE)
        try:
            opened = await self._opener()
        finally:
            # Counted from the end of the attempt, which may itself have taken long.
            loop = asyncio.get_running_loop()
            self._next_at = loop.time() + random.uniform(FIRST_PAUSE, pause)
        self._failures = 0
        _log.info("store_opened")
        return opened

    def _check_pause(self) -> None:
        if asyncio.get_running_loop().time() < self._next_at:
            msg = "the store could not be opened just now; another attempt follows"
            raise Unavailable(msg, operation="open")

    @staticmethod
    def _has_failed(opening: asyncio.Task[Store]) -> bool:
        return opening.done() and (opening.cancelled() or opening.exception() is not None)


_holder: StoreHolder | None = None


async def store() -> Store:
    """This process's store; on the portal's loop only.

    Raises:
        Unavailable: it is not open and cannot be opened now.
        ConfigurationMismatch: what the broker keeps and what this node is set up for cannot both be
            right.
    """
    global _holder
    if _holder is None:
        _holder = StoreHolder(_open_configured)
        portal.on_close(_holder.close)
    return await _holder.get()


async def _open_configured() -> Store:
    configured: Mapping[str, object] = settings.COORDINATION
    options = configured.get("OPTIONS", {})
    opener = import_string(str(configured["BACKEND"]))
    opened = await opener(**(options if isinstance(options, dict) else {}))
    return cast("Store", opened)  # import_string cannot say what a dotted path holds


def _forget() -> None:
    global _holder
    _holder = None


portal.on_reset(_forget)
