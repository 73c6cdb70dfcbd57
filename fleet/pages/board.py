"""The fleet page: figures, what needs attention, every node, who left."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from coordination.contract.answers import Absent
from fleet.pages import cells, dom
from fleet.pages.attention import Attention, list_attention
from fleet.pages.banner import Banner, membership_banner
from fleet.pages.dom import Cell
from fleet.pages.figures import Figure, draw_figures
from fleet.pages.query import ListQuery, Window, count_rows, cut_window
from fleet.services.departed import Departed
from fleet.services.index import NodeEntry
from fleet.services.picture import Picture
from fleet.services.standing import standings_of
from runtime import facts
from runtime.facts import Fact

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A word beside a name."""

    word: str
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node's row."""

    id: str
    node: str
    url: str
    tags: tuple[Tag, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The fleet page. `blank` is set when nothing was ever known: then nothing else is drawn."""

    query: ListQuery
    blank: Banner | None
    banner: Banner
    figures: tuple[Figure, ...]
    attention: Attention
    window: Window[NodeRow]
    seats_total: Fact
    turns_total: Fact
    departed: tuple[Departed, ...]

    is_known: bool

    @property
    def count(self) -> str:
        """How many nodes, beside the table's name."""
        shown = count_rows(self.window)
        return shown if self.is_known else f"last known {shown}"

    @property
    def total(self) -> str:
        """How many nodes match, under the table."""
        count = self.window.matching
        words = f"{count:,} node{'' if count == 1 else 's'}"
        return words if self.is_known else f"last known {words}"


def draw_board(picture: Picture, query: ListQuery, departed: Sequence[Departed] = ()) -> Board:
    """The whole page; facts are made for the rows shown and no others."""
    standings = standings_of(picture)
    banner = membership_banner(picture)
    nodes = choose_nodes(picture, query)
    window = cut_window(nodes, query.page, len(live_entries(picture)))
    rows = tuple(draw_node_row(picture, entry) for entry in window.rows)
    return Board(
        query=query,
        blank=banner if picture.is_blank and not picture.presences.is_known else None,
        banner=banner,
        figures=draw_figures(picture, standings),
        attention=list_attention(picture, standings),
        window=Window(
            rows=rows,
            matching=window.matching,
            total=window.total,
            page=window.page,
            pages=window.pages,
        ),
        seats_total=seats_total(picture, nodes),
        turns_total=turns_total(picture, nodes),
        is_known=picture.presences.is_known,
        departed=tuple(gone for gone in departed if gone.node not in picture.index.nodes),
    )


def live_entries(picture: Picture) -> tuple[NodeEntry, ...]:
    """The live nodes, by id."""
    return tuple(picture.index.nodes[node] for node in picture.live_nodes)


def choose_nodes(picture: Picture, query: ListQuery) -> list[NodeEntry]:
    """The nodes that match, in the order asked."""
    found = [entry for entry in live_entries(picture) if matches(entry, query.text)]
    key = _SORTS[query.sort]
    found.sort(key=lambda entry: entry.node)
    found.sort(key=lambda entry: key(picture, entry), reverse=query.descending)
    return found


def matches(entry: NodeEntry, text: str) -> bool:
    """Whether an id, role or label has the text."""
    if not text:
        return True
    words = [entry.node, *(entry.report.roles or ())]
    words += cells.label_words(entry.report.labels or {})
    return any(text in word.lower() for word in words)


def trouble_of(picture: Picture, entry: NodeEntry) -> int:
    """Trouble first: error, late, draining, behind, did not say, all well."""
    report, status, active = entry.report, entry.config, picture.activation.value
    if (status is not None and status.status == "error") or report.posture in {"shed", "stuck"}:
        return 0
    if picture.is_late(entry.lease):
        return 1
    if report.draining:
        return 2
    if active is not None and not isinstance(active, Absent):
        if status is not None and not cells.is_current(status, active):
            return 3
        if status is None:
            return 4
    unsaid = report.in_flight is None or report.roles is None or report.posture is None
    return 4 if unsaid else 5


_SORTS: Final[Mapping[str, Callable[[Picture, NodeEntry], str | int | datetime]]] = {
    "trouble": trouble_of,
    "id": lambda _, entry: entry.node,
    "seats": lambda _, entry: len(entry.seats),
    "turns": lambda _, entry: -1 if entry.report.in_flight is None else entry.report.in_flight,
    "up": lambda _, entry: entry.report.started_at or _NEVER,
}


def draw_node_row(picture: Picture, entry: NodeEntry) -> NodeRow:
    """One row's facts."""
    row = dom.row_id("node", entry.node)
    told = picture.presences
    columns = (
        ("roles", "Roles", cells.slow(cells.roles(entry), told), "d2"),
        ("labels", "Labels", cells.slow(cells.labels(entry), told), "d1"),
        ("seats", "Seats", cells.quick(cells.seats_held(entry), picture.seats), "num"),
        ("turns", "Turns", cells.quick(cells.turns(entry), told), "num d4"),
        ("posture", "Posture", cells.slow(cells.posture(entry), told), "d3"),
        ("config", "Config", cells.config(picture, entry), ""),
        ("presence", "Presence", cells.presence(picture, entry), "c-state"),
        ("up", "Up since", cells.slow(cells.up_since(entry), told), "d2"),
    )
    return NodeRow(
        id=row,
        node=entry.node,
        url=dom.node_url(entry.node),
        tags=node_tags(picture, entry),
        cells=tuple(
            Cell(id=f"{row}-{name}", label=label, fact=fact, css=css)
            for name, label, fact, css in columns
        ),
    )


def node_tags(picture: Picture, entry: NodeEntry) -> tuple[Tag, ...]:
    """What stands beside the id."""
    tags = []
    if entry.report.draining:
        known = picture.presences.is_known
        word = "draining" if known else "draining, last known"
        tags.append(Tag(word=word, tone="warn" if known else "unknown"))
    if entry.node == picture.this_node:
        tags.append(Tag(word="serving this page", tone="accent"))
    return tuple(tags)


def seats_total(picture: Picture, nodes: Sequence[NodeEntry]) -> Fact:
    """Seats held by the nodes that match."""
    return cells.quick(facts.number(sum(len(entry.seats) for entry in nodes)), picture.seats)


def turns_total(picture: Picture, nodes: Sequence[NodeEntry]) -> Fact:
    """Turns in flight on the nodes that match: a floor where one did not say."""
    total = facts.total([entry.report.in_flight for entry in nodes])
    return cells.quick(total, picture.presences)
