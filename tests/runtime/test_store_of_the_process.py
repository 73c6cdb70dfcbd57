"""The process's store, its readings, its probe, and the socket the supervisor asks."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from coordination.contract.store import Store
from coordination.errors import OutcomeUnknown, Unavailable
from coordination.memory.store import MemoryBroker, open_memory
from coordination.testing import FaultyStore, ManualClock
from runtime import components, hub, ping, portal, probe
from runtime.components import StoreHolder
from runtime.probe import Probe
from runtime.reading import Done, Failed, Known, Unknown, attempt, read
from tests.support.waiting import eventually, eventually_blocking


@pytest.fixture(autouse=True)
def _fresh_portal() -> Iterator[None]:
    portal.reopen()
    yield
    portal.reopen()


@pytest.fixture
def _memory(settings: Settings) -> None:
    settings.COORDINATION = {"BACKEND": "coordination.open_memory"}


@pytest.mark.usefixtures("_memory")
def test_the_store_of_the_settings_is_opened_once_a_process() -> None:
    assert portal.run(components.store) is portal.run(components.store)


@pytest.mark.usefixtures("_memory")
def test_the_hub_of_the_process_starts_with_its_first_reader() -> None:
    assert isinstance(hub.seats(), Known)
    assert isinstance(hub.pauses(), Known)
    eventually_blocking(lambda: hub.link().up)


def test_a_store_that_cannot_be_opened_is_tried_again_after_a_pause() -> None:
    attempts: list[int] = []

    async def refuse() -> Store:
        attempts.append(1)
        msg = "no broker"
        raise Unavailable(msg)

    async def ask(holder: StoreHolder) -> None:
        await holder.get()

    holder = StoreHolder(refuse)
    for _ in range(3):
        with pytest.raises(Unavailable):
            portal.run(ask, holder)
    assert len(attempts) == 1

    def is_tried_again() -> bool:
        with pytest.raises(Unavailable):
            portal.run(ask, holder)
        return len(attempts) > 1

    eventually_blocking(is_tried_again)


def test_one_callers_deadline_does_not_take_the_connection_from_the_others() -> None:
    opened = threading.Event()

    async def open_slowly() -> Store:
        await asyncio.get_running_loop().run_in_executor(None, opened.wait, 5)
        return await open_memory()

    async def get() -> Store:
        return await holder.get()

    holder = StoreHolder(open_slowly)
    with pytest.raises(Unavailable):
        portal.run(get, deadline=timedelta(milliseconds=50))
    opened.set()
    assert portal.run(get) is portal.run(get)


def test_a_reading_is_known_or_says_why_and_since_when() -> None:
    async def seven() -> int:
        return 7

    async def fail() -> int:
        msg = "the broker is away"
        raise Unavailable(msg)

    known = read(seven)
    assert isinstance(known, Known)
    assert known.value == 7
    unknown = read(fail)
    assert isinstance(unknown, Unknown)
    assert (unknown.why, unknown.last) == ("the broker is away", None)


def test_an_attempt_tells_a_write_that_may_have_landed_from_one_that_did_not() -> None:
    async def lose() -> int:
        msg = "not acknowledged"
        raise OutcomeUnknown(msg)

    async def fail() -> int:
        msg = "not sent"
        raise Unavailable(msg)

    async def done() -> int:
        return 7

    assert attempt(lose) == Failed(why="not acknowledged", may_have_landed=True)
    assert attempt(fail) == Failed(why="not sent", may_have_landed=False)
    assert attempt(done) == Done(7)


async def test_the_probe_goes_down_after_two_failures_and_tells_once_each_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "EVERY", 0.01)
    monkeypatch.setattr(probe, "AGAIN", 0.01)
    store = FaultyStore(await open_memory())
    turns: list[bool] = []

    async def give() -> Store:
        return store

    asking = Probe(give, changed=lambda: turns.append(asking.is_up))
    task = asyncio.create_task(asking.run())
    await eventually(lambda: asking.is_up)
    store.faults.make_unreachable()
    await eventually(lambda: not asking.is_up)
    assert asking.answered_at is not None
    assert asking.since >= asking.answered_at
    store.faults.heal()
    await eventually(lambda: asking.is_up)
    task.cancel()
    assert turns == [True, False, True]


async def test_a_store_that_only_keeps_silent_is_down_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "EVERY", 0.01)
    monkeypatch.setattr(probe, "WITHIN", 0.05)
    store = FaultyStore(await open_memory())

    async def give() -> Store:
        return store

    asking = Probe(give)
    task = asyncio.create_task(asking.run())
    await eventually(lambda: asking.is_up)
    store.faults.make_unreachable(silent=True)
    await eventually(lambda: not asking.is_up)
    assert asking.now() is None
    task.cancel()


async def test_the_clock_is_the_stores_and_never_ahead_of_it() -> None:
    clock = ManualClock()
    store = await open_memory(broker=MemoryBroker(clock))

    async def give() -> Store:
        return store

    asking = Probe(give)
    assert asking.now() is None
    task = asyncio.create_task(asking.run())
    await eventually(lambda: asking.now() is not None)
    now = asking.now()
    assert now is not None
    assert timedelta(0) <= now - clock.now() < timedelta(seconds=5)
    task.cancel()


def ask(path: Path, said: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        connection.sendall(said)
        return connection.recv(16)


def test_the_loop_thread_answers_pings_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "p.sock"
    path.write_text("left behind by a killed process")
    ping.serve(path)
    eventually_blocking(path.is_socket)
    assert ask(path, b"ping\n") == b"ok\n"
    assert ask(path, b"pong\n") == b""
    assert path.stat().st_mode & 0o777 == 0o600
    portal.close()
    assert not path.exists()
