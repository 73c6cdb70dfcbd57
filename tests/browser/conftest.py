"""One quiet node for every test that leaves it whole; people with access to it; their windows."""

import http.client
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import api
from tests.browser.visitors import ADMIN, OPERATOR, VIEWER, FirstVisit, Visitors
from tests.support.running_node import RunningNode

_measured = pytest.StashKey[list[str]]()


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Takes a figure that the end of the run shows."""
    figures = request.config.stash.setdefault(_measured, [])
    return lambda figure: figures.append(f"{request.node.name}: {figure}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was measured."""
    figures = terminalreporter.config.stash.get(_measured, [])
    if figures:
        terminalreporter.section("measured in the browser")
        for figure in figures:
            terminalreporter.line(figure)


@pytest.fixture(scope="session")
def visitors(chromium: Browser) -> Visitors:
    """Windows on any node."""
    return Visitors(chromium)


@pytest.fixture(scope="session")
def fresh_node() -> Iterator[RunningNode]:
    """A node nobody has signed in to."""
    with RunningNode() as running:
        yield running


@pytest.fixture(scope="session")
def first_visit(fresh_node: RunningNode, visitors: Visitors) -> FirstVisit:
    """The first admin's way in."""
    return visitors.first_visit(fresh_node, fresh_node.sign_in_link, ADMIN)


@pytest.fixture(scope="session")
def node(fresh_node: RunningNode, first_visit: FirstVisit, visitors: Visitors) -> RunningNode:
    """The node once an operator and a viewer have access too."""
    for someone in (OPERATOR, VIEWER):
        body = {"name": someone.name, "role": someone.role}
        answer = api.call(fresh_node, "POST", "/api/people", body)
        assert answer.status == http.client.CREATED, answer
        visitors.first_visit(fresh_node, answer.body["link"], someone)
    return fresh_node


@pytest.fixture
def seat(node: RunningNode, request: pytest.FixtureRequest) -> Iterator[str]:
    """A seat of the quiet node that is not paused, before and after."""
    handle = "ada-pm"
    api.resume(node, handle)
    yield handle
    api.resume(node, handle)
