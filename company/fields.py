"""Reading one field at a time out of YAML nodes, noting faults instead of stopping at the first."""

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import yaml

from company.document import Setting
from company.problems import ProblemKind, Report, Segments

_TAG: Final = "tag:yaml.org,2002:"
# YAML 1.1 also reads 0x10, 010 and 1:30 as numbers; a ceiling has to be what it looks like.
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9_]*)\Z")
# The largest number that every JSON reader keeps exactly.
NUMBER_LIMIT: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Place:
    """A node and where it stands."""

    node: yaml.Node
    segments: Segments

    @property
    def line(self) -> int:
        """1-based."""
        return int(self.node.start_mark.line) + 1

    @property
    def kind(self) -> str:
        """`map`, `seq`, `null`, `bool`, `int`, `float`, `str` or another of YAML's own types."""
        return str(self.node.tag).removeprefix(_TAG)


class FieldReader:
    """Turns places into values; a fault is noted in the report and gives None."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def fault(self, place: Place, kind: ProblemKind, message: str) -> None:
        """Note one fault at a place."""
        self._report.add(place.segments, place.line, kind, message)

    def mapping(
        self, place: Place, *, known: Collection[str] | None = None, required: Collection[str] = ()
    ) -> Mapping[str, Place]:
        """The fields of a mapping; unknown, doubled and missing required ones are faults."""
        if not isinstance(place.node, yaml.MappingNode):
            self._not_a(place, "a mapping of fields")
            return {}
        fields: dict[str, Place] = {}
        for key, value in self._entries(place):
            field = Place(value, (*place.segments, key.node.value))
            name = str(key.node.value)
            if name in fields:
                at = Place(key.node, field.segments)
                message = f"{name!r} is given twice; the first is on line {fields[name].line}."
                self.fault(at, ProblemKind.CONFLICT, message)
            elif known is not None and name not in known:
                self._unknown(Place(key.node, field.segments), name, known)
            else:
                fields[name] = field
        for name in required:
            if name not in fields:
                missing = Place(place.node, (*place.segments, name))
                self.fault(missing, ProblemKind.MISSING, f"{name!r} is required.")
        return fields

    def _entries(self, place: Place) -> Iterator[tuple[Place, yaml.Node]]:
        for key, value in place.node.value:
            at = Place(key, place.segments)
            if isinstance(key, yaml.ScalarNode):
                yield at, value
            else:
                self.fault(at, ProblemKind.SHAPE, "A field's name has to be a plain word.")

    def items(self, place: Place) -> tuple[Place, ...]:
        """The entries of a list."""
        if not isinstance(place.node, yaml.SequenceNode):
            self._not_a(place, "a list")
            return ()
        return tuple(Place(n, (*place.segments, i)) for i, n in enumerate(place.node.value))

    def text(self, place: Place, *, limit: int) -> str | None:
        """One line of text, 1 to `limit` characters, without control characters."""
        if place.kind != "str":
            if isinstance(place.node, yaml.ScalarNode) and place.kind != "null":
                message = f"YAML reads {place.node.value!r} as {place.kind}; put it in quotes."
                self.fault(place, ProblemKind.SHAPE, message)
            else:
                self._not_a(place, "text")
            return None
        value = str(place.node.value).strip()
        if not value:
            self.fault(place, ProblemKind.MISSING, "The text is empty.")
            return None
        if len(value) > limit:
            message = f"{len(value)} characters; at most {limit} are kept."
            self.fault(place, ProblemKind.OUT_OF_RANGE, message)
            return None
        if any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in value):
            self.fault(place, ProblemKind.INVALID, "One line, without control characters.")
            return None
        return value

    def flag(self, place: Place) -> bool | None:
        """True or false."""
        if place.kind != "bool":
            self._not_a(place, "true or false")
            return None
        return str(place.node.value).lower() in {"true", "yes", "on"}

    def ceiling(self, place: Place) -> int | None:
        """A whole number of tokens, at least 1."""
        if place.kind != "int" or not _DECIMAL.match(place.node.value):
            self._not_a(place, "a whole number such as 400_000")
            return None
        digits = str(place.node.value).replace("_", "")
        # Counted before it is converted: int() refuses beyond 4,300 digits.
        if len(digits) > 17 or not 1 <= int(digits) <= NUMBER_LIMIT:
            message = f"A ceiling is at least 1 and at most {NUMBER_LIMIT:,}; absent means none."
            self.fault(place, ProblemKind.OUT_OF_RANGE, message)
            return None
        return int(digits)

    def setting(self, place: Place) -> Setting:
        """A free value of an integration: what JSON can say."""
        if isinstance(place.node, yaml.MappingNode):
            fields = self.mapping(place)
            return MappingProxyType({name: self.setting(at) for name, at in fields.items()})
        if isinstance(place.node, yaml.SequenceNode):
            return tuple(self.setting(at) for at in self.items(place))
        match place.kind:
            case "null":
                return None
            case "bool":
                return self.flag(place)
            case "int" if _DECIMAL.match(place.node.value) and len(place.node.value) <= 20:
                return int(place.node.value.replace("_", ""))
            case "float" if re.fullmatch(r"[-+]?\d+\.\d+", place.node.value):
                return float(place.node.value)
            case _:
                return str(place.node.value)

    def _unknown(self, place: Place, name: str, known: Collection[str]) -> None:
        near = difflib.get_close_matches(name[:100], known, n=1)
        message = f"There is no field {name[:100]!r} here."
        message += f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(known)}."
        self.fault(place, ProblemKind.UNKNOWN_FIELD, message)

    def _not_a(self, place: Place, wanted: str) -> None:
        found = {"map": "a mapping", "seq": "a list", "null": "nothing"}.get(place.kind)
        found = found or f"{place.node.value[:60]!r}"
        self.fault(place, ProblemKind.SHAPE, f"Here stands {found}; it has to be {wanted}.")
