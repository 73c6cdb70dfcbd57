"""Duties: who runs, what is told, what happens to the lease."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from coordination.contract.answers import Absent, Owner
from coordination.contract.leases import Granted, Lease
from coordination.memory.store import MemoryBroker, open_memory
from coordination.rules.keys import Resource
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore
from runtime import duties, portal
from runtime.duties import Duty, DutyRun
from runtime.duty_runner import DutyRunner
from tests.support.waiting import eventually_blocking

NAME = "tally-for-tests"
TTL = timedelta(seconds=3)
RESOURCE = Resource(("worker", NAME))


class Bench:
    """A duty, the store its runner uses, and another handle."""

    def __init__(self, *, is_local: bool) -> None:
        self.broker = MemoryBroker()
        self.store: FaultyStore = portal.run(self._open_faulty)
        self.peer: SlotStore = portal.run(open_memory, broker=self.broker)
        self.owner = Owner("core-1:worker-1")
        self.runner = DutyRunner(self._give, owner=self.owner, is_local=is_local)
        self.runs: list[DutyRun] = []
        self.work: Mapping[str, object] = {"counted": 3}

    async def _open_faulty(self) -> FaultyStore:
        return FaultyStore(await open_memory(broker=self.broker))

    async def _give(self) -> SlotStore:
        return self.store

    def run_duty(self, run: DutyRun) -> Mapping[str, object]:
        self.runs.append(run)
        run.check()
        return self.work

    def lease(self) -> Lease | Absent:
        return portal.run(self.peer.leases.get, RESOURCE)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    portal.reopen()
    made = Bench(is_local=False)
    duty = Duty(name=NAME, cadence=timedelta(seconds=1), ttl=TTL, run=made.run_duty)
    monkeypatch.setattr(duties, "_registry", {NAME: duty})
    monkeypatch.setattr(duties, "_locks", {NAME: threading.Lock()})
    monkeypatch.setattr(duties, "_runner", made.runner)
    yield made
    portal.reopen()


def held(bench: Bench) -> Lease:
    lease = bench.lease()
    assert isinstance(lease, Lease)
    return lease


def test_a_tick_runs_the_duty_and_its_outcome_rides_the_lease(bench: Bench) -> None:
    duties.run(NAME)
    lease = held(bench)
    assert lease.owner == bench.owner
    last = lease.meta["last"]
    assert isinstance(last, dict)
    assert (last["outcome"], last["said"]) == ("ok", {"counted": 3})
    assert str(lease.meta["next_due"]).endswith("Z")


def test_the_next_tick_of_the_same_owner_keeps_the_epoch(bench: Bench) -> None:
    duties.run(NAME)
    duties.run(NAME)
    assert held(bench).epoch == 1
    assert len(bench.runs) == 2


def test_a_duty_that_a_peer_holds_is_left_alone(bench: Bench) -> None:
    answer = portal.run(
        bench.peer.leases.acquire, RESOURCE, owner=Owner("core-2:worker-9"), ttl=TTL, gated=False
    )
    assert isinstance(answer, Granted)
    duties.run(NAME)
    assert bench.runs == []
    assert held(bench) == answer.lease


def test_a_store_that_cannot_be_asked_runs_nothing_and_raises_nothing(bench: Bench) -> None:
    bench.store.faults.make_unreachable()
    duties.run(NAME)
    assert bench.runs == []


def test_a_duty_that_fails_says_so_on_its_lease_and_to_its_caller(bench: Bench) -> None:
    class Bug(Exception):
        pass

    def fail(_run: DutyRun) -> Mapping[str, object]:
        raise Bug

    duties._registry[NAME] = Duty(name=NAME, cadence=TTL, ttl=TTL, run=fail)
    with pytest.raises(Bug):
        duties.run(NAME)
    last = held(bench).meta["last"]
    assert isinstance(last, dict)
    assert last["outcome"] == "failed"


def test_a_running_duty_is_not_begun_a_second_time(bench: Bench) -> None:
    going, let_go = threading.Event(), threading.Event()

    def wait(run: DutyRun) -> Mapping[str, object]:
        bench.runs.append(run)
        going.set()
        assert let_go.wait(5)
        return {}

    duties._registry[NAME] = Duty(name=NAME, cadence=TTL, ttl=TTL, run=wait)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(duties.run, NAME)
        assert going.wait(5)
        duties.run(NAME)
        let_go.set()
        first.result(5)
    assert len(bench.runs) == 1


def test_a_long_pass_keeps_its_lease_by_renewing_it(bench: Bench) -> None:
    def outlast(run: DutyRun) -> Mapping[str, object]:
        first = held(bench)
        eventually_blocking(lambda: held(bench).expires_at > first.expires_at + TTL / 2)
        run.check()
        return {}

    duties._registry[NAME] = Duty(name=NAME, cadence=TTL, ttl=TTL, run=outlast)
    duties.run(NAME)
    assert held(bench).epoch == 1


def test_a_pass_whose_lease_was_taken_over_stops_before_its_next_effect(bench: Bench) -> None:
    effects: list[str] = []

    def lose(run: DutyRun) -> Mapping[str, object]:
        portal.run(bench.peer.leases.release, run.tenure.lease)
        eventually_blocking(lambda: not run.tenure.is_held)
        run.check()
        effects.append("done")
        return {}

    duties._registry[NAME] = Duty(name=NAME, cadence=TTL, ttl=TTL, run=lose)
    duties.run(NAME)
    assert effects == []


def test_a_shutdown_gives_held_duties_back_and_keeps_what_they_last_said(bench: Bench) -> None:
    duties.run(NAME)
    portal.run(bench.runner.release)
    assert isinstance(bench.lease(), Absent)
    answer = portal.run(
        bench.peer.leases.acquire, RESOURCE, owner=Owner("core-2:worker-9"), ttl=TTL, gated=False
    )
    assert isinstance(answer, Granted)
    assert answer.lease.epoch == 2
    assert "last" in answer.lease.meta


def test_a_restarted_local_worker_does_not_wait_for_its_own_earlier_lease(bench: Bench) -> None:
    duties.run(NAME)
    again = DutyRunner(bench._give, owner=Owner("core-1:worker-2"), is_local=True)
    assert portal.run(again.begin, NAME, TTL) is not None
    assert held(bench).epoch == 2
    portal.run(again.release)


def test_a_node_without_the_workers_role_runs_no_duty(bench: Bench, settings: Settings) -> None:
    settings.NODE_ROLES = ("seats",)
    duties.run(NAME)
    assert bench.runs == []


def test_two_duties_of_one_name_are_refused(bench: Bench) -> None:
    other = Duty(name=NAME, cadence=TTL, ttl=TTL, run=lambda _: {})
    with pytest.raises(ValueError, match=NAME):
        duties.register(other)
