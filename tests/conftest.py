"""Wiring only; fixtures live in tests/support and beside their tests."""

import threading

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from accounts.estate_file import ESTATE, let_write
from tests.support.browser import chromium

__all__ = ["chromium"]


def _lift(connection: BaseDatabaseWrapper, **_kwargs: object) -> None:
    """Let the tests' own connection roll its transactions back: a read-only one begins none."""
    if connection.alias == ESTATE and threading.current_thread() is threading.main_thread():
        let_write(connection)


connection_created.connect(_lift)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever drives the browser is a browser test: its driver keeps a loop on the main thread."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
