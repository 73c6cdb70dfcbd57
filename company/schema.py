"""The schema of the company document: text in, `Company` or every fault with its line out."""

import functools
import re
import zoneinfo
from types import MappingProxyType
from typing import Final

from company.document import (
    ANYWHERE,
    NO_CEILINGS,
    Company,
    Integration,
    Placement,
    Seat,
    SeatKind,
    TokenBudget,
)
from company.fields import FieldReader, Place
from company.problems import DocumentInvalid, Problem, ProblemKind, Report
from company.yaml_nodes import compose

__all__ = ["DocumentInvalid", "Problem", "ProblemKind", "parse"]

NAME_LIMIT: Final = 100  # characters; what a table column can still show
LABEL_LIMIT: Final = 63  # bytes of a label's key, as on a node
_HANDLE: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_NODE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_SURFACE: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")

_ROOT_FIELDS: Final = ("name", "timezone", "token_budget", "pause", "seats", "integrations")
_SEAT_FIELDS: Final = ("handle", "name", "role", "kind", "token_budget", "placement")
_WINDOWS: Final = ("day", "week", "month")


def parse(text: str) -> Company:
    """Read a company document.

    Raises:
        DocumentInvalid: with every fault found, each naming line and path.
    """
    report = Report()
    company = _Reading(report).company(Place(compose(text.removeprefix("\ufeff")), ()))
    report.raise_if_any()
    return company


@functools.cache
def known_timezones() -> frozenset[str]:
    """The IANA names this machine knows; walking them costs some 50 ms, so once."""
    return frozenset(zoneinfo.available_timezones())


class _Reading:
    """One pass over one document. Values made beside a noted fault are never handed out."""

    def __init__(self, report: Report) -> None:
        self._fields = FieldReader(report)

    def company(self, root: Place) -> Company:
        fields = self._fields.mapping(root, known=_ROOT_FIELDS, required=("name", "seats"))
        return Company(
            name=self._name(fields.get("name")),
            timezone=self._timezone(fields.get("timezone")),
            token_budget=self._budget(fields.get("token_budget")),
            pause_require_reason=self._require_reason(fields.get("pause")),
            seats=self._seats(fields.get("seats")),
            integrations=self._integrations(fields.get("integrations")),
        )

    def _name(self, place: Place | None) -> str:
        return (place and self._fields.text(place, limit=NAME_LIMIT)) or ""

    def _timezone(self, place: Place | None) -> str:
        name = "UTC" if place is None else self._fields.text(place, limit=NAME_LIMIT)
        if place is not None and name is not None and name not in known_timezones():
            message = f"There is no timezone {name!r}; write a name such as Europe/Berlin."
            self._fields.fault(place, ProblemKind.UNKNOWN_VALUE, message)
        return name or ""

    def _budget(self, place: Place | None) -> TokenBudget:
        if place is None:
            return NO_CEILINGS
        fields = self._fields.mapping(place, known=_WINDOWS)
        return TokenBudget(**{name: self._fields.ceiling(at) for name, at in fields.items()})

    def _require_reason(self, place: Place | None) -> bool:
        if place is None:
            return True
        asked = self._fields.mapping(place, known=("require_reason",)).get("require_reason")
        return True if asked is None else bool(self._fields.flag(asked))

    def _seats(self, place: Place | None) -> tuple[Seat, ...]:
        taken: dict[str, int] = {}
        entries = self._fields.items(place) if place is not None else ()
        return tuple([self._seat(entry, taken) for entry in entries])

    def _seat(self, place: Place, taken: dict[str, int]) -> Seat:
        required = ("handle", "name", "role", "kind")
        fields = self._fields.mapping(place, known=_SEAT_FIELDS, required=required)
        kind = self._kind(fields.get("kind"))
        for name in ("token_budget", "placement"):
            if kind is SeatKind.PERSON and name in fields:
                message = f"A person's seat has no {name}: it is never claimed and spends nothing."
                self._fields.fault(fields[name], ProblemKind.CONFLICT, message)
        return Seat(
            handle=self._handle(fields.get("handle"), taken),
            name=self._name(fields.get("name")),
            role=self._name(fields.get("role")),
            kind=kind or SeatKind.AGENT,
            token_budget=self._budget(fields.get("token_budget")),
            placement=self._placement(fields.get("placement")),
        )

    def _handle(self, place: Place | None, taken: dict[str, int]) -> str:
        handle = self._fields.text(place, limit=1_000) if place is not None else None
        if place is None or handle is None:
            return ""
        if not _HANDLE.match(handle):
            message = (
                f"{handle[:100]!r} is no handle: 1 to 64 of a-z, 0-9, '.', '_' and '-', "
                "starting with a letter or digit."
            )
            self._fields.fault(place, ProblemKind.INVALID, message)
        elif handle in taken:
            message = f"The handle {handle!r} is taken by the seat on line {taken[handle]}."
            self._fields.fault(place, ProblemKind.CONFLICT, message)
        taken.setdefault(handle, place.line)
        return handle

    def _kind(self, place: Place | None) -> SeatKind | None:
        word = self._fields.text(place, limit=1_000) if place is not None else None
        if place is None or word is None:
            return None
        if word not in tuple(SeatKind):
            message = f"{word[:100]!r} is no kind of seat; write agent or person."
            self._fields.fault(place, ProblemKind.UNKNOWN_VALUE, message)
            return None
        return SeatKind(word)

    def _placement(self, place: Place | None) -> Placement:
        if place is None:
            return ANYWHERE
        fields = self._fields.mapping(place, known=("node", "labels"))
        node = self._fields.text(fields["node"], limit=1_000) if "node" in fields else None
        if node is not None and not _NODE_ID.match(node):
            message = f"{node[:100]!r} is no node id: 1 to 64 letters, digits, '.', '_' or '-'."
            self._fields.fault(fields["node"], ProblemKind.INVALID, message)
        labels = fields.get("labels")
        return Placement(node=node, labels=MappingProxyType(self._labels(labels) if labels else {}))

    def _labels(self, place: Place) -> dict[str, str]:
        labels: dict[str, str] = {}
        for key, at in self._fields.mapping(place).items():
            if not key or len(key.encode()) > LABEL_LIMIT or any(char.isspace() for char in key):
                message = f"A label's name is 1 to {LABEL_LIMIT} bytes without spaces."
                self._fields.fault(at, ProblemKind.INVALID, message)
            labels[key] = self._fields.text(at, limit=NAME_LIMIT) or ""
        return labels

    def _integrations(self, place: Place | None) -> tuple[Integration, ...]:
        if place is None:
            return ()
        found: list[Integration] = []
        for surface, at in self._fields.mapping(place).items():
            if not _SURFACE.match(surface):
                message = f"{surface[:100]!r} is no surface name: a-z, 0-9, '_' and '-'."
                self._fields.fault(at, ProblemKind.INVALID, message)
            fields = self._fields.mapping(at)
            settings = {name: self._fields.setting(value) for name, value in fields.items()}
            found.append(Integration(surface=surface, settings=MappingProxyType(settings)))
        return tuple(found)
