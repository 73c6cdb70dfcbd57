"""Who holds a lease: pure judgements over what the leader said.

A lease is over when its deadline passed by the broker's clock, or when its bucket's age removed the
key. In the lease bucket a record that asked for the whole age needs no clock: while the key is
there it is held, and its disappearance is its end.
Source: coordination.txt, "Retention is a bucket's age" and "The lease TTL bounds seats and
presence only".
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from coordination.errors import InvalidRequest, TtlTooLong
from coordination.rules.instants import Instant, nanos_of
from coordination.rules.keys import Resource

PROTOCOL: Final = 4  # what this build writes and asks of its peers: windowed counters
MAX_DUTY_TTL: Final = timedelta(hours=3)  # the longest duty; every other claim is far shorter
DEFAULT_LEASE_TTL: Final = timedelta(seconds=45)
CAS_ROUNDS: Final = 64  # lost races a lease operation takes before it gives up as unavailable
ABANDON_WITHIN: Final = timedelta(seconds=5)  # how long a half-made claim may be cleaned up for


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands on a lease key: the record's deciding fields and when the broker stored it."""

    owner: str
    epoch: int
    ttl_ns: int
    written_at: Instant
    claim: str = ""

    @property
    def deadline(self) -> Instant:
        """When it lapses by the broker's clock."""
        return Instant(self.written_at.nanos + self.ttl_ns)

    @property
    def is_tombstone(self) -> bool:
        """Released or abandoned: nobody's."""
        return not self.owner

    @property
    def is_claiming(self) -> bool:
        """A claim whose epoch is not minted yet."""
        return bool(self.owner) and self.epoch == 0


def needs_clock(standing: Standing, age: timedelta | None) -> bool:
    """Whether only the broker's clock can tell if this record is still held.

    Args:
        standing: what the leader read.
        age: the lease bucket's age in force; None in the duties lane, whose records are judged by
            their own deadline.
    """
    if standing.is_tombstone:
        return False
    return age is None or standing.ttl_ns < nanos_of(age)


def is_held(standing: Standing, age: timedelta | None, now: Instant | None) -> bool:
    """Whether somebody holds it: a live tenure, or a claim being made.

    Args:
        standing: what the leader read.
        age: as for `needs_clock`.
        now: the broker's clock, required where `needs_clock` says so.
    """
    if standing.is_tombstone:
        return False
    if not needs_clock(standing, age):
        return True
    if now is None:
        msg = "this record's end can only be judged against the broker's clock"
        raise InvalidRequest(msg)
    return standing.deadline > now


class Move(StrEnum):
    """What an acquire does next."""

    REFUSE_HELD = "refuse_held"  # a peer has it
    AGAIN = "again"  # another call of this owner is half way: look again
    EXTEND = "extend"  # already ours: same epoch, new deadline
    CLAIM = "claim"  # free, lapsed or released: a new tenure


def judge_acquire(
    standing: Standing | None, owner: str, *, held: bool, in_flight: Collection[str] = ()
) -> Move:
    """The next step of an acquire.

    Args:
        standing: what the leader read, None when nothing stands there.
        owner: who asks.
        held: `is_held` of it.
        in_flight: claim ids this owner is making now. A claim of its own that is not among them was
            left behind by a call that failed, and is claimed over: its late writes lose.
    """
    if standing is None or not held:
        return Move.CLAIM
    if standing.owner != owner:
        return Move.REFUSE_HELD
    if not standing.is_claiming:
        return Move.EXTEND
    return Move.AGAIN if standing.claim in in_flight else Move.CLAIM


class LostReason(StrEnum):
    """Why a renewal or release found nothing of the caller's."""

    ABSENT = "absent"
    RELEASED = "released"
    LAPSED = "lapsed"
    TAKEN_OVER = "taken_over"


def judge_tenure(
    standing: Standing | None, owner: str, epoch: int, *, held: bool
) -> LostReason | None:
    """Whether this owner still has this tenure; None when it does."""
    if standing is None:
        return LostReason.ABSENT
    if standing.is_tombstone:
        return LostReason.RELEASED
    if standing.owner != owner or standing.epoch != epoch or standing.is_claiming:
        return LostReason.TAKEN_OVER
    if not held:
        return LostReason.LAPSED
    return None


class Abandonment(StrEnum):
    """What cleaning up a half-made claim has to do."""

    NOTHING = "nothing"
    TOMBSTONE = "tombstone"  # write a tombstone over the revision read
    FENCE = "fence"  # nothing there: create a tombstone so that the late write loses


def plan_abandon(
    standing: Standing | None, *, claim: str, revision: int, made_over: int, tenure: int = 0
) -> Abandonment:
    """How to take back a claim that failed half way, or whose caller never learned of it.

    Args:
        standing: what the leader reads now.
        claim: our claim id.
        revision: the revision read now; 0 when nothing is there.
        made_over: the revision the claim was written over; 0 when it was a create.
        tenure: the revision its tenure was acknowledged at; 0 when it was not. Another call of the
            same owner that has extended it since has moved the revision, and keeps it.
    """
    if standing is not None and standing.is_claiming and standing.claim == claim:
        return Abandonment.TOMBSTONE
    if tenure != 0 and revision == tenure:
        return Abandonment.TOMBSTONE
    if made_over == 0 and revision == 0:
        return Abandonment.FENCE
    if made_over != 0 and revision == made_over:
        return Abandonment.TOMBSTONE
    return Abandonment.NOTHING


def ttl_ceiling(resource: Resource, lease_age: timedelta) -> timedelta:
    """The longest TTL this resource's bucket can keep."""
    return lease_age if resource.resource_class.is_seat_lane else MAX_DUTY_TTL


def check_claim(resource: Resource, owner: str, ttl: timedelta, lease_age: timedelta) -> None:
    """Refuse a claim or renewal that cannot be meant.

    Raises:
        InvalidRequest: blank owner or a TTL that is not positive.
        TtlTooLong: more than the bucket can keep; never clamped.
    """
    check_owner(owner, str(resource))
    if ttl <= timedelta(0):
        msg = f"a TTL must be positive, not {ttl}"
        raise InvalidRequest(msg, subject=str(resource))
    ceiling = ttl_ceiling(resource, lease_age)
    if ttl > ceiling:
        msg = f"a TTL of {ttl} is longer than the {ceiling} that {resource} can be kept for"
        raise TtlTooLong(msg, subject=str(resource))


def check_owner(owner: str, subject: str) -> None:
    """Refuse a blank owner: it is an error, never somebody else's lease."""
    if not owner.strip():
        msg = "an owner is required: node id, process name and a random part"
        raise InvalidRequest(msg, subject=subject)
