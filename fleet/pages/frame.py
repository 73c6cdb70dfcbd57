"""The frame's facts: who answers, how the store answers, how many seats are paused."""

from collections.abc import Mapping
from typing import Final

from fleet.pages.cells import quick
from fleet.services.picture import Picture
from runtime import facts
from runtime.facts import Fact
from runtime.frame import Frame, LinkState, SourceLine
from runtime.link import SourceState
from runtime.moments import Clock

SOURCE_WORDS: Final = {
    "nodes": "presence leases",
    "seats": "seat leases",
    "pauses": "seat pauses",
    "duties": "duty leases",
    "statuses": "config statuses",
    "activation": "active revision",
}


def draw_frame(
    picture: Picture,
    *,
    clock: Clock,
    person: str,
    role: str,
    path: str,
    page: str,
    subject: str,
    cookies: Mapping[str, str],
    keeps_nothing: bool = False,
) -> Frame:
    """The frame of one request."""
    company = picture.company
    return Frame(
        company=company.name if company else "No company yet",
        node=picture.this_node,
        build=picture.build,
        link=draw_link(picture),
        paused=count_paused(picture),
        clock=clock,
        person=person,
        role=role,
        company_zone=company.timezone if company else "UTC",
        path=path,
        page=page,
        subject=subject,
        theme=cookies.get("theme", "system"),
        density=cookies.get("density", "comfortable"),
        keys=cookies.get("keys", "on") != "off",
        keeps_nothing=keeps_nothing,
    )


def draw_link(picture: Picture) -> LinkState:
    """How the store answers this process, and each source with its own last answer."""
    link = picture.link
    return LinkState(
        up=link.up,
        since=link.since,
        answered_at=link.answered_at,
        sources=tuple(
            SourceLine(
                name=SOURCE_WORDS.get(source.name, source.name),
                up=source.state is SourceState.LIVE if source.answered_at else None,
                answered_at=source.answered_at,
            )
            for source in link.sources
        ),
    )


def count_paused(picture: Picture) -> Fact:
    """Paused seats; the rail's badge."""
    return quick(facts.number(len(picture.index.pauses)), picture.pauses)
