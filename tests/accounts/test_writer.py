"""One function writes people; every other way is refused by the file itself."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from django.conf import settings
from django.db import OperationalError, connections, transaction

from accounts import services
from accounts.changes import Because, Refused
from accounts.estate_file import ESTATE, let_write, stop_writing
from accounts.minting import mint_id
from accounts.models import Person
from accounts.services import LinkIssued
from coordination.rules import uuid7
from runtime.access import Role

pytestmark = pytest.mark.django_db(databases=["default", "estate"])


def test_the_estate_takes_no_write_from_anywhere_else(viewer: Person) -> None:
    stop_writing(connections[ESTATE])  # as settings do for every connection; tests lift it
    try:
        with pytest.raises(OperationalError, match="readonly"), transaction.atomic(using=ESTATE):
            Person.objects.update(role=Role.ADMIN)
        services.change_role("vic", Role.OPERATOR, by="ada")
        with pytest.raises(OperationalError, match="readonly"), transaction.atomic(using=ESTATE):
            Person.objects.update(role=Role.ADMIN)
    finally:
        let_write(connections[ESTATE])
    assert Person.objects.get(pk=viewer.pk).role == "operator"


def test_every_new_connection_to_the_estate_is_read_only() -> None:
    def ask() -> int:
        try:
            with connections[ESTATE].cursor() as cursor:
                cursor.execute("PRAGMA query_only")
                return int(cursor.fetchone()[0])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ask).result() == 1


def test_a_person_s_id_is_a_uuid7_of_the_moment_they_were_added(viewer: Person) -> None:
    minted_ms = uuid7.read_ms(viewer.pk)
    assert abs(minted_ms - viewer.added_at.timestamp() * 1000) < 5_000
    assert mint_id() != mint_id()


def test_nothing_else_lifts_the_mark_of_the_file() -> None:
    root = Path(settings.BASE_DIR)
    lifting = {
        str(path.relative_to(root))
        for app in ("accounts", "company", "fleet", "runtime", "crewlet_site")
        for path in (root / app).rglob("*.py")
        if "query_only=OFF" in (text := path.read_text()) or "estate_file import" in text
    }
    assert lifting == {"accounts/apps.py", "accounts/estate_file.py", "accounts/people_writer.py"}


@pytest.mark.django_db(transaction=True, databases=["default", "estate"])
def test_of_two_who_add_the_same_name_one_is_told_that_it_is_taken() -> None:
    racers = 6
    ready = Barrier(racers)

    def add(_number: int) -> LinkIssued | Refused:
        try:
            ready.wait()
            return services.add_person("nia", "Nia", Role.VIEWER, by="ada")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(racers) as pool:
        outcomes = list(pool.map(add, range(racers)))
    assert sum(isinstance(outcome, LinkIssued) for outcome in outcomes) == 1
    assert outcomes.count(Refused(because=Because.NAME_TAKEN)) == racers - 1
    assert Person.objects.count() == 1
