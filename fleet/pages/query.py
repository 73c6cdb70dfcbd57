"""What a list was asked for: search, filters, order and page, all in the query string."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

PAGE_ROWS: Final = 200
LONGEST_TEXT: Final = 200  # characters of a search that are looked at
NODE_SORTS: Final = ("trouble", "id", "seats", "turns", "up")
SEAT_SORTS: Final = ("trouble", "handle", "node", "since", "paused")
SEAT_KINDS: Final = ("agents", "people")
SEAT_STATES: Final = ("paused", "unheld", "unplaced", "idle", "unsaid")
_KEPT: Final = ("tz",)  # parameters of the frame that a link carries along


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A list's question; what does not parse is left at its default.

    Attributes:
        path: the list's address.
        text: what to search for, lower case.
        sort: one of the list's orders.
        descending: the order turned round.
        page: 1-based.
        filters: the other conditions, by name.
        kept: parameters that every link keeps.
    """

    path: str
    text: str = ""
    sort: str = "trouble"
    descending: bool = False
    page: int = 1
    filters: tuple[tuple[str, str], ...] = ()
    kept: tuple[tuple[str, str], ...] = ()

    def filter(self, name: str) -> str:
        """The value of a filter; empty when it is not set."""
        return dict(self.filters).get(name, "")

    @property
    def is_narrowed(self) -> bool:
        """Whether a search or filter may hide rows."""
        return bool(self.text or self.filters)

    @property
    def address(self) -> str:
        """The permalink: equal questions have equal addresses."""
        pairs = [("q", self.text)] if self.text else []
        pairs += [*self.filters]
        if self.sort != "trouble" or self.descending:
            pairs.append(("sort", f"-{self.sort}" if self.descending else self.sort))
        if self.page > 1:
            pairs.append(("page", str(self.page)))
        pairs += [*self.kept]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    def on_page(self, page: int) -> "ListQuery":
        """The same question, another page."""
        return replace(self, page=page)

    def sorted_by(self, sort: str) -> "ListQuery":
        """The first page in this order; the order in use is turned round."""
        turned = self.sort == sort and not self.descending and sort != "trouble"
        return replace(self, sort=sort, descending=turned, page=1)

    def without(self, name: str) -> "ListQuery":
        """The first page without one filter, or without the search (`q`)."""
        rest = tuple(pair for pair in self.filters if pair[0] != name)
        return replace(self, filters=rest, text="" if name == "q" else self.text, page=1)

    @property
    def cleared(self) -> "ListQuery":
        """The first page of everything, in the same order."""
        return replace(self, filters=(), text="", page=1)


def read_node_query(params: Mapping[str, str]) -> ListQuery:
    """The question of a node list."""
    return _read("/fleet/", params, NODE_SORTS, ())


def read_seat_query(params: Mapping[str, str]) -> ListQuery:
    """The question of a seat list."""
    filters = []
    for name, allowed in (("kind", SEAT_KINDS), ("state", SEAT_STATES)):
        if params.get(name, "") in allowed:
            filters.append((name, params[name]))
    if node := params.get("node", "").strip()[:LONGEST_TEXT]:
        filters.append(("node", node))
    return _read("/seats/", params, SEAT_SORTS, tuple(filters))


def read_settings_query(params: Mapping[str, str]) -> ListQuery:
    """The question of the settings table: a page, nothing else."""
    return _read("/settings/nodes/", {"page": params.get("page", "")}, NODE_SORTS, ())


def _read(
    path: str,
    params: Mapping[str, str],
    sorts: tuple[str, ...],
    filters: tuple[tuple[str, str], ...],
) -> ListQuery:
    sort = params.get("sort", "")
    descending = sort.startswith("-")
    sort = sort.removeprefix("-")
    known = sort in sorts
    page = params.get("page", "")
    return ListQuery(
        path=path,
        text=params.get("q", "").strip().lower()[:LONGEST_TEXT],
        sort=sort if known else "trouble",
        descending=descending and known,
        page=int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 7 else 1,
        filters=filters,
        kept=tuple((name, params[name]) for name in _KEPT if params.get(name)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window[T]:
    """The rows on screen, out of how many.

    Attributes:
        rows: at most `PAGE_ROWS`.
        matching: how many the question matches.
        total: how many there are without it.
        page: the page shown, clamped to those that exist.
        pages: how many pages, at least 1.
    """

    rows: Sequence[T]
    matching: int
    total: int
    page: int
    pages: int

    @property
    def first(self) -> int:
        """Number of the first row shown, 1-based; 0 when none is."""
        return (self.page - 1) * PAGE_ROWS + 1 if self.rows else 0

    @property
    def last(self) -> int:
        """Number of the last row shown."""
        return self.first + len(self.rows) - 1 if self.rows else 0


def count_rows[T](window: Window[T]) -> str:
    """`5`, `3 of 5`, `10,000, 200 shown`."""
    words = f"{window.total:,}"
    if window.matching != window.total:
        words = f"{window.matching:,} of {words}"
    return f"{words}, {len(window.rows)} shown" if window.pages > 1 else words


def cut_window[T](rows: Sequence[T], page: int, total: int) -> Window[T]:
    """One page of the matching rows."""
    pages = max(1, -(-len(rows) // PAGE_ROWS))
    shown = min(max(1, page), pages)
    start = (shown - 1) * PAGE_ROWS
    return Window(
        rows=rows[start : start + PAGE_ROWS],
        matching=len(rows),
        total=total,
        page=shown,
        pages=pages,
    )
