"""What a live page shows, as things that can be compared: rows, facts by element id, blocks.

A socket is told differences between two sheets and nothing else. A fact is compared as a value and
drawn only when it changed, so a page of 200 rows costs what changed on it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qsl

from coordination.contract.leases import Lease
from fleet.pages import cells, dom
from fleet.pages.banner import Banner
from fleet.pages.board import Board, Tag, draw_board, draw_node_row
from fleet.pages.frame import count_paused
from fleet.pages.lines import Line
from fleet.pages.node import NodePage, draw_node
from fleet.pages.query import read_node_query, read_seat_query, read_settings_query
from fleet.pages.seat import SeatPage, draw_seat
from fleet.pages.seats import SeatsPage, draw_seat_row, draw_seats
from fleet.pages.settings import SettingsPage, draw_settings
from fleet.services.picture import Picture, Told
from fleet.services.standing import standings_of
from runtime import facts as facts_of
from runtime.facts import Fact

PAGES: Final = ("fleet", "node", "seats", "seat", "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one socket looks at; equal views share one feed."""

    page: str
    subject: str = ""
    query: str = ""
    may_pause: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of markup with its own element id. `shape` decides whether it changed."""

    template: str
    shape: object
    context: Mapping[str, object] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One page at one moment.

    Attributes:
        rows: name by row id, in order.
        facts: fact and setting by element id.
        blocks: other elements by id.
        is_blank: nothing was ever known, so the page is another one.
    """

    rows: Mapping[str, str]
    facts: Mapping[str, tuple[Fact, str]]
    blocks: Mapping[str, Block]
    is_blank: bool = False


def draw_sheet(
    picture: Picture, view: View, duties: Told[tuple[Lease, ...]], ghosts: Iterable[str] = ()
) -> Sheet:
    """The sheet of a view.

    Args:
        picture: what is known.
        view: what is looked at.
        duties: duty leases, for a node's page.
        ghosts: names of rows still on screens that the view itself no longer has.
    """
    params = dict(parse_qsl(view.query, keep_blank_values=True))
    match view.page:
        case "fleet":
            sheet = _fleet(draw_board(picture, read_node_query(params)))
            sheet = _with_ghost_nodes(picture, sheet, ghosts)
        case "seats":
            query = read_seat_query(params)
            sheet = _seats(draw_seats(picture, query, may_pause=view.may_pause))
            sheet = _with_ghost_seats(picture, sheet, ghosts, may_pause=view.may_pause)
        case "settings":
            sheet = _settings(draw_settings(picture, read_settings_query(params)))
        case "node":
            sheet = _node(draw_node(picture, view.subject, duties=duties))
        case "seat":
            sheet = _seat(draw_seat(picture, view.subject, may_pause=view.may_pause))
        case _:
            sheet = Sheet(rows={}, facts={}, blocks={})
    return replace(sheet, facts={"rail-paused": (count_paused(picture), "inline"), **sheet.facts})


def _banner(banner: Banner, url: str) -> Block:
    context = {"id": "banner", "banner": banner, "ask_url": url}
    return Block(template="fleet/_banner.html", shape=banner, context=context)


def _count(element: str, count: str) -> Block:
    context = {"id": element, "count": count}
    return Block(template="fleet/_count.html", shape=count, context=context)


def _tags(row: str, tags: tuple[Tag, ...]) -> tuple[str, Block]:
    element = f"{row}-tags"
    context = {"id": element, "tags": tags}
    return element, Block(template="fleet/_tags.html", shape=tags, context=context)


def _fleet(board: Board) -> Sheet:
    facts: dict[str, tuple[Fact, str]] = {
        figure.id: (figure.fact, "figure") for figure in board.figures
    }
    facts["figure-seats-total"] = (board.seats_total, "cell")
    facts["figure-turns-total"] = (board.turns_total, "cell")
    blocks = {
        "banner": _banner(board.banner, board.query.address),
        "attention": Block(
            template="fleet/_attention.html",
            shape=board.attention,
            context={"attention": board.attention},
        ),
        "nodes-count": _count("nodes-count", board.count),
        "nodes-total": _count("nodes-total", board.total),
        "meanwhile": Block(
            template="fleet/_meanwhile_block.html",
            shape=bool(board.banner.title),
            context={"banner": board.banner},
        ),
    }
    for row in board.window.rows:
        facts |= {cell.id: (cell.fact, cell.setting) for cell in row.cells}
        element, block = _tags(row.id, row.tags)
        blocks[element] = block
    return Sheet(
        rows={row.id: row.node for row in board.window.rows},
        facts=facts,
        blocks=blocks,
        is_blank=board.blank is not None,
    )


def _with_ghost_nodes(picture: Picture, sheet: Sheet, ghosts: Iterable[str]) -> Sheet:
    facts = dict(sheet.facts)
    for node in ghosts:
        entry = picture.index.nodes.get(node)
        if entry is not None:
            facts |= {cell.id: (cell.fact, "cell") for cell in draw_node_row(picture, entry).cells}
        elif picture.presences.is_known:
            gone = cells.lapsed(None, "left the fleet")
            facts[f"{dom.row_id('node', node)}-presence"] = (gone, "cell")
    return replace(sheet, facts=facts)


def _seats(page: SeatsPage) -> Sheet:
    facts: dict[str, tuple[Fact, str]] = {}
    blocks = {
        "banner": _banner(page.banner, page.query.address),
        "seats-count": _count("seats-count", page.count),
    }
    for row in page.window.rows:
        facts |= {cell.id: (cell.fact, cell.setting) for cell in row.cells}
        blocks[row.action.id] = Block(
            template="fleet/_action.html", shape=row.action, context={"action": row.action}
        )
    return Sheet(
        rows={row.id: row.handle for row in page.window.rows},
        facts=facts,
        blocks=blocks,
        is_blank=page.blank is not None,
    )


def _with_ghost_seats(
    picture: Picture, sheet: Sheet, ghosts: Iterable[str], *, may_pause: bool
) -> Sheet:
    facts, blocks = dict(sheet.facts), dict(sheet.blocks)
    standings = standings_of(picture)
    for handle in ghosts:
        row = draw_seat_row(picture, standings.of(handle), may_pause=may_pause)
        facts |= {cell.id: (cell.fact, "cell") for cell in row.cells}
        blocks[row.action.id] = Block(
            template="fleet/_action.html", shape=row.action, context={"action": row.action}
        )
    return replace(sheet, facts=facts, blocks=blocks)


def _settings(page: SettingsPage) -> Sheet:
    facts: dict[str, tuple[Fact, str]] = {"figure-differences": (page.differences, "inline")}
    blocks = {"banner": _banner(page.banner, page.query.address)}
    for row in page.window.rows:
        facts |= {cell.id: (cell.fact, cell.setting) for cell in row.cells}
        element, block = _tags(row.id, row.tags)
        blocks[element] = block
    return Sheet(
        rows={row.id: row.node for row in page.window.rows},
        facts=facts,
        blocks=blocks,
        is_blank=page.blank is not None,
    )


def _node(page: object) -> Sheet:
    if not isinstance(page, NodePage):
        return Sheet(rows={}, facts={}, blocks={}, is_blank=True)
    lines = (*page.lease, *page.running, *page.config, *page.settings, *page.duties)
    facts = _line_facts(lines)
    facts[f"{page.row}-seats"] = (page.seats_count, "inline")
    context = {
        "page": page,
        "url": dom.node_url(page.node),
        "tags_id": f"{page.row}-tags",
        "seats_id": f"{page.row}-seats",
    }
    shape = replace(
        page,
        lease=_bare(page.lease),
        running=_bare(page.running),
        config=_bare(page.config),
        duties=_bare(page.duties),
    )
    block = Block(template="fleet/_node.html", shape=shape, context=context)
    return Sheet(rows={}, facts=facts, blocks={"node-region": block})


def _seat(page: SeatPage | None) -> Sheet:
    if page is None:
        return Sheet(rows={}, facts={}, blocks={}, is_blank=True)
    context = {
        "page": page,
        "url": dom.seat_url(page.handle),
        "state_id": f"{page.row}-state",
        "paused_id": f"{page.row}-paused",
    }
    shape = replace(page, running=_bare(page.running))
    block = Block(template="fleet/_seat.html", shape=shape, context=context)
    return Sheet(rows={}, facts=_line_facts(page.running), blocks={"seat-region": block})


def _line_facts(lines: Iterable[Line]) -> dict[str, tuple[Fact, str]]:
    return {line.id: (line.fact, "inline") for line in lines if line.id}


def _bare(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Lines without the facts that are told one by one."""
    return tuple(replace(line, fact=_BLANK) if line.id else line for line in lines)


_BLANK: Final = facts_of.loading()
