"""One node's page."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from coordination.contract.answers import Absent
from coordination.contract.leases import Lease
from fleet.pages import cells, dom, seat_cells
from fleet.pages.banner import Banner, above_one, membership_banner
from fleet.pages.board import Tag, node_tags
from fleet.pages.lines import Line
from fleet.services.departed import Departed
from fleet.services.index import NodeEntry
from fleet.services.picture import Picture, Told
from fleet.services.standing import Standing, standings_of
from runtime import facts
from runtime.facts import Fact

SEATS_SHOWN: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSeat:
    """One seat the node holds."""

    handle: str
    url: str
    name: str
    since: Fact
    paused: Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePage:
    """A node that holds a presence lease, or held one when last asked."""

    node: str
    row: str
    tags: tuple[Tag, ...]
    banner: Banner
    lease: tuple[Line, ...]
    running: tuple[Line, ...]
    config: tuple[Line, ...]
    settings: tuple[Line, ...]
    seats: tuple[HeldSeat, ...]
    seats_count: Fact
    duties: tuple[Line, ...]
    duties_count: Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSuchNode:
    """No lease names this node: the store said so."""

    node: str
    seen: Departed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUnknown:
    """The membership could not be listed and no earlier listing names the node."""

    node: str
    banner: Banner
    seen: Departed | None


def draw_node(
    picture: Picture,
    node: str,
    *,
    duties: Told[tuple[Lease, ...]],
    seen: Departed | None = None,
) -> NodePage | NoSuchNode | NodeUnknown:
    """The page, or why there is none."""
    entry = picture.index.nodes.get(node)
    if entry is None or node not in picture.live_nodes:
        if picture.presences.is_known:
            return NoSuchNode(node=node, seen=seen)
        banner = replace(above_one(membership_banner(picture)), as_of=None)
        return NodeUnknown(node=node, banner=banner, seen=seen)
    row = dom.row_id("node", node)
    standings = standings_of(picture)
    held = [standings.of(lease.resource.name) for lease in entry.seats]
    mine = [lease for lease in duties.value or () if _node_of(lease) == node]
    return NodePage(
        node=node,
        row=row,
        tags=node_tags(picture, entry),
        banner=above_one(membership_banner(picture)),
        lease=_lease_lines(picture, entry, row),
        running=_running_lines(picture, entry, row),
        config=_config_lines(picture, entry, row),
        settings=_settings_lines(picture, entry),
        seats=tuple(_held_seat(picture, standing) for standing in held[:SEATS_SHOWN]),
        seats_count=cells.quick(cells.seats_held(entry), picture.seats),
        duties=tuple(_duty_line(lease, duties) for lease in mine),
        duties_count=_duties_count(mine, duties),
    )


def _node_of(lease: Lease) -> str:
    return str(lease.owner).rpartition(":")[0]


def _lease_lines(picture: Picture, entry: NodeEntry, row: str) -> tuple[Line, ...]:
    told = picture.presences
    lapses = facts.value("", moment=entry.expires_at, form="in")
    return (
        Line(key="Presence", fact=cells.presence(picture, entry), id=f"{row}-presence"),
        Line(
            key="Lease lapses",
            fact=cells.quick(lapses, told, text="held for now"),
            id=f"{row}-deadline",
        ),
        Line(
            key="Fencing owner",
            fact=cells.slow(facts.value(str(entry.lease.owner), mono=True), told),
            aside="changes on restart",
        ),
        Line(key="Lease epoch", fact=cells.slow(facts.number(int(entry.lease.epoch)), told)),
        Line(key="Roles", fact=cells.slow(cells.roles(entry), told), id=f"{row}-roles"),
        Line(key="Labels", fact=cells.slow(_all_labels(entry), told), id=f"{row}-labels"),
        Line(key="Broker", fact=cells.slow(_said(entry.report.broker), told)),
    )


def _all_labels(entry: NodeEntry) -> Fact:
    said = entry.report.labels
    if said is None:
        return facts.unsaid()
    return facts.value(", ".join(cells.label_words(said)), mono=True) if said else facts.none()


def _running_lines(picture: Picture, entry: NodeEntry, row: str) -> tuple[Line, ...]:
    told, report = picture.presences, entry.report
    return (
        Line(
            key="Turns in flight",
            fact=cells.quick(cells.turns(entry), told),
            id=f"{row}-turns",
        ),
        Line(key="Draining", fact=cells.quick(_draining(entry), told), id=f"{row}-draining"),
        Line(key="Posture", fact=cells.slow(cells.posture(entry), told), id=f"{row}-posture"),
        Line(key="Up since", fact=cells.slow(_moment(report.started_at), told), id=f"{row}-up"),
        Line(
            key="Reported",
            fact=cells.slow(_moment(entry.renewed_at), told),
            id=f"{row}-reported",
            aside="with its presence lease",
        ),
    )


def _draining(entry: NodeEntry) -> Fact:
    said, since = entry.report.draining, entry.report.draining_since
    if said is None:
        return facts.unsaid()
    if not said:
        return facts.none("not draining")
    if since is None:
        return facts.value("draining", mark="draining")
    return facts.value("draining since", mark="draining", moment=since, form="at")


def _moment(at: datetime | None) -> Fact:
    if at is None:
        return facts.unsaid()
    return facts.value("", moment=at, note_moment=at)


def _said(text: str | None, *, mono: bool = False) -> Fact:
    return facts.value(text, mono=mono) if text else facts.unsaid()


def _config_lines(picture: Picture, entry: NodeEntry, row: str) -> tuple[Line, ...]:
    status, active = entry.config, picture.activation.value
    told = picture.statuses
    lines = [
        Line(key="Standing", fact=_standing_alone(picture, entry), id=f"{row}-config"),
        Line(
            key="Applied",
            fact=cells.slow(
                _said(status.revision_id if status is not None else None, mono=True), told
            ),
        ),
    ]
    if active is None or isinstance(active, Absent):
        shown = facts.none("no revision is active") if active is not None else facts.unknown(None)
    else:
        shown = facts.value(active.revision_id, mono=True)
    lines.append(Line(key="Active", fact=cells.slow(shown, picture.activation)))
    if active is not None and not isinstance(active, Absent):
        since = _moment(active.at.as_datetime())
        lines.append(Line(key="Active since", fact=cells.slow(since, picture.activation)))
    if status is not None:
        at = status.updated_at.as_datetime()
        lines.append(Line(key="Reported", fact=cells.slow(_moment(at), told)))
        if status.error:
            error = facts.value(status.error, mark="critical")
            lines.append(Line(key="Error", fact=cells.slow(error, told)))
    return tuple(lines)


def _standing_alone(picture: Picture, entry: NodeEntry) -> Fact:
    """The word without its evidence, which has lines of its own here."""
    fact = cells.config(picture, entry)
    return fact if fact.state is facts.FactState.UNSAID else replace(fact, note="")


def _settings_lines(picture: Picture, entry: NodeEntry) -> tuple[Line, ...]:
    report, told = entry.report, picture.presences
    asked = f"{report.lease_ttl.total_seconds():g} s" if report.lease_ttl else None
    return (
        Line(
            key="Lease TTL",
            fact=cells.slow(facts.value(f"{entry.lease.ttl.total_seconds():g} s"), told),
            aside="in force for its presence",
        ),
        Line(key="Its file says", fact=cells.slow(_said(asked), told)),
        Line(key="Build", fact=cells.slow(_said(report.build), told)),
        Line(key="Lease protocol", fact=cells.slow(facts.number(entry.lease.protocol), told)),
        Line(key="Coordination", fact=cells.slow(_said(report.coordination), told)),
    )


def _held_seat(picture: Picture, standing: Standing) -> HeldSeat:
    return HeldSeat(
        handle=standing.handle,
        url=dom.seat_url(standing.handle),
        name=standing.seat.name if standing.seat else "not in the company document",
        since=cells.slow(seat_cells.held_since(standing), picture.seats),
        paused=cells.quick(seat_cells.paused(standing), picture.pauses),
    )


def _duty_line(lease: Lease, duties: Told[tuple[Lease, ...]]) -> Line:
    fact = facts.value("", moment=lease.expires_at.as_datetime(), form="in")
    return Line(key=lease.resource.name, fact=cells.quick(fact, duties), aside="its deadline")


def _duties_count(mine: list[Lease], duties: Told[tuple[Lease, ...]]) -> Fact:
    fact = facts.number(len(mine)) if mine else facts.none()
    return cells.quick(fact, duties)
