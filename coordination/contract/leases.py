"""Leases: time-bounded exclusive claims, fenced by epochs.

One verb set serves seats and presence (bucket `leases`) and every other class (bucket `duties`);
the class of the resource chooses the bucket. Epochs are minted from a third bucket that nothing
expires. Source: coordination.txt, "What the fleet shares", "Retention is a bucket's age".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from coordination.contract.answers import (
    Absent,
    Answer,
    Epoch,
    Lost,
    NotHeld,
    Owner,
    Refused,
    Released,
    Revision,
)
from coordination.contract.watch import Watch
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource, ResourceClass
from coordination.rules.leases import PROTOCOL


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease(Answer):
    """One live tenure, as the leader read it.

    `meta` is a copy of the JSON object the holder published with it; empty when it published none.
    `acquired_at` is when this tenure began (None where an older build did not say), `renewed_at`
    when the broker stored this revision, `expires_at` = renewed_at + ttl, all broker time.
    """

    resource: Resource
    owner: Owner
    epoch: Epoch
    ttl: timedelta
    renewed_at: Instant
    expires_at: Instant
    acquired_at: Instant | None = None
    hint: str = ""
    protocol: int = 0
    meta: Mapping[str, object] = field(default_factory=dict)
    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted(Answer):
    """The caller holds it."""

    lease: Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed(Answer):
    """Still held, with the new deadline."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Supported(Answer):
    """Whoever was asked about has the feature."""


@dataclass(frozen=True, slots=True)
class Unsupported(Answer):
    """Somebody who was asked about said what it has, and this is not among it."""


class Leases(Protocol):
    """The lease verbs. Every answer may instead be `Unavailable`.

    Unknown: a renewal or acquire that could not be asked HOLDS what is held, admits nothing new,
    and is tried again until the TTL has really elapsed.
    """

    @property
    def ttl_in_force(self) -> timedelta:
        """The lease bucket's age: what bounds seats and presence, whatever this node asked for."""

    async def acquire(
        self,
        resource: Resource,
        *,
        owner: Owner,
        ttl: timedelta,
        hint: str | None = None,
        protocol: int = PROTOCOL,
        meta: Mapping[str, object] | None = None,
        gated: bool = True,
    ) -> Granted | Refused:
        """Claim a resource, or extend the caller's own tenure at the same epoch.

        Args:
            resource: what to hold.
            owner: this process incarnation.
            ttl: span from the broker's clock; seats and presence up to the TTL in force, all else
                up to three hours.
            hint: node id to prefer next time; None keeps what stands.
            protocol: this build's version, stamped on the record.
            meta: JSON object published with the lease and replacing the old one; None keeps it.
            gated: whether the mixed-version gate judges the claim (seats yes; presence, duties no).

        Returns:
            Granted with the lease, or Refused: `held` outranks `protocol`.

        Raises:
            Unavailable: could not be asked; a claim half made is taken back.
            InvalidRequest: blank owner, TTL out of range, meta that does not read back.

        Cost: four reads and three writes for a new tenure, two and one for an extension; a gated
        claim adds its two judgements.
        """

    async def renew(self, lease: Lease, *, ttl: timedelta) -> Renewed | Lost:
        """Push the deadline of a tenure matched on resource, owner and epoch. Never gated.

        Returns:
            Renewed, or Lost: a lapsed lease is re-claimed, never renewed. The lease it carries
            states its new instants from a lower bound of the broker's clock taken before the
            write: while that clock does not run back, the true deadline is never earlier than the
            one stated. A read has it exactly; nothing is decided by the one stated.

        Raises:
            Unavailable: ownership is unchanged as far as anyone knows; the next renewal settles it.
            InvalidRequest: blank owner or a TTL out of range.

        Cost: one leader read, one write, and once a minute the broker's clock.
        """

    async def release(self, lease: Lease) -> Released | NotHeld:
        """Give a tenure back, leaving a tombstone that keeps epoch, hint and meta.

        Cost: one leader read, one write.
        """

    async def get(self, resource: Resource) -> Lease | Absent:
        """Who holds it now. Cost: one leader read (and the clock where the TTL is a short one)."""

    async def list_live(self, resource_class: ResourceClass) -> tuple[Lease, ...]:
        """Every live lease of a class, sorted by resource: all of them, or `Unavailable`."""

    async def list_owned(self, owner: Owner) -> tuple[Lease, ...]:
        """Every live lease of one owner in both lanes, sorted by resource."""

    async def hints(self, resource_class: ResourceClass, node: str) -> tuple[Resource, ...]:
        """Resources whose placement hint names this node, lapsed ones included, sorted."""

    async def protocol_floor(self) -> int | Absent:
        """The lowest protocol among live seats and presences; Absent when none is live."""

    async def all_support(self, feature: str) -> Supported | Unsupported:
        """Whether every live node's build has a feature, by what its presence says.

        Raises:
            Unavailable: could not be asked, no node is alive, or one did not say and none lacks it.

        Cost: one listing.
        """

    async def holder_supports(self, resource: Resource, feature: str) -> Supported | Unsupported:
        """Whether the build that holds a resource has a feature; all live nodes' where nobody does.

        The holder is the process incarnation that holds both: a presence of another owner says
        nothing about it.

        Raises:
            Unavailable: could not be asked, or whoever decides did not say.

        Cost: one leader read and one listing.
        """

    async def watch(self, resource_class: ResourceClass) -> Watch[Lease, Resource]:
        """A certified listing of a class and then its changes; a renewal is a change too.

        A lapse reaches no watch: judge `expires_at` against the store's clock.
        """
