"""What a node says about itself on its presence lease."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

HEARTBEATS_A_TTL: Final = 3
SERVING: Final = "serve"  # the posture of a node that is well


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A node as it was set up.

    Attributes:
        node: its id, stable over restarts.
        roles: what it does for the fleet.
        labels: what selectors look at.
        broker: `member`, `leaf` or `client`.
        started_at: of this process.
        ttl: of its seats and its presence.
        is_local: no peer can exist, so leases of earlier incarnations are given back at the start.
        declared: what its own configuration asks for, for pages that compare nodes: build,
            lease_ttl_seconds, replicas, coordination.
    """

    node: str
    roles: tuple[str, ...]
    started_at: datetime
    ttl: timedelta
    labels: Mapping[str, str] = field(default_factory=dict)
    broker: str = "member"
    is_local: bool = False
    declared: Mapping[str, object] = field(default_factory=dict)

    @property
    def heartbeat(self) -> timedelta:
        """Span between two renewals."""
        return self.ttl / HEARTBEATS_A_TTL

    @property
    def claims_seats(self) -> bool:
        """Whether it has the role."""
        return "seats" in self.roles

    def presence_meta(self, *, draining: bool) -> Mapping[str, object]:
        """The presence lease's meta; `in_flight` is 0 because no runner runs a turn here."""
        return {
            "roles": list(self.roles),
            "labels": dict(self.labels),
            "broker": self.broker,
            **({"settings": dict(self.declared)} if self.declared else {}),
            "status": {
                "in_flight": 0,
                "draining": draining,
                "posture": SERVING,
                "started_at": self.started_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        }
