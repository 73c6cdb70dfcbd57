"""The one loop thread of a process: the only event loop that ever touches the store.

A daemon thread owns a uvloop loop, started by the first use and keyed by process: a forked child
starts its own. Synchronous code calls through `run`, other loops through `arun`, and long-lived
work is `spawn`ed onto it. Every call has a deadline, and its expiry is the third answer.
Source: the loop of a connection is the loop that made it; see `docs/architecture.md`.
"""

import asyncio
import atexit
import concurrent.futures
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Final, NoReturn

import uvloop

from coordination.errors import OutcomeUnknown, Unavailable

DEADLINE: Final = timedelta(seconds=5)  # for a caller that names none
CLOSE_WITHIN: Final = timedelta(seconds=5)  # background work is given this long to end
RESTART_FIRST: Final = 0.5  # seconds before a supervised task runs again; doubles
RESTART_MOST: Final = 30.0

_log = logging.getLogger("crewlet.portal")

type Closer = Callable[[], Awaitable[None]]


class Portal:
    """A loop on a thread of its own, alive from `start` to `close`."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="crewlet-portal", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: set[concurrent.futures.Future[object]] = set()
        self._closers: list[Closer] = []
        self._lock = threading.Lock()
        self._closing = False
        self._ended = False
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def _check_open(self) -> None:
        if self._closing:
            _refuse_closed()

    def submit[T](
        self, fn: Callable[..., Awaitable[T]], args: tuple[object, ...], kwargs: dict[str, object]
    ) -> concurrent.futures.Future[T]:
        """Start `fn` on the loop.

        Raises:
            Unavailable: the portal is closing, so nothing was started.
        """

        async def call() -> T:
            return await fn(*args, **kwargs)

        self._check_open()
        with self._lock:
            self._check_open()
            future = asyncio.run_coroutine_threadsafe(call(), self.loop)
            self._calls.add(future)  # type: ignore[arg-type]  # a set of futures of anything
        future.add_done_callback(self._calls.discard)
        return future

    def spawn(self, fn: Callable[[], Coroutine[object, object, None]], name: str) -> "Background":
        """Run `fn` in the background; see the module's `spawn`."""
        background = Background(self.loop)

        def start() -> None:
            task = self.loop.create_task(fn(), name=name)
            background.adopt(task)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(_report_crash)

        with self._lock:
            self._check_open()
            self.loop.call_soon_threadsafe(start)
        return background

    def on_close(self, closer: Closer) -> None:
        """Await `closer` on the loop at `close`; the last one registered goes first."""
        self._closers.append(closer)

    def close(self) -> None:
        """End background work, run the closers, stop the loop. Callers waiting get `Unavailable`.

        Safe to call twice; not from the loop thread itself.
        """
        # Before the lock, which busy callers would otherwise hand to each other and not to us.
        self._closing = True
        with self._lock:
            already, self._ended = self._ended, True
        if not already:
            ending = asyncio.run_coroutine_threadsafe(self._end(), self.loop)
            with contextlib.suppress(concurrent.futures.TimeoutError):
                ending.result(CLOSE_WITHIN.total_seconds() * 2)
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(CLOSE_WITHIN.total_seconds())

    async def _end(self) -> None:
        for call in tuple(self._calls):
            call.cancel()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_WITHIN.total_seconds())
        for closer in reversed(self._closers):
            closing = asyncio.ensure_future(closer())
            await asyncio.wait((closing,), timeout=CLOSE_WITHIN.total_seconds())
            if not closing.done():
                _log.warning("closer_too_slow closer=%s", closer)
            elif not closing.cancelled() and (fault := closing.exception()) is not None:
                _log.error("closer_failed closer=%s", closer, exc_info=fault)
        others = asyncio.all_tasks(self.loop) - {asyncio.current_task()}
        for other in others:
            other.cancel()
        if others:
            await asyncio.wait(others, timeout=1)


class Background:
    """A handle on spawned work."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    def adopt(self, task: asyncio.Task[None]) -> None:
        """Take charge of the task; on the loop."""
        self._task = task
        if self._cancelled:
            task.cancel()

    def cancel(self) -> None:
        """Ask the work to end; from any thread."""
        self._cancelled = True
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


_lock = threading.Lock()
_portal: Portal | None = None
# A parent's portals as a forked child sees them: never touched and never freed.
_abandoned: list[Portal] = []
_resets: list[Callable[[], None]] = []


def current() -> Portal:
    """This process's portal, started on first use.

    Raises:
        Unavailable: `close` was called and `reopen` was not.
    """
    global _portal
    if _portal is not None:
        return _portal
    with _lock:
        if _portal is None:
            _portal = Portal()
        return _portal


def run[T](
    fn: Callable[..., Awaitable[T]],
    *args: object,
    deadline: timedelta = DEADLINE,
    **kwargs: object,
) -> T:
    """Call an async function from synchronous code and wait for its answer.

    Args:
        fn: runs on the loop thread with `args` and `kwargs`.
        args: handed on.
        deadline: how long the caller waits. The call is cancelled when it passes, and the caller
            does not wait for its clean-up.
        kwargs: handed on.

    Raises:
        OutcomeUnknown: the deadline passed. It is a kind of `Unavailable`; whether a write had left
            by then only the callee knew, so the portal never claims that it had not.
        Unavailable: the portal is closed, or closed while the call ran.
        RuntimeError: this thread runs an event loop, which waiting here would block.
    """
    _refuse_on_loop()
    future = current().submit(fn, args, kwargs)
    concurrent.futures.wait((future,), timeout=deadline.total_seconds())
    if not future.done():
        future.cancel()
        raise _late(fn, deadline)
    return _answer(future)


async def arun[T](
    fn: Callable[..., Awaitable[T]],
    *args: object,
    deadline: timedelta = DEADLINE,
    **kwargs: object,
) -> T:
    """`run` for code on another loop: a consumer awaits, its loop goes on."""
    future = current().submit(fn, args, kwargs)
    waiter = asyncio.wrap_future(future)
    try:
        await asyncio.wait((waiter,), timeout=deadline.total_seconds())
    except asyncio.CancelledError:
        waiter.cancel()
        raise
    if not waiter.done():
        waiter.cancel()
        raise _late(fn, deadline)
    if waiter.cancelled():
        _refuse_closed()
    return waiter.result()


def spawn(
    fn: Callable[[], Coroutine[object, object, None]], *, name: str, restart: bool = False
) -> Background:
    """Run `fn` on the loop until it ends, is cancelled, or the portal closes; from any thread.

    A crash is logged as `task_crashed`. With `restart` the task is supervised: it runs again after
    a pause that doubles from half a second to thirty, until it returns.
    """
    if not restart:
        return current().spawn(fn, name)

    async def supervised() -> None:
        await _supervise(fn, name)

    return current().spawn(supervised, name)


def on_close(closer: Closer) -> None:
    """Await `closer` on the loop when the process's portal closes."""
    current().on_close(closer)


def on_reset(forget: Callable[[], None]) -> None:
    """Call `forget` in a forked child and after a close: what lived on the old loop is gone."""
    _resets.append(forget)


def close() -> None:
    """Close this process's portal, if one was started. Calls after it raise `Unavailable`."""
    with _lock:
        portal = _portal
    if portal is not None:
        portal.close()


def reopen() -> None:
    """Let the next call start a fresh portal after a close."""
    global _portal
    close()
    with _lock:
        _portal = None
    for forget in _resets:
        forget()


async def _supervise(fn: Callable[[], Coroutine[object, object, None]], name: str) -> None:
    pause = RESTART_FIRST
    while True:
        task = asyncio.ensure_future(fn())
        try:
            await asyncio.wait((task,))
        finally:
            task.cancel()
        fault = None if task.cancelled() else task.exception()
        if fault is None:
            return
        _log.error("task_crashed name=%s restarting_in=%.1f", name, pause, exc_info=fault)
        await asyncio.sleep(pause)
        pause = min(pause * 2, RESTART_MOST)


def _report_crash(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        _log.error("task_crashed name=%s", task.get_name(), exc_info=fault)


def _answer[T](future: concurrent.futures.Future[T]) -> T:
    if future.cancelled():
        _refuse_closed()
    return future.result()


def _late(fn: Callable[..., object], deadline: timedelta) -> OutcomeUnknown:
    name = getattr(fn, "__qualname__", type(fn).__name__)
    msg = f"{name} had not answered after {deadline.total_seconds():g} s"
    return OutcomeUnknown(msg, operation=getattr(fn, "__name__", ""))


def _refuse_closed() -> NoReturn:
    msg = "this process is closing its connection to the store"
    raise Unavailable(msg, operation="portal")


def _refuse_on_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    msg = "portal.run would block the event loop of this thread: await portal.arun instead"
    raise RuntimeError(msg)


def _after_fork() -> None:
    global _lock, _portal
    _lock = threading.Lock()
    if _portal is not None:
        _abandoned.append(_portal)
        _portal = None
    for forget in _resets:
        forget()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(close)
