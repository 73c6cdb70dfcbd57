"""Use cases of the company document on this node."""

import threading
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from company.document import Company
from company.models import Revision
from company.problems import ProblemKind, invalid
from company.schema import parse
from company.yaml_nodes import DOCUMENT_LIMIT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRevision:
    """A revision this node holds, as a rule the one in effect.

    `epoch` is None while the fleet does not know it; `body` is the document's text.
    """

    revision_id: str
    epoch: int | None
    created_at: datetime
    created_by: str
    source: str
    summary: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The document became this node's first revision."""

    revision_id: str
    company: Company


@dataclass(frozen=True, slots=True)
class AlreadyHeld:
    """This node holds a revision already; the file was not read."""


class _Parsed:
    """The document of one revision, parsed once a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: tuple[str, Company] | None = None

    def get(self, revision_id: str) -> Company | None:
        held = self._held
        return held[1] if held is not None and held[0] == revision_id else None

    def load(self, revision_id: str, body: str) -> Company:
        with self._lock:
            found = self.get(revision_id)
            if found is None:
                found = parse(body)
                self._held = (revision_id, found)
            return found


_parsed = _Parsed()


def current() -> Company | None:
    """The document in effect on this node; None before the first was applied.

    Cost: one indexed read of the node's database; the text is parsed once a revision and process.

    Raises:
        DocumentInvalid: the stored text does not satisfy this build's schema.
    """
    active = Revision.objects.filter(is_active=True)
    revision_id = active.values_list("revision_id", flat=True).first()
    if revision_id is None:
        return None
    found = _parsed.get(revision_id)
    if found is not None:
        return found
    row = Revision.objects.get(revision_id=revision_id)
    return _parsed.load(row.revision_id, row.body)


def applied_revision() -> AppliedRevision | None:
    """The revision in effect on this node with its text; None before the first was applied."""
    return _as_value(Revision.objects.filter(is_active=True).first())


def held_revision(revision_id: str) -> AppliedRevision | None:
    """A revision whose text this node holds, in effect or not."""
    return _as_value(Revision.objects.filter(revision_id=revision_id).first())


def _as_value(row: Revision | None) -> AppliedRevision | None:
    if row is None:
        return None
    return AppliedRevision(
        revision_id=row.revision_id,
        epoch=row.epoch,
        created_at=row.created_at,
        created_by=row.created_by,
        source=row.source,
        summary=row.summary,
        body=row.body,
    )


def import_first_document(path: Path, *, created_by: str) -> Imported | AlreadyHeld:
    """Make a file this node's first revision; the node process publishes it to a fleet without one.

    Raises:
        DocumentInvalid: the file is no company document; nothing was stored.
        OSError: the file cannot be read.
    """
    if Revision.objects.exists():
        return AlreadyHeld()
    body = read_document(path)
    company = parse(body)
    revision_id = str(uuid.uuid4())
    now = timezone.now()
    Revision.objects.create(
        revision_id=revision_id,
        created_at=now,
        created_by=created_by,
        source="file",
        summary=f"First import of {path.name}",
        body=body,
        is_active=True,
        activated_at=now,
    )
    return Imported(revision_id=revision_id, company=company)


def read_document(path: Path) -> str:
    """A document's text; no more than the limit is read, whatever the file's size.

    Raises:
        DocumentInvalid: too large, or not UTF-8.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        raw = file.read(DOCUMENT_LIMIT_BYTES + 1)
    if len(raw) > DOCUMENT_LIMIT_BYTES:
        size = path.stat().st_size
        message = f"The file has {size:,} bytes; the limit is {DOCUMENT_LIMIT_BYTES:,}."
        raise invalid(1, ProblemKind.OUT_OF_RANGE, message)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise invalid(line, ProblemKind.INVALID, "The file is not UTF-8 text.") from fault


def take_effect(revision: AppliedRevision) -> Company:
    """Put a revision into effect on this node, replacing the one before it.

    Raises:
        DocumentInvalid: the text does not satisfy the schema; the revision before stays in effect.
    """
    company = parse(revision.body)
    with transaction.atomic(using="default"):
        before = Revision.objects.filter(is_active=True).first()
        Revision.objects.filter(is_active=True).update(is_active=False)
        Revision.objects.update_or_create(
            revision_id=revision.revision_id,
            defaults={
                "epoch": revision.epoch,
                "body": revision.body,
                "is_active": True,
                "activated_at": timezone.now(),
            },
            create_defaults={
                "revision_id": revision.revision_id,
                "parent": before.revision_id if before is not None else "",
                "created_at": revision.created_at,
                "created_by": revision.created_by,
                "source": revision.source,
                "summary": revision.summary,
                "body": revision.body,
                "epoch": revision.epoch,
                "is_active": True,
                "activated_at": timezone.now(),
            },
        )
    return company


def note_epoch(revision_id: str, epoch: int) -> None:
    """Remember the fleet's epoch of the revision in effect here."""
    Revision.objects.filter(revision_id=revision_id).update(epoch=epoch)
