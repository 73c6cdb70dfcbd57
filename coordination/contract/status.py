"""What each node managed to apply, and when it last said so. Source: slot `status`."""

from dataclasses import dataclass
from typing import Final, Protocol

from coordination.contract.answers import Answer, Epoch, NodeId, Written
from coordination.contract.watch import Watch
from coordination.rules.instants import Instant

ERROR_CHARACTERS: Final = 2_000  # a longer error text is cut, with an ellipsis


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigStatus(Answer):
    """One node's report: status is `applying`, `ok`, `error` or `degraded`."""

    node: NodeId
    epoch: Epoch
    status: str
    updated_at: Instant
    revision_id: str = ""
    error: str = ""


class Statuses(Protocol):
    """The status verbs. A node that stops reporting vanishes with the bucket's age."""

    async def report(self, status: ConfigStatus) -> Written:
        """Replace this node's row."""

    async def list(self) -> tuple[ConfigStatus, ...]:
        """Every row, newest first, then by node id; undecodable rows are skipped."""

    async def watch(self) -> Watch[ConfigStatus, str]:
        """A certified listing, then changes."""
