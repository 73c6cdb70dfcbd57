"""What can be wrong with a company document, each fault with its place in the text."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, override

# A broken generator repeats one fault ten thousand times; the first hundred are enough to mend it.
PROBLEMS_LIMIT: Final = 100


class ProblemKind(StrEnum):
    """The closed set of faults."""

    MISSING = "missing"
    UNKNOWN_VALUE = "unknown_value"
    OUT_OF_RANGE = "out_of_range"
    CONFLICT = "conflict"
    UNKNOWN_FIELD = "unknown_field"
    SHAPE = "shape"
    INVALID = "invalid"


type Segments = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault.

    Attributes:
        path: like `seats[3].handle`; empty for the document as a whole.
        segments: the same path in pieces, indexes as numbers.
        line: 1-based.
        kind: which fault.
        message: one sentence that says what to write instead.
    """

    path: str
    segments: Segments
    line: int
    kind: ProblemKind
    message: str

    @override
    def __str__(self) -> str:
        place = f"line {self.line}, {self.path}" if self.path else f"line {self.line}"
        return f"{place}: {self.message}"


class DocumentInvalid(ValueError):
    """The text is no company document; `problems` has at least one entry, by line."""

    def __init__(self, problems: tuple[Problem, ...], *, omitted: int = 0) -> None:
        self.problems = problems
        self.omitted = omitted
        lines = [str(problem) for problem in problems]
        if omitted:
            lines.append(f"and {omitted} more")
        super().__init__("\n".join(lines))


def path_of(segments: Segments) -> str:
    """Write segments as a path: `("seats", 3, "handle")` becomes `seats[3].handle`."""
    text = ""
    for segment in segments:
        if isinstance(segment, int):
            text += f"[{segment}]"
        elif segment.replace("_", "").replace("-", "").isalnum():
            text += f".{segment}" if text else segment
        else:
            text += f"[{segment!r}]"
    return text


class Report:
    """Collects faults while a document is read, so that one reading names them all."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def add(self, segments: Segments, line: int, kind: ProblemKind, message: str) -> None:
        """Note one fault."""
        self._problems.append(
            Problem(
                path=path_of(segments), segments=segments, line=line, kind=kind, message=message
            )
        )

    def raise_if_any(self) -> None:
        """Raise what was noted.

        Raises:
            DocumentInvalid: at least one fault was noted.
        """
        if not self._problems:
            return
        ordered = sorted(self._problems, key=lambda problem: problem.line)
        omitted = max(0, len(ordered) - PROBLEMS_LIMIT)
        raise DocumentInvalid(tuple(ordered[:PROBLEMS_LIMIT]), omitted=omitted)


def invalid(line: int, kind: ProblemKind, message: str) -> DocumentInvalid:
    """One fault of the document as a whole."""
    return DocumentInvalid((Problem(path="", segments=(), line=line, kind=kind, message=message),))
