"""Key and fact, as the detail pages list them."""

from dataclasses import dataclass

from runtime.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One key with its fact; `aside` is plain words after it."""

    key: str
    fact: Fact
    id: str = ""
    aside: str = ""
