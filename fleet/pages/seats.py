"""The seats page: which seats run, where, and which are paused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fleet.pages import dom, seat_cells
from fleet.pages.banner import Banner, seats_banner
from fleet.pages.dom import Cell
from fleet.pages.query import ListQuery, Window, count_rows, cut_window
from fleet.services.picture import Picture
from fleet.services.standing import RANK, Standing, Standings, standings_of

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What one press does to a seat.

    Attributes:
        id: the element's id.
        kind: `pause`, `resume` or `none`.
        handle: the seat.
        url: where the press leads; the form for a pause.
        version: the pause record's revision that the reader sees; 0 without one.
        refusal: why nothing can be pressed; empty when it can, and where nothing is offered.
    """

    id: str
    kind: str
    handle: str
    url: str = ""
    version: int = 0
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatRow:
    """One seat's row."""

    id: str
    handle: str
    url: str
    title: str
    cells: tuple[Cell, ...]
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A filter in force: its words, and the address without it."""

    words: str
    without: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatsPage:
    """The seats page. `blank` is set when nothing was ever known."""

    query: ListQuery
    blank: Banner | None
    banner: Banner
    window: Window[SeatRow]
    chips: tuple[Chip, ...]
    agents: int
    people: int
    has_company: bool

    @property
    def count(self) -> str:
        """How many seats, beside the table's name."""
        if self.window.matching != self.window.total:
            return count_rows(self.window)
        agents = f"{self.agents:,} agent seat{'' if self.agents == 1 else 's'}"
        words = f"{agents}, {self.people:,} {'person' if self.people == 1 else 'people'}"
        shown = len(self.window.rows)
        return f"{words}, {shown} shown" if self.window.pages > 1 else words


def draw_seats(picture: Picture, query: ListQuery, *, may_pause: bool) -> SeatsPage:
    """The whole page; facts are made for the rows shown and no others."""
    standings = standings_of(picture)
    found = choose_seats(picture, standings, query)
    window = cut_window(found, query.page, len(standings.handles))
    company = picture.company
    banner = seats_banner(picture)
    return SeatsPage(
        query=query,
        blank=banner if picture.seats.is_blank and picture.pauses.is_blank else None,
        banner=banner,
        window=Window(
            rows=tuple(draw_seat_row(picture, each, may_pause=may_pause) for each in window.rows),
            matching=window.matching,
            total=window.total,
            page=window.page,
            pages=window.pages,
        ),
        chips=tuple(
            Chip(words=_words(name, value), without=query.without(name).address)
            for name, value in query.filters
        ),
        agents=len(picture.agents),
        people=len(company.people) if company else 0,
        has_company=company is not None,
    )


def _words(name: str, value: str) -> str:
    return f"{name}: {STATE_WORDS.get(value, value) if name == 'state' else value}"


STATE_WORDS: Final = {
    "paused": "paused",
    "unheld": "no holder",
    "unplaced": "cannot be placed",
    "idle": "idle",
    "unsaid": "did not say",
}


def choose_seats(picture: Picture, standings: Standings, query: ListQuery) -> list[Standing]:
    """The seats that match, in the order asked."""
    del picture
    found = list(standings.all)
    if query.is_narrowed:
        found = [standing for standing in found if _matches(standing, query)]
    key = _SORTS[query.sort]
    found.sort(key=lambda standing: standing.handle)
    found.sort(key=key, reverse=query.descending)
    return found


def _matches(standing: Standing, query: ListQuery) -> bool:
    kind, state, node = query.filter("kind"), query.filter("state"), query.filter("node")
    if kind and (kind == "people") is not standing.is_person:
        return False
    if node and standing.node != node:
        return False
    if state and not _in_state(standing, state):
        return False
    return _has_text(standing, query.text)


def _in_state(standing: Standing, state: str) -> bool:
    if state == "unheld":
        return standing.lease is None and not standing.is_person
    if state == "unplaced":
        return standing.fit.value == "no" and not standing.is_person
    return standing.word.value == state


def _has_text(standing: Standing, text: str) -> bool:
    """Whether a search finds the seat; the likeliest places first, for 10,000 are asked."""
    seat, pause = standing.seat, standing.pause
    if not text or text in standing.handle.lower():
        return True
    if seat is not None and (text in seat.role.lower() or text in seat.name.lower()):
        return True
    if standing.lease is not None and text in standing.node.lower():
        return True
    return pause is not None and (text in pause.reason.lower() or text in pause.by.lower())


def _held_since(standing: Standing) -> datetime:
    at = standing.lease.acquired_at if standing.lease is not None else None
    return at.as_datetime() if at else _NEVER


def _paused_at(standing: Standing) -> datetime:
    return standing.pause.at.as_datetime() if standing.pause is not None else _NEVER


_SORTS: Final[Mapping[str, Callable[[Standing], str | int | datetime | tuple[bool, str]]]] = {
    "trouble": lambda standing: RANK[standing.word],
    "handle": lambda standing: standing.handle,
    "node": lambda standing: (standing.node == "", standing.node),
    "since": _held_since,
    "paused": _paused_at,
}


def draw_seat_row(picture: Picture, standing: Standing, *, may_pause: bool) -> SeatRow:
    """One row's facts and its one action."""
    row = dom.row_id("seat", standing.handle)
    seat = standing.seat
    return SeatRow(
        id=row,
        handle=standing.handle,
        url=dom.seat_url(standing.handle),
        title=f"{seat.name}, {seat.role}" if seat else "not in the company document",
        cells=draw_seat_cells(picture, standing, row),
        action=choose_action(picture, standing, may_pause=may_pause),
    )


def draw_seat_cells(picture: Picture, standing: Standing, row: str) -> tuple[Cell, ...]:
    """The facts of a row; none for a person's seat, to which no column applies."""
    if standing.is_person:
        return tuple(
            Cell(id=f"{row}-{name}", label=label, fact=fact, css=css)
            for name, label, fact, css in seat_cells.person_columns()
        )
    return tuple(
        Cell(id=f"{row}-{name}", label=label, fact=fact, css=css)
        for name, label, fact, css in seat_cells.agent_columns(picture, standing)
    )


def choose_action(picture: Picture, standing: Standing, *, may_pause: bool) -> Action:
    """Pause or resume, or the reason why neither."""
    row = dom.row_id("seat", standing.handle)
    paused = standing.pause
    version = int(paused.revision) if paused is not None else 0
    kind = "resume" if paused is not None else "pause"
    url = dom.resume_url(standing.handle) if paused is not None else dom.pause_url(standing.handle)
    refusal = ""
    if standing.is_person:
        kind, url = "none", ""  # the Paused column says why
    elif standing.seat is None and paused is None and picture.company is not None:
        kind, url, refusal = "none", "", "not in the company document"
    elif not may_pause:
        refusal = "needs the operator role"
    return Action(
        id=f"{row}-action",
        kind=kind,
        handle=standing.handle,
        url=url,
        version=version,
        refusal=refusal,
    )
