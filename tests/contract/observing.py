"""Counting a store's answers without changing any of them.

An observer sits above the store only to count what was said and to name a verb that hangs. Faults
never come from here: they reach the backend itself.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from coordination.contract.answers import (
    Absent,
    Conflict,
    Lost,
    NotHeld,
    Refused,
)
from coordination.contract.bucket import Bucket
from coordination.contract.pauses import Exists
from coordination.contract.store import Store
from coordination.errors import ActivationRaced, InvalidRequest, Unavailable
from tests.contract.cases import Tally

STALL: Final = 40.0  # seconds in which any verb answers, even with a paused broker behind it
_NO: Final = (Absent, Conflict, Lost, NotHeld, Refused, Exists)
_SLOTS: Final = frozenset({"leases", "config", "status", "pauses", "markers"})
_SILENT: Final = frozenset({"probe", "close"})


class StallError(AssertionError):
    """A verb that neither answered nor failed."""


def observed(store: Store, tally: Tally) -> Store:
    """The same store; every answer of its slots is counted."""
    return cast("Store", _Observed(store, tally))


def observed_bucket(bucket: Bucket, tally: Tally) -> Bucket:
    """The same bucket; every answer is counted."""
    return cast("Bucket", _Observed(bucket, tally))


class _Observed:
    def __init__(self, inner: object, tally: Tally) -> None:
        self._inner = inner
        self._tally = tally

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name in _SLOTS:
            return _Observed(value, self._tally)
        if not inspect.iscoroutinefunction(value) or name in _SILENT:
            return value
        return self._counted(name, value)

    def _counted(
        self, name: str, verb: Callable[..., Awaitable[object]]
    ) -> Callable[..., Awaitable[object]]:
        tally = self._tally

        async def ask(*args: object, **options: object) -> object:
            limit = asyncio.timeout(STALL)
            try:
                async with limit:
                    answer = await verb(*args, **options)
            except (Unavailable, asyncio.CancelledError):
                tally.unknown += 1
                raise
            except (InvalidRequest, ActivationRaced):
                tally.no += 1
                raise
            except TimeoutError as fault:
                tally.unknown += 1
                if limit.expired():
                    msg = f"{name} neither answered nor failed within {STALL:g} s"
                    raise StallError(msg) from fault
                raise
            if isinstance(answer, _NO):
                tally.no += 1
            else:
                tally.yes += 1
            return answer

        return ask
