"""Element ids: how a row and its cells are found by live frames."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from coordination.rules.keys import escape
from runtime.facts import Fact

NODE_COLUMNS: Final = (
    "roles",
    "labels",
    "seats",
    "turns",
    "posture",
    "config",
    "presence",
    "up",
    "tags",
)
SEAT_COLUMNS: Final = ("state", "holder", "since", "turn", "paused", "action")
_SUFFIXES: Final = tuple(f"-{column}" for column in (*NODE_COLUMNS, *SEAT_COLUMNS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One fact in its place: the element's id, the label it has on a card, its classes."""

    id: str
    label: str
    fact: Fact
    css: str = ""
    setting: str = "cell"


def row_id(kind: str, name: str) -> str:
    """`node-core-1`, `seat-ada-pm`; no name can make the id of another one's cell."""
    safe = escape(name)
    if safe.endswith(_SUFFIXES):
        head, _, tail = safe.rpartition("-")
        safe = f"{head}=2D{tail}"
    return f"{kind}-{safe}"


def node_url(node: str) -> str:
    """The page of a node."""
    return f"/fleet/nodes/{quote(node, safe='')}/"


def seat_url(handle: str) -> str:
    """The page of a seat."""
    return f"/seats/{quote(handle, safe='')}/"


def pause_url(handle: str) -> str:
    """The form that pauses a seat."""
    return f"/seats/pause/?handle={quote(handle, safe='')}"


def resume_url(handle: str) -> str:
    """The form that resumes a seat."""
    return f"/seats/resume/?handle={quote(handle, safe='')}"
