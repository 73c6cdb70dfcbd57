"""The store: every slot over one connection."""

from dataclasses import dataclass
from typing import Protocol, override

from coordination.contract.config import Config
from coordination.contract.leases import Leases
from coordination.contract.markers import Markers
from coordination.contract.pauses import Pauses
from coordination.contract.status import Statuses
from coordination.rules.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """How to sign in to the broker."""

    user: str
    password: str

    @override
    def __repr__(self) -> str:
        """Without the password: a credential appears in no log."""
        return f"Credentials(user={self.user!r}, password=…)"


class Store(Protocol):
    """What both openers return; the certified suite runs on either."""

    @property
    def leases(self) -> Leases:
        """Leases, duties and epochs."""

    @property
    def config(self) -> Config:
        """The configuration pointer and payload."""

    @property
    def status(self) -> Statuses:
        """What each node applied."""

    @property
    def pauses(self) -> Pauses:
        """Seat pauses."""

    @property
    def markers(self) -> Markers:
        """The sweep of removal markers."""

    async def probe(self) -> Instant:
        """Ask the leader of one small bucket anything at all; its clock as the answer.

        *Live* and *could not ask* rest on it when nothing else is happening.
        """

    async def close(self) -> None:
        """Close watches, then the connection."""
