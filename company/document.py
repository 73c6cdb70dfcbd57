"""The company document as values: what a parsed revision says.

Nothing here reads or writes; `company.schema` makes these from text.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

# Never changes: a seat's agent id, and with it its budget's scope, follows from the handle alone.
AGENT_NAMESPACE: Final = uuid.UUID("5d0c7a51-9e0b-5c35-8f4e-3b8f0a2f6b17")

type Setting = str | int | float | bool | tuple["Setting", ...] | Mapping[str, "Setting"] | None


class SeatKind(StrEnum):
    """Agents are claimed by nodes; people's seats never are."""

    AGENT = "agent"
    PERSON = "person"


def agent_id_of(handle: str) -> uuid.UUID:
    """The UUIDv5 of a handle: a renamed seat is another agent with a fresh budget."""
    return uuid.uuid5(AGENT_NAMESPACE, handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Ceilings in tokens per calendar window; None means no ceiling."""

    day: int | None = None
    week: int | None = None
    month: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a seat may run; both parts must hold. Empty means anywhere."""

    node: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def admits(self, node: str, labels: Mapping[str, str]) -> bool:
        """True when a node of this id and these labels may hold the seat."""
        if self.node is not None and self.node != node:
            return False
        return all(labels.get(key) == value for key, value in self.labels.items())

    def words(self) -> str:
        """As the API writes it, such as `node=core-1 labels=gpu=a100`; empty for anywhere."""
        parts = [f"node={self.node}"] if self.node is not None else []
        if self.labels:
            parts.append("labels=" + ",".join(f"{k}={v}" for k, v in sorted(self.labels.items())))
        return " ".join(parts)


ANYWHERE: Final = Placement()
NO_CEILINGS: Final = TokenBudget()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One seat; `role` is what it does in the company, not a permission."""

    handle: str
    name: str
    role: str
    kind: SeatKind
    placement: Placement = ANYWHERE
    token_budget: TokenBudget = NO_CEILINGS

    @property
    def is_agent(self) -> bool:
        """True for a seat that a node claims."""
        return self.kind is SeatKind.AGENT

    @property
    def agent_id(self) -> uuid.UUID:
        """The constant id of this handle's agent."""
        return agent_id_of(self.handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """One external surface and its settings, as the document has them."""

    surface: str
    settings: Mapping[str, Setting]


@dataclass(frozen=True, kw_only=True)
class Company:
    """A valid document. Seats keep the order of the text."""

    name: str
    timezone: str
    seats: tuple[Seat, ...]
    token_budget: TokenBudget = NO_CEILINGS
    pause_require_reason: bool = True
    integrations: tuple[Integration, ...] = ()

    @cached_property
    def _by_handle(self) -> Mapping[str, Seat]:
        return {seat.handle: seat for seat in self.seats}

    @cached_property
    def agents(self) -> tuple[Seat, ...]:
        """The seats that nodes claim, in the order of the text."""
        return tuple(seat for seat in self.seats if seat.is_agent)

    @cached_property
    def people(self) -> tuple[Seat, ...]:
        """The seats of people."""
        return tuple(seat for seat in self.seats if not seat.is_agent)

    def seat(self, handle: str) -> Seat | None:
        """The seat of this handle; None when the document has none."""
        return self._by_handle.get(handle)
