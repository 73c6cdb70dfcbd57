"""The configuration pointer: which company revision is current.

The pointer's own revision is the fencing epoch. The payload travels beside it, sealed; the library
never opens it. Source: coordination.txt, slot `config`.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from coordination.contract.answers import Absent, Answer, Epoch
from coordination.contract.watch import Watch
from coordination.rules.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who made a revision and how: author kind `operator`|`node`, source `api`|`file`|`rekey`."""

    author: str = ""
    author_kind: str = ""
    source: str = ""
    created_at: Instant | None = None


NO_ORIGIN: Final = Origin()


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation(Answer):
    """The pointer as it stands."""

    revision_id: str
    epoch: Epoch
    at: Instant
    summary: str = ""
    origin: Origin = NO_ORIGIN


@dataclass(frozen=True, slots=True)
class Payload(Answer):
    """A revision's sealed body."""

    body: bytes


class Config(Protocol):
    """The configuration verbs. Errors raise; nothing is concluded from them."""

    async def activate(
        self,
        revision_id: str,
        payload: bytes,
        *,
        at: Instant,
        summary: str = "",
        origin: Origin = NO_ORIGIN,
        expect: str | None = None,
        expect_absent: bool = False,
    ) -> Activation:
        """Make a revision current: payload first, then the pointer by compare-and-set.

        Args:
            revision_id: not empty.
            payload: sealed bytes, at most 8 MiB encoded.
            at: requested instant, forced forward in whole milliseconds past the one replaced.
            summary: one line for people.
            origin: who and how.
            expect: the revision the edit derived from; with no pointer there is nobody to lose to.
            expect_absent: create-only: land only when the fleet has no pointer.

        Returns:
            The activation as it stands. The winner reads its payload back and puts it again until
            it stands, since a losing editor may have overwritten it in between.

        Raises:
            ActivationRaced: the expectation does not hold; nothing became active.
            InvalidRequest: empty revision, both expectations, or too large (both sizes named).
        """

    async def target(self) -> Activation | Absent:
        """The pointer, from the leader."""

    async def payload(self, revision_id: str) -> Payload | Absent:
        """The body of this revision; Absent when another revision's body is there."""

    async def watch(self) -> Watch[Activation, str]:
        """The pointer (one or no item), then its changes."""
