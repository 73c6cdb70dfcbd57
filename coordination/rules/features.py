"""What the builds of a fleet can do, from what their presences say about themselves.

A build lists its features in its presence's status. One that published no status did not say, which
is neither a yes nor a no. Source: coordination.txt, "What a node says about itself".
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

MCP_STATUS: Final = "mcp_status"  # it publishes how its MCP servers started


class Support(StrEnum):
    """Whether a feature can be relied on."""

    YES = "yes"
    NO = "no"
    UNSAID = "unsaid"  # somebody who decides it did not say


def features_said(meta: Mapping[str, object]) -> frozenset[str] | None:
    """The features a presence names; None where it did not say.

    Args:
        meta: what the holder published with its presence.
    """
    status = meta.get("status")
    if not isinstance(status, dict):
        return None
    listed = status.get("features", [])
    if not isinstance(listed, list):
        return None
    return frozenset(name for name in listed if isinstance(name, str))


def support_of(said: frozenset[str] | None, feature: str) -> Support:
    """Whether one node has a feature.

    Args:
        said: what its presence names, None where it did not say or has no presence.
        feature: its name.
    """
    if said is None:
        return Support.UNSAID
    return Support.YES if feature in said else Support.NO


def support_of_all(fleet: Iterable[frozenset[str] | None], feature: str) -> Support:
    """Whether every live node has a feature.

    One node without it decides, whatever the others said; without a live node nobody said.

    Args:
        fleet: what each live presence names.
        feature: its name.
    """
    answers = {support_of(said, feature) for said in fleet}
    if Support.NO in answers:
        return Support.NO
    return Support.YES if answers == {Support.YES} else Support.UNSAID
