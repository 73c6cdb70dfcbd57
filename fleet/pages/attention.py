"""What needs a person: shown only when there is something, oldest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from fleet.pages.cells import asks, clip, short_revision
from fleet.pages.dom import node_url, seat_url
from fleet.services.index import NodeEntry
from fleet.services.picture import Picture
from fleet.services.standing import Standings

ROLES: Final = ("data", "ingress", "seats", "workers")
DRAIN_PATIENCE: Final = timedelta(minutes=30)
SHOWN: Final = 5
REASON_SHOWN: Final = 120  # characters of an apply error
_LAST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line: what it is about (in mono), what is the matter, since when, where to look."""

    mark: str
    subject: str
    text: str
    since: datetime | None = None
    url: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """The first items and how many there are."""

    items: tuple[Item, ...]
    count: int

    @property
    def more(self) -> int:
        """Items not shown."""
        return self.count - len(self.items)


def list_attention(picture: Picture, standings: Standings) -> Attention:
    """Everything to look at; nothing while the membership cannot be listed."""
    if not picture.presences.is_known:
        return Attention(items=(), count=0)
    found = [*_nodes(picture), *_seats(picture, standings), *_roles(picture)]
    found.sort(key=lambda item: (item.since or _LAST, item.subject))
    return Attention(items=tuple(found[:SHOWN]), count=len(found))


def _nodes(picture: Picture) -> Iterator[Item]:
    for node in picture.live_nodes:
        entry = picture.index.nodes[node]
        url, label = node_url(node), f"Open {node}"
        since = entry.report.draining_since
        if since is not None and picture.now - since > DRAIN_PATIENCE:
            yield Item(
                mark="draining", subject=node, text="is draining", since=since, url=url, label=label
            )
        if picture.is_late(entry.lease):
            text = "has not renewed its presence lease, which lapses unless it does"
            if picture.is_overdue(entry.lease):
                text = "has let its presence lease lapse, and the broker does not remove the record"
            since = entry.renewed_at
            yield Item(mark="warn", subject=node, text=text, since=since, url=url, label=label)
        if entry.report.posture in {"shed", "stuck"}:
            text = f"reports the posture {entry.report.posture}: it takes no work"
            yield Item(mark="warn", subject=node, text=text, url=url, label=label)
        if (failed := _apply_error(entry)) is not None:
            yield failed


def _apply_error(entry: NodeEntry) -> Item | None:
    status = entry.config
    if status is None or status.status != "error":
        return None
    revision = short_revision(status.revision_id)
    why = clip(status.error, REASON_SHOWN) or "no reason was given"
    return Item(
        mark="critical",
        subject=entry.node,
        text=f"could not apply revision {revision}: {why}",
        since=status.updated_at.as_datetime(),
        url=node_url(entry.node),
        label=f"Open {entry.node}",
    )


def _seats(picture: Picture, standings: Standings) -> Iterator[Item]:
    del picture
    for seat in standings.placing.unplaceable:
        words = asks(seat.placement)
        why = f"it asks for {words}, no live node fits" if words else "no live node holds seats"
        yield Item(
            mark="warn",
            subject=seat.handle,
            text=f"cannot be placed: {why}",
            url=seat_url(seat.handle),
            label=f"Open {seat.handle}",
        )


def _roles(picture: Picture) -> Iterator[Item]:
    for role in unmanned_roles(picture):
        yield Item(mark="warn", subject=role, text="is a role that no live node has")


def unmanned_roles(picture: Picture) -> tuple[str, ...]:
    """Roles that no live node has; none while some live node did not say its roles."""
    said = [picture.index.nodes[node].report.roles for node in picture.live_nodes]
    if not said or None in said:
        return ()
    manned = {role for roles in said for role in roles or ()}
    return tuple(role for role in ROLES if role not in manned)
