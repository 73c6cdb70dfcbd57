"""Wiring of the certified suite: which case runs on which backend, and what each one answered."""

from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Final

import pytest

from coordination.contract.store import Store
from tests.contract import broker, cluster, leaf, twin
from tests.contract.backends import Backend, Certified, backends_for
from tests.contract.broker import BrokerBackend
from tests.contract.cases import MARK, Tally, case_of
from tests.contract.cluster import ClusterBackend

CASE_BOUND: Final = 90  # seconds that bound any case
_TALLY: Final = pytest.StashKey[tuple[str, Tally]]()
_ANSWERS: Final = "answers"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(id, scope, definite): the contract case certified")
    twin.register_twin()
    broker.register_broker()
    cluster.register_cluster()
    leaf.register_leaf()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "certified" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker(MARK)
    assert mark is not None, f"{metafunc.definition.nodeid} names no case"
    metafunc.parametrize(
        "certified",
        [pytest.param(one, id=one.name, marks=one.marks) for one in backends_for(mark.args[1])],
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if case_of(item) is not None and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(CASE_BOUND))


@pytest.fixture
async def backend(certified: Certified, request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    """A fresh backend for this case alone."""
    made = certified.factory()
    request.node.stash[_TALLY] = (certified.name, made.tally)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def store(backend: Backend) -> Store:
    """One handle on an empty store."""
    (handle,) = await backend.open()
    return handle


@pytest.fixture
def wired(backend: Backend) -> BrokerBackend:
    """The backend of a case that is about the wire: what it stores, sends and receives."""
    assert isinstance(backend, BrokerBackend)
    return backend


@pytest.fixture
def clustered(backend: Backend) -> ClusterBackend:
    """The backend of a case that is about members: which leads, and what befalls them."""
    assert isinstance(backend, ClusterBackend)
    return backend


@pytest.fixture(scope="session", autouse=True)
def brokers() -> Iterator[None]:
    """The shared servers end with the session."""
    yield
    leaf.dispose()
    broker.dispose()
    cluster.dispose()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    found = case_of(item)
    if found is None:
        yield
        return
    name, _, definite_due = found
    backend_name, tally = item.stash[_TALLY]
    try:
        yield
    finally:
        row = (name, backend_name, tally.yes, tally.no, tally.unknown)
        item.user_properties.append((_ANSWERS, row))
    if definite_due and not tally.definite:
        pytest.fail(f"{name} saw no definite answer ({tally.unknown} unknown): it proved nothing")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows: dict[str, dict[str, tuple[int, int, int]]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call":
                continue
            for key, row in report.user_properties:
                if key == _ANSWERS:
                    name, backend_name, *counts = row
                    before = rows.setdefault(name, {}).get(backend_name, (0, 0, 0))
                    after = [a + b for a, b in zip(before, counts, strict=True)]
                    rows[name][backend_name] = (after[0], after[1], after[2])
    if not rows:
        return
    terminalreporter.section("answers per case: yes / no / unknown")
    for name in sorted(rows):
        said = "   ".join(f"{who} {y}/{n}/{u}" for who, (y, n, u) in sorted(rows[name].items()))
        terminalreporter.write_line(f"{name}  {said}")
    ran = Counter(backend_name for row in rows.values() for backend_name in row)
    told = ", ".join(f"{count} cases on {who}" for who, count in sorted(ran.items()))
    terminalreporter.write_line(told)
