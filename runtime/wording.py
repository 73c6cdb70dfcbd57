"""What nodes do while the store cannot be asked: one table, so that no page invents its own words.

Each sentence says the safe direction that ``coordination.policies`` takes for the same slot.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """One slot's safe direction.

    Args:
        topic: the name pages ask by.
        label: what it is about, as a key in a list.
        brief: the direction as the value beside that key.
        sentence: the direction standing alone, after a dash or as a note.
    """

    topic: str
    label: str
    brief: str
    sentence: str


_TABLE: Final = (
    Direction(
        topic="leases",
        label="Lease renewals",
        brief="held for now, not lost",
        sentence="leases are held for now, not lost",
    ),
    Direction(
        topic="pauses",
        label="Seat pauses",
        brief="nodes keep the pauses they last read",
        sentence="nodes keep the pauses they last read",
    ),
    Direction(
        topic="claims",
        label="New claims",
        brief="none is made until the store answers",
        sentence="no seat is claimed until the store answers",
    ),
    Direction(
        topic="config",
        label="Company document",
        brief="nodes keep the revision they last applied",
        sentence="nodes keep the revision they last applied",
    ),
    Direction(
        topic="budgets",
        label="Token budgets",
        brief="charges stop the round until the counter can be read",
        sentence="charges stop the round until the counter can be read",
    ),
    Direction(
        topic="notifications",
        label="Notifications",
        brief="wait",
        sentence="notifications wait",
    ),
    Direction(
        topic="deliveries",
        label="Deliveries",
        brief="work runs, possibly twice",
        sentence="work runs, possibly twice",
    ),
)

SAFE_DIRECTIONS: Final = {row.topic: row for row in _TABLE}


def directions(*topics: str) -> tuple[Direction, ...]:
    """The rows of these topics, in the order asked.

    Raises:
        KeyError: a topic the table does not know.
    """
    return tuple(SAFE_DIRECTIONS[topic] for topic in topics)
