"""Waiting for what must become true: the only place in the suite that sleeps."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import overload

_STEP = 0.01  # seconds between two looks


@overload
async def eventually[T](
    check: Callable[[], Awaitable[T]], within: float = ..., *, why: str = ...
) -> T: ...


@overload
async def eventually[T](check: Callable[[], T], within: float = ..., *, why: str = ...) -> T: ...


async def eventually[T](
    check: Callable[[], T | Awaitable[T]], within: float = 5.0, *, why: str = ""
) -> T:
    """The first truthy answer of `check`, sync or async.

    An `AssertionError` inside the check counts as "not yet", and is what fails the test when time
    is up; any other exception fails it at once.

    Args:
        check: what to look at.
        within: seconds.
        why: what was awaited, for the failure.
    """
    ends = time.monotonic() + within
    while True:
        failure: AssertionError | None = None
        answer: T | None = None
        try:
            found = check()
            answer = await found if inspect.isawaitable(found) else found
        except AssertionError as fault:
            failure = fault
        if answer:
            return answer
        if time.monotonic() >= ends:
            if failure is not None:
                raise failure
            msg = f"not within {within} s: {why or getattr(check, '__name__', check)}: {answer!r}"
            raise AssertionError(msg)
        await asyncio.sleep(_STEP)


def eventually_blocking[T](check: Callable[[], T], within: float = 5.0, *, why: str = "") -> T:
    """`eventually` for synchronous tests and fixtures."""
    ends = time.monotonic() + within
    while True:
        failure: AssertionError | None = None
        answer: T | None = None
        try:
            answer = check()
        except AssertionError as fault:
            failure = fault
        if answer:
            return answer
        if time.monotonic() >= ends:
            if failure is not None:
                raise failure
            msg = f"not within {within} s: {why or getattr(check, '__name__', check)}: {answer!r}"
            raise AssertionError(msg)
        time.sleep(_STEP)
