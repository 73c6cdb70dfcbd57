"""What a caller does when the store could not be asked: one named function per contract.

The safe direction differs from contract to contract, so it is data, with its source. These
functions and `runtime.reading` (which turns it into *unknown* for display) are the only places that
may catch `Unavailable`, besides the outermost line of a periodic loop.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from coordination.contract.answers import Absent, Answer, Lost, NotHeld, Refused, Released
from coordination.contract.config import Activation, Config
from coordination.contract.leases import Granted, Lease, Leases, Renewed
from coordination.contract.pauses import Pause, Pauses
from coordination.errors import Unavailable
from coordination.rules.leases import LostReason


class Direction(StrEnum):
    """The safe directions."""

    HOLD = "hold"  # keep doing what is being done, until the TTL has really elapsed
    DO_NOT_RUN = "do not run"  # begin nothing new
    KEEP = "keep"  # go on with what was last known
    CONCLUDE_NOTHING = "conclude nothing"  # neither change nor undo anything
    LET_LAPSE = "let lapse"  # stop acting on it; it ends by itself at its TTL


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One contract's direction on an unreachable store, why, and where that is said."""

    direction: Direction
    because: str
    source: str


RENEW: Final = Policy(
    direction=Direction.HOLD,
    because="ambiguity is not loss; the watchdog bounds it by the TTL",
    source='coordination.txt, "The three-valued answer", row "Lease renew"',
)
ACQUIRE: Final = Policy(
    direction=Direction.DO_NOT_RUN,
    because="what may be a peer's is not begun; it is no refusal either, so it is asked again",
    source='coordination.txt, "The three-valued answer"; slots `leases` and `duties`',
)
RELEASE: Final = Policy(
    direction=Direction.LET_LAPSE,
    because="what could not be given back is renewed no more, and its disappearance is its end",
    source='coordination.txt, "Retention is a bucket\'s age", slot `leases`',
)
PAUSES: Final = Policy(
    direction=Direction.KEEP,
    because="a pause that cannot be read has not been lifted, which would be a resume nobody chose",
    source='coordination.txt, slot `positions`, `seat_pause`; "The one watch the store hands"',
)
CONFIG: Final = Policy(
    direction=Direction.CONCLUDE_NOTHING,
    because="the pointer fences every node: an unread one is neither absent nor unchanged",
    source="coordination.txt, slot `config`",
)
POLICIES: Final = {
    "leases.renew": RENEW,
    "leases.acquire": ACQUIRE,
    "leases.release": RELEASE,
    "pauses.list": PAUSES,
    "config.target": CONFIG,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRunning(Answer):
    """The tenure was renewed, or could not be asked about: `unknown` says which.

    `lease` is the newest known; where `unknown` is set its deadline has not moved.
    """

    lease: Lease
    unknown: Unavailable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shed(Answer):
    """The tenure is gone: stop at once."""

    because: LostReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Answer):
    """The resource is held: its work may begin or go on."""

    lease: Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class StandBy(Answer):
    """Begin nothing: refused by the store, or it could not be asked."""

    because: Refused | Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftToLapse(Answer):
    """It could not be given back, or nobody knows: it ends at its TTL."""

    because: Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce(Answer):
    """The pauses to obey; `unknown` is set when they are the ones last known."""

    pauses: tuple[Pause, ...]
    unknown: Unavailable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed(Answer):
    """What the store says is active."""

    target: Activation | Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingConcluded(Answer):
    """The pointer could not be read: keep the configuration applied and ask again."""

    because: Unavailable


async def renew_or_hold(leases: Leases, lease: Lease, *, ttl: timedelta) -> KeepRunning | Shed:
    """Renew a tenure; hold it when that could not be asked (`RENEW`).

    The caller still stops once the TTL has really elapsed since the last renewal it was sure of.
    """
    try:
        answer = await leases.renew(lease, ttl=ttl)
    except Unavailable as unknown:
        return KeepRunning(lease=lease, unknown=unknown)
    match answer:
        case Renewed(lease=renewed):
            return KeepRunning(lease=renewed)
        case Lost(because=because):
            return Shed(because=because)


async def acquire_or_stand_by(claim: Awaitable[Granted | Refused]) -> Run | StandBy:
    """Await a claim; run nothing when that could not be asked (`ACQUIRE`).

    Args:
        claim: such as `leases.acquire(resource, owner=…, ttl=…)`, not awaited yet.
    """
    try:
        answer = await claim
    except Unavailable as unknown:
        return StandBy(because=unknown)
    match answer:
        case Granted(lease=lease):
            return Run(lease=lease)
        case Refused():
            return StandBy(because=answer)


async def release_or_let_lapse(leases: Leases, lease: Lease) -> Released | NotHeld | LeftToLapse:
    """Give a tenure back; let it lapse when that could not be asked (`RELEASE`)."""
    try:
        return await leases.release(lease)
    except Unavailable as unknown:
        return LeftToLapse(because=unknown)


async def pauses_or_last_known(pauses: Pauses, known: tuple[Pause, ...]) -> InForce:
    """The pauses in force; the ones last known when they could not be read (`PAUSES`)."""
    try:
        return InForce(pauses=await pauses.list())
    except Unavailable as unknown:
        return InForce(pauses=known, unknown=unknown)


async def target_or_nothing(config: Config) -> Pointed | NothingConcluded:
    """The active revision; nothing is concluded when it could not be read (`CONFIG`)."""
    try:
        return Pointed(target=await config.target())
    except Unavailable as unknown:
        return NothingConcluded(because=unknown)
