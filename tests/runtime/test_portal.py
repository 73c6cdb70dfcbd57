"""The loop thread: from threads, from another loop, after a fork, closed under load."""

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from coordination.errors import OutcomeUnknown, Unavailable
from runtime import portal
from tests.support.waiting import eventually

SHORT = timedelta(milliseconds=50)
LONG = timedelta(seconds=5)


@pytest.fixture(autouse=True)
def _fresh_portal() -> Iterator[None]:
    portal.reopen()
    yield
    portal.reopen()


async def double(number: int, *, plus: int = 0) -> int:
    await asyncio.sleep(0)
    return number * 2 + plus


async def name_of_thread() -> str:
    return threading.current_thread().name


def test_a_thread_gets_its_answer() -> None:
    assert portal.run(double, 21) == 42
    assert portal.run(double, 20, plus=2) == 42


def test_eight_threads_share_one_loop_thread() -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: portal.run(double, n), range(400)))
        names = set(pool.map(lambda _: portal.run(name_of_thread), range(8)))
    assert answers == [2 * n for n in range(400)]
    assert names == {"crewlet-portal"}


def test_an_error_of_the_call_reaches_its_caller() -> None:
    async def fail() -> None:
        raise TimeoutError("its own")  # noqa: EM101 - the message is the test

    with pytest.raises(TimeoutError, match="its own"):
        portal.run(fail)


def test_a_passed_deadline_is_the_third_answer_and_cancels_the_call() -> None:
    ended = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(OutcomeUnknown, match="had not answered"):
        portal.run(hang, deadline=SHORT)
    assert ended.wait(5)


def test_a_deadline_holds_while_the_loop_itself_is_stuck() -> None:
    let_go = threading.Event()

    async def block() -> None:
        let_go.wait(5)  # blocks the loop on purpose

    blocker = threading.Thread(target=lambda: portal.run(block))
    blocker.start()
    with pytest.raises(Unavailable):
        portal.run(double, 1, deadline=SHORT)
    let_go.set()
    blocker.join()


async def test_run_refuses_a_thread_that_runs_a_loop() -> None:
    with pytest.raises(RuntimeError, match="arun"):
        portal.run(double, 1)


async def test_another_loop_awaits_its_answer() -> None:
    assert await portal.arun(double, 21) == 42
    answers = await asyncio.gather(*(portal.arun(double, n) for n in range(50)))
    assert answers == [2 * n for n in range(50)]


async def test_another_loop_meets_its_deadline() -> None:
    with pytest.raises(Unavailable):
        await portal.arun(asyncio.sleep, 60, deadline=SHORT)


async def test_cancelling_the_caller_cancels_the_call() -> None:
    started, ended = threading.Event(), threading.Event()

    async def hang() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    caller = asyncio.create_task(portal.arun(hang, deadline=LONG))
    await eventually(started.is_set)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await eventually(ended.is_set)


def test_closed_under_load_every_caller_gets_an_answer_or_the_third_one() -> None:
    going = threading.Barrier(9)
    portal.run(double, 0)

    def work(number: int) -> str:
        going.wait()
        for turn in range(100_000):
            try:
                assert portal.run(double, turn) == 2 * turn
            except Unavailable:
                return f"told {number}"
        return "never told"

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(work, number) for number in range(8)]
        going.wait()
        portal.close()
        answers = {future.result(20) for future in futures}
    assert answers == {f"told {number}" for number in range(8)}


def test_a_caller_waiting_at_the_close_is_told() -> None:
    started = threading.Event()

    async def hang() -> None:
        started.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(portal.run, hang, deadline=timedelta(seconds=30))
        assert started.wait(5)
        portal.close()
        with pytest.raises(Unavailable):
            waiting.result(10)


def test_closing_ends_background_work_first_and_then_runs_the_closers_backwards() -> None:
    order: list[str] = []
    running = threading.Event()

    async def work() -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            order.append("work")

    async def first() -> None:
        order.append("first")

    async def last() -> None:
        order.append("last")

    portal.on_close(first)
    portal.on_close(last)
    portal.spawn(work, name="work")
    assert running.wait(5)
    portal.close()
    assert order == ["work", "last", "first"]


async def test_supervised_work_runs_again_after_a_crash(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(portal, "RESTART_FIRST", 0.01)
    runs: list[int] = []

    async def crash_twice() -> None:
        runs.append(1)
        if len(runs) < 3:
            raise ValueError("a bug")  # noqa: EM101 - the message is the test

    portal.spawn(crash_twice, name="fragile", restart=True)
    await eventually(lambda: len(runs) == 3)
    assert caplog.text.count("task_crashed name=fragile") == 2


async def test_unsupervised_work_that_crashes_is_logged_and_stays_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs: list[int] = []

    async def crash() -> None:
        runs.append(1)
        raise ValueError("a bug")  # noqa: EM101 - the message is the test

    portal.spawn(crash, name="one-off")
    await eventually(lambda: "task_crashed name=one-off" in caplog.text)
    assert len(runs) == 1


def test_background_work_can_be_cancelled_from_any_thread() -> None:
    running, ended = threading.Event(), threading.Event()

    async def work() -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    background = portal.spawn(work, name="work", restart=True)
    assert running.wait(5)
    background.cancel()
    assert ended.wait(5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads is the case here
def test_a_forked_child_starts_a_loop_of_its_own() -> None:
    assert portal.run(double, 1) == 2
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = portal.run(double, 21)
        os.write(writer, str(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "42"
    assert os.waitpid(child, 0)[1] == 0
    assert portal.run(double, 3) == 6
