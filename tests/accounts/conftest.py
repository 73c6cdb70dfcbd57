"""A viewer and an admin."""

import copy

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import Person
from runtime.access import Role
from tests.support import people


@pytest.fixture(autouse=True)
def _cheap_hashes(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _plain_frame(settings: Settings) -> None:
    templates = copy.deepcopy(settings.TEMPLATES)
    options = templates[0]["OPTIONS"]
    others = [name for name in options["context_processors"] if not name.startswith("fleet.")]
    options["context_processors"] = [*others, "tests.support.plain_frame.frame"]
    settings.TEMPLATES = templates


@pytest.fixture
def add_person() -> people.AddPerson:
    return people.add_person


@pytest.fixture
def admin() -> Person:
    return people.add_person("ada", Role.ADMIN, "Ada Lund")


@pytest.fixture
def viewer() -> Person:
    return people.add_person("vic", Role.VIEWER, "Vic Roe")


@pytest.fixture
def as_admin(admin: Person) -> Client:
    return people.signed_in(admin)


@pytest.fixture
def as_viewer(viewer: Person) -> Client:
    return people.signed_in(viewer)
