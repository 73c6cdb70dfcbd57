"""The read pages: HTTP in, HTTP out. What they say is decided in `fleet.pages`."""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fleet.pages import dom
from fleet.pages.board import draw_board
from fleet.pages.node import NodePage, NoSuchNode, draw_node
from fleet.pages.query import (
    SEAT_KINDS,
    ListQuery,
    Window,
    read_node_query,
    read_seat_query,
    read_settings_query,
)
from fleet.pages.seat import draw_seat
from fleet.pages.seats import STATE_WORDS, draw_seats
from fleet.pages.settings import draw_settings
from fleet.services import left
from fleet.services.taking import picture_of, take_duties
from runtime.access import Permission, may, require

NODE_ORDERS: Final = (
    ("trouble", "trouble first"),
    ("id", "id"),
    ("seats", "seats held"),
    ("turns", "turns in flight"),
    ("up", "up since"),
)
SEAT_ORDERS: Final = (
    ("trouble", "trouble first"),
    ("handle", "seat"),
    ("node", "held by"),
    ("since", "held since"),
    ("paused", "paused"),
)
SEAT_HEADS: Final = (
    ("handle", "Seat", ""),
    ("trouble", "State", ""),
    ("node", "Held by", "d3"),
    ("since", "Held since", "d1"),
    ("", "Turn", "d2"),
    ("paused", "Paused", ""),
)


@require_safe
@require(Permission.READ)
def board(request: HttpRequest) -> HttpResponse:
    """Is the company being run, by which nodes, and what is stranded?"""
    picture = picture_of(request)
    query = read_node_query(request.GET)
    page = draw_board(picture, query, left.recent(picture.now))
    context = {"board": page, "sorts": NODE_ORDERS, **_neighbours(query, page.window)}
    return render(request, "fleet/board.html", context)


@require_safe
@require(Permission.READ)
def node(request: HttpRequest, node: str) -> HttpResponse:
    """One node."""
    picture = picture_of(request)
    page = draw_node(picture, node, duties=take_duties(), seen=left.last_seen(node))
    url = dom.node_url(node)
    if not isinstance(page, NodePage):
        status = 404 if isinstance(page, NoSuchNode) else 200
        return render(request, "fleet/node_gone.html", {"page": page, "url": url}, status=status)
    return render(request, "fleet/node.html", {"page": page, **node_context(page)})


def node_context(page: NodePage) -> dict[str, str]:
    """Addresses and ids that the template of a node needs beside the page."""
    return {
        "url": dom.node_url(page.node),
        "tags_id": f"{page.row}-tags",
        "seats_id": f"{page.row}-seats",
    }


@require_safe
@require(Permission.READ)
def seats(request: HttpRequest) -> HttpResponse:
    """Which seats run, where, and which are paused."""
    query = read_seat_query(request.GET)
    may_pause = may(request.user, Permission.PAUSE)
    page = draw_seats(picture_of(request), query, may_pause=may_pause)
    context = {
        "page": page,
        "sorts": SEAT_ORDERS,
        "kinds": SEAT_KINDS,
        "states": STATE_WORDS.items(),
        "kind": query.filter("kind"),
        "state": query.filter("state"),
        "node": query.filter("node"),
        "without_text": query.without("q").address,
        "heads": [
            {
                "key": key,
                "word": word,
                "css": css,
                "url": query.sorted_by(key).address if key else "",
            }
            for key, word, css in SEAT_HEADS
        ],
        **_neighbours(query, page.window),
    }
    return render(request, "fleet/seats.html", context)


@require_safe
@require(Permission.READ)
def seat(request: HttpRequest, handle: str) -> HttpResponse:
    """One seat."""
    may_pause = may(request.user, Permission.PAUSE)
    page = draw_seat(picture_of(request), handle, may_pause=may_pause)
    if page is None:
        message = f"The company document has no seat {handle}, and no record names one."
        return render(request, "404.html", {"message": message}, status=404)
    return render(request, "fleet/seat.html", {"page": page, **seat_context(page.row, handle)})


def seat_context(row: str, handle: str) -> dict[str, str]:
    """Addresses and ids that the template of a seat needs beside the page."""
    return {
        "url": dom.seat_url(handle),
        "state_id": f"{row}-state",
        "paused_id": f"{row}-paused",
    }


@require_safe
@require(Permission.READ)
def settings_nodes(request: HttpRequest) -> HttpResponse:
    """What differs between nodes."""
    query = read_settings_query(request.GET)
    page = draw_settings(picture_of(request), query)
    context = {"page": page, **_neighbours(query, page.window)}
    return render(request, "fleet/settings.html", context)


def _neighbours[T](query: ListQuery, window: Window[T]) -> dict[str, str]:
    before, after = window.page - 1, window.page + 1
    return {
        "previous": query.on_page(before).address if before >= 1 else "",
        "next": query.on_page(after).address if after <= window.pages else "",
    }
