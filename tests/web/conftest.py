"""A company and its fleet on the twin, and three people."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

import company.services
from fleet.services import left
from runtime.access import Role
from tests.support import people
from tests.support.twin_fleet import TwinFleet, write_document


@pytest.fixture(autouse=True)
def _cheap_hashes(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def fleet(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwinFleet]:
    settings.COORDINATION = {"BACKEND": "tests.support.twin_fleet.open_twin", "OPTIONS": {}}
    settings.NODE_ID = "core-1"
    # Its thread would write to a database that belongs to the test's transaction.
    monkeypatch.setattr(left.recorder, "ensure_started", lambda: None)
    made = TwinFleet()
    made.stand()
    yield made
    made.fall()


@pytest.fixture
def firm(db: None, tmp_path: Path) -> None:
    company.services.import_first_document(write_document(tmp_path), created_by="test")


@pytest.fixture
def viewer(db: None) -> Client:
    return people.signed_in(people.add_person("vic", Role.VIEWER, "Vic Roe"))


@pytest.fixture
def operator(db: None) -> Client:
    return people.signed_in(people.add_person("mira.l", Role.OPERATOR, "Mira Lindqvist"))
