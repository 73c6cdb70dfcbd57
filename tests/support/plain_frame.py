"""A page frame without a store behind it, for pages that need none."""

from datetime import UTC, datetime

from django.http import HttpRequest

from runtime.facts import none
from runtime.frame import Frame, LinkState
from runtime.moments import Clock


def frame(request: HttpRequest) -> dict[str, Frame]:
    """A context processor: Harbourline on core-1, the store answering."""
    now = datetime.now(UTC)
    user = request.user
    return {
        "frame": Frame(
            company="Harbourline",
            node="core-1",
            build="0.0.0",
            person=getattr(user, "display_name", ""),
            role=getattr(user, "role", ""),
            link=LinkState(up=True, since=now, answered_at=now),
            paused=none("0"),
            clock=Clock(now=now),
            path=request.path,
        )
    }
