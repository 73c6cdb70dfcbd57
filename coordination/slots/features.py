"""Asking the fleet what its builds can do, over the lease verbs.

A node that did not say is *unknown*, so that a caller asks again instead of taking an older build's
silence for a no.
"""

from collections.abc import Mapping
from typing import Final

from coordination.contract.answers import Absent, Owner
from coordination.contract.leases import Lease, Leases, Supported, Unsupported
from coordination.errors import InvalidRequest, Unavailable
from coordination.rules.features import Support, features_said, support_of, support_of_all
from coordination.rules.keys import Resource, ResourceClass

_PRESENCES: Final = ResourceClass("node")


async def all_support(leases: Leases, feature: str) -> Supported | Unsupported:
    """As `contract.leases.Leases.all_support`."""
    _check(feature)
    return _fleet_answer(await leases.list_live(_PRESENCES), feature)


async def holder_supports(
    leases: Leases, resource: Resource, feature: str
) -> Supported | Unsupported:
    """As `contract.leases.Leases.holder_supports`."""
    _check(feature)
    held = await leases.get(resource)
    presences = await leases.list_live(_PRESENCES)
    if isinstance(held, Absent):
        return _fleet_answer(presences, feature)
    said: Mapping[Owner, frozenset[str] | None] = {
        presence.owner: features_said(presence.meta) for presence in presences
    }
    return _answer(support_of(said.get(held.owner), feature), feature, f"{resource}'s holder")


def _fleet_answer(presences: tuple[Lease, ...], feature: str) -> Supported | Unsupported:
    fleet = (features_said(presence.meta) for presence in presences)
    return _answer(support_of_all(fleet, feature), feature, "every live node")


def _answer(support: Support, feature: str, who: str) -> Supported | Unsupported:
    match support:
        case Support.YES:
            return Supported()
        case Support.NO:
            return Unsupported()
        case Support.UNSAID:
            msg = f"whether {who} has {feature!r} was not said"
            raise Unavailable(msg, operation="features", subject=feature)


def _check(feature: str) -> None:
    if not feature.strip():
        msg = "which feature?"
        raise InvalidRequest(msg, operation="features")
