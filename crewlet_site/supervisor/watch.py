"""The supervisor's loop: start in order, restart what dies, drain in the reverse order.

Everything happens on the main thread: the kernel ties a child's life to the thread that forked it.
"""

import select
import signal
import socket
import time
from collections.abc import Sequence
from types import FrameType
from typing import Final

from crewlet_site.errors import StartRefused
from crewlet_site.home import Home
from crewlet_site.supervisor.children import Child, State, cut, describe_exit
from crewlet_site.supervisor.lines import Step, say

PING_EVERY: Final = 5.0  # seconds
READY_WITHIN: Final = 60.0
STARTING_PACE: Final = 0.05
IDLE_PACE: Final = 1.0
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """Keeps a node's children running until told to stop.

    Args:
        home: where the drain note goes.
        children: in the order of their start.
        deaf_after: seconds of silence of a loop thread after which its process is replaced.
        ping_every: seconds between two questions to a child.
    """

    def __init__(
        self,
        home: Home,
        children: Sequence[Child],
        *,
        deaf_after: float,
        ping_every: float = PING_EVERY,
    ) -> None:
        self._home = home
        self._children = tuple(children)
        self._deaf_after = deaf_after
        self._ping_every = ping_every
        self._stops = 0
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)

    @property
    def is_stopping(self) -> bool:
        """Whether a stop was asked for."""
        return self._stops > 0

    def listen(self) -> None:
        """Take over signals: from here on a stop drains instead of killing."""
        signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        for number in STOP_SIGNALS:
            signal.signal(number, self._note_stop)

    def start(self) -> None:
        """Start the children one after the other, each ready before the next.

        Raises:
            StartRefused: one ended, or did not get ready in time; the others still run.
        """
        for child in self._children:
            if self._stops:
                return
            with Step(child.spec.name) as step:
                child.start()
                self._await_ready(child)
                is_ready = child.state is State.READY
                step.detail = f"ready, pid {child.pid}" if is_ready else "told to stop"

    def watch(self) -> None:
        """Run until a stop is asked for."""
        while not self._stops:
            for child in self._children:
                self._tend(child)
            starting = any(child.state is State.STARTING for child in self._children)
            self._pause(STARTING_PACE if starting else self._next_due())

    def drain(self) -> None:
        """Stop the children in reverse order; a second signal kills what is left at once."""
        self._home.draining.touch()
        for child in reversed(self._children):
            if self._stops > 1:
                break
            self._stop(child)
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()
            child.state = State.STOPPED
        self._home.draining.unlink(missing_ok=True)

    def _note_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stops += 1

    def _await_ready(self, child: Child) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while not self._stops:
            code = child.poll()
            if code is not None:
                raise StartRefused(_stopped_early(child, code))
            if child.spec.is_ready():
                child.note_ready()
                return
            if time.monotonic() > deadline:
                message = (
                    f"{child.spec.name} was not ready after {READY_WITHIN:.0f} s: see {child.log}"
                )
                raise StartRefused(message)
            for other in self._children:
                if other is not child:
                    self._tend(other)
            self._pause(STARTING_PACE)

    def _tend(self, child: Child) -> None:
        """Move one child on by whatever is due for it."""
        now = time.monotonic()
        if child.state is State.WAITING and now >= child.retry_at:
            self._start_again(child)
        if child.state not in (State.STARTING, State.READY):
            return
        code = child.poll()
        if code is not None:
            back_off = child.note_death()
            say(
                f"{child.spec.name} died ({describe_exit(code)}); starting it again in "
                f"{back_off:g} s (see {child.log})"
            )
        elif child.state is State.STARTING:
            self._look_for_ready(child, now)
        elif now - child.asked_at >= self._ping_every:
            self._ping(child, now)

    def _start_again(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:
            back_off = child.note_death()
            say(f"{child.spec.name} cannot be started ({error}); trying again in {back_off:g} s")

    def _look_for_ready(self, child: Child, now: float) -> None:
        if child.spec.is_ready():
            child.note_ready()
            say(f"{child.spec.name} is back after {now - child.started_at:.1f} s, pid {child.pid}")
        elif now - child.started_at > max(self._deaf_after, READY_WITHIN) and not self._is_held_up(
            child
        ):
            self._judge_slow_start(child, now)

    def _judge_slow_start(self, child: Child, now: float) -> None:
        """One whose loop runs waits for something, such as a broker elsewhere; no restart helps."""
        if child.spec.answers is None or not child.spec.answers():
            self._judge_silence(child, now)
            return
        child.answered_at = now
        if not child.is_waiting:
            child.is_waiting = True
            say(f"{child.spec.name} runs and is not ready yet: see {child.log}")

    def _is_held_up(self, child: Child) -> bool:
        """Whether one that was started before it is silent or down: that one is to be mended."""
        before = self._children[: self._children.index(child)]
        return any(other.is_silent or other.state is not State.READY for other in before)

    def _ping(self, child: Child, now: float) -> None:
        child.asked_at = now
        cut(child.log)
        if child.spec.answers is None or child.spec.answers():
            if child.is_silent:
                say(f"{child.spec.name} answers again")
            child.is_silent = False
            child.answered_at = now
            if child.spec.must_restart is not None and child.spec.must_restart():
                child.kill()
        else:
            self._judge_silence(child, now)

    def _judge_silence(self, child: Child, now: float) -> None:
        silent_for = now - child.answered_at
        name = child.spec.name
        if not child.spec.is_killed_when_deaf:
            if not child.is_silent:
                say(f"{name} does not answer; its process is alive, so it is left alone")
            child.is_silent = True
        elif silent_for > self._deaf_after:
            say(f"{name} has not answered for {silent_for:.0f} s; ending it so that it starts anew")
            child.kill()

    def _stop(self, child: Child) -> None:
        if child.poll() is not None or child.pid is None:
            return
        began = time.monotonic()
        child.terminate()
        while child.poll() is None and self._stops <= 1:
            left = began + child.spec.drain_seconds - time.monotonic()
            if left <= 0:
                allowed = child.spec.drain_seconds
                say(f"  {child.spec.name:<10} did not stop in {allowed:g} s; killed")
                child.kill()
                child.wait()
                return
            self._pause(min(left, IDLE_PACE))
        if child.poll() is not None:
            say(f"  {child.spec.name:<10} stopped after {time.monotonic() - began:.1f} s")

    def _next_due(self) -> float:
        now = time.monotonic()
        due = [child.retry_at for child in self._children if child.state is State.WAITING]
        return max(0.0, min([IDLE_PACE, *(at - now for at in due)]))

    def _pause(self, seconds: float) -> None:
        """Sleep until something happened: a child ended or a signal came."""
        if select.select([self._wake], [], [], seconds)[0]:
            self._wake.recv(4096)


def _stopped_early(child: Child, code: int) -> str:
    said = child.tail()
    name = child.spec.name
    last = f": {said}" if said else ""
    return f"{name} ended before it was ready ({describe_exit(code)}; see {child.log}){last}"
