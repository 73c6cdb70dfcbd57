"""The document on one node: the first import, and what takes effect."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from company import services
from company.models import Revision
from company.problems import DocumentInvalid
from company.services import AlreadyHeld, AppliedRevision, Imported
from company.yaml_nodes import DOCUMENT_LIMIT_BYTES

pytestmark = pytest.mark.django_db
BODY = "name: Harbourline\nseats:\n- {handle: ada-pm, name: Ada, role: PM, kind: agent}\n"


def revision(revision_id: str, body: str = BODY, epoch: int = 1) -> AppliedRevision:
    return AppliedRevision(
        revision_id=revision_id,
        epoch=epoch,
        created_at=datetime(2026, 9, 23, tzinfo=UTC),
        created_by="ops",
        source="api",
        summary="raise caps",
        body=body,
    )


def write(path: Path, body: str | bytes = BODY) -> Path:
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return path


def test_before_the_first_import_there_is_no_company() -> None:
    assert services.current() is None
    assert services.applied_revision() is None


def test_the_first_import_takes_effect_and_the_second_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "company.yaml")
    first = services.import_first_document(path, created_by="up")
    assert isinstance(first, Imported)
    write(path, BODY.replace("Harbourline", "Other"))
    assert isinstance(services.import_first_document(path, created_by="up"), AlreadyHeld)
    company, row = services.current(), services.applied_revision()
    assert company is not None
    assert company.name == "Harbourline"
    assert row is not None
    assert (row.revision_id, row.epoch, row.body) == (first.revision_id, None, BODY)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe\x00", b"name: [", b"x: 1\n", b"name: Caf\xe9\nseats: []\n", b"\x00" * 50],
)
def test_a_file_that_is_no_document_is_refused_and_nothing_is_stored(
    tmp_path: Path, body: bytes
) -> None:
    with pytest.raises(DocumentInvalid):
        services.import_first_document(write(tmp_path / "c.yaml", body), created_by="up")
    assert not Revision.objects.exists()


def test_a_byte_that_is_no_text_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(DocumentInvalid, match="line 2: The file is not UTF-8"):
        services.read_document(write(tmp_path / "c.yaml", b"name: x\nseats: \xff\n"))


def test_a_huge_file_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.touch()
    os.truncate(path, 4 * 2**40)
    with pytest.raises(DocumentInvalid, match=f"the limit is {DOCUMENT_LIMIT_BYTES:,}"):
        services.read_document(path)


def test_a_document_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "c.yaml", b"\xef\xbb\xbf" + BODY.encode())
    assert services.read_document(path) == BODY


def test_a_newer_revision_replaces_the_one_before_and_names_it_as_its_parent() -> None:
    services.take_effect(revision("r-1"))
    services.take_effect(revision("r-2", BODY.replace("Harbourline", "Other"), epoch=2))
    company = services.current()
    assert company is not None
    assert company.name == "Other"
    assert Revision.objects.get(revision_id="r-2").parent == "r-1"
    assert Revision.objects.filter(is_active=True).count() == 1


def test_going_back_to_a_held_revision_keeps_where_it_came_from() -> None:
    services.take_effect(revision("r-1"))
    services.take_effect(revision("r-2", epoch=2))
    services.take_effect(revision("r-1", epoch=3))
    row = Revision.objects.get(revision_id="r-1")
    assert (row.is_active, row.epoch, row.parent) == (True, 3, "")


def test_a_revision_that_does_not_fit_leaves_the_one_before_in_effect() -> None:
    services.take_effect(revision("r-1"))
    with pytest.raises(DocumentInvalid):
        services.take_effect(revision("r-2", "name: x\n"))
    row = services.applied_revision()
    assert row is not None
    assert row.revision_id == "r-1"


def test_the_text_is_parsed_once_for_each_revision() -> None:
    services.take_effect(revision("r-1"))
    first = services.current()
    assert services.current() is first
    services.take_effect(revision("r-2", epoch=2))
    assert services.current() is not first


def test_the_database_itself_refuses_a_second_active_row() -> None:
    services.take_effect(revision("r-1"))
    with pytest.raises(IntegrityError), transaction.atomic():
        Revision.objects.create(
            revision_id="r-2", created_at=datetime.now(UTC), created_by="x", is_active=True
        )
