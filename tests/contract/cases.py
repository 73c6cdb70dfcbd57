"""Which case a test certifies, and what the backend answered while it did."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pytest

MARK: Final = "case"


class Scope(StrEnum):
    """Which backends a case is due on."""

    BOTH = "both"  # the twin and a broker
    KV = "kv"  # a broker only
    CLUSTER = "cluster"  # a broker of several members only
    LEAF = "leaf"  # a broker reached over a leaf link only


@dataclass(slots=True)
class Tally:
    """How often a backend said yes, said no, and could not be asked."""

    yes: int = 0
    no: int = 0
    unknown: int = 0

    @property
    def definite(self) -> int:
        """Answers that certify something."""
        return self.yes + self.no


def case[F: Callable[..., object]](
    name: str, *, scope: str = "both", definite: bool = True
) -> Callable[[F], F]:
    """File a test under a contract case.

    Args:
        name: the case's id, such as `LSE-07`.
        scope: `both`, `kv`, `cluster` or `leaf`.
        definite: whether a definite answer is due; a case that saw only unknowns then fails.
    """
    mark = pytest.mark.case(name, Scope(scope), definite)

    def file(test: F) -> F:
        marked: F = mark(test)
        return marked

    return file


def case_of(item: pytest.Item) -> tuple[str, Scope, bool] | None:
    """The case an item certifies: id, scope and whether a definite answer is due."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return None
    name, scope, definite = mark.args
    return str(name), Scope(scope), bool(definite)
