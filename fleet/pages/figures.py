"""The five figures above the nodes. A total inherits the worst of what it is made from."""

from dataclasses import dataclass
from typing import Final

from coordination.contract.answers import Absent
from fleet.pages.cells import asks, is_current, quick
from fleet.services.picture import Picture
from fleet.services.standing import Standings
from runtime import facts
from runtime.facts import Fact

NAMED: Final = 2  # seats or nodes that a note names before it counts the others


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure and its label."""

    id: str
    label: str
    fact: Fact


def draw_figures(picture: Picture, standings: Standings) -> tuple[Figure, ...]:
    """Live nodes, seats held, seats without a holder, seats without a place, nodes behind."""
    return (
        Figure(id="figure-live", label="Live nodes", fact=live_nodes(picture)),
        Figure(id="figure-held", label="Seats held", fact=seats_held(picture)),
        Figure(id="figure-unheld", label="Seats with no holder", fact=unheld(picture, standings)),
        Figure(id="figure-unplaced", label="Cannot be placed", fact=unplaced(picture, standings)),
        Figure(id="figure-behind", label="Behind the active revision", fact=behind(picture)),
    )


def live_nodes(picture: Picture) -> Fact:
    """Nodes with an unexpired presence lease."""
    overdue = [
        node for node in picture.live_nodes if picture.is_overdue(picture.index.nodes[node].lease)
    ]
    note = "hold an unexpired presence lease"
    if overdue:
        note += f"; {name_some(overdue)} {'is' if len(overdue) == 1 else 'are'} past the deadline"
    return quick(facts.number(len(picture.live_nodes) - len(overdue), note), picture.presences)


def seats_held(picture: Picture) -> Fact:
    """The company's agent seats that some node holds."""
    index = picture.index
    if picture.company is None:
        fact = facts.number(len(index.seats), "no company document is applied here")
    else:
        leases = [index.seats[seat.handle] for seat in picture.agents if seat.handle in index.seats]
        overdue = sum(map(picture.is_overdue, leases))
        note = "agent seats in the company"
        if overdue:
            note += (
                f"; {overdue:,} {'lease is' if overdue == 1 else 'leases are'} past the deadline"
            )
        fact = facts.number(len(leases) - overdue, note, after=f"of {len(picture.agents):,}")
    return quick(fact, picture.seats)


def unheld(picture: Picture, standings: Standings) -> Fact:
    """Agent seats nobody holds."""
    missing = standings.unheld
    note = name_some([standing.handle for standing in missing]) or "every agent seat is held"
    if picture.company is None:
        note = "no company document is applied here"
    link = "/seats/?state=unheld" if missing else ""
    return quick(facts.number(len(missing), note, link=link), picture.seats)


def unplaced(picture: Picture, standings: Standings) -> Fact:
    """Agent seats that no live node may hold."""
    placing = standings.placing
    count = len(placing.unplaceable)
    link = "/seats/?state=unplaced" if count else ""
    if placing.unsaid:
        fact = facts.floor(count, f"{name_some(placing.unsaid)} did not say", link=link)
    elif count:
        seat = placing.unplaceable[0]
        more = f" and {count - 1} more" if count > 1 else ""
        note = f"{seat.handle}: no node has {asks(seat.placement) or 'the seats role'}{more}"
        fact = facts.number(count, note, link=link)
    else:
        fact = facts.number(0, "every seat has a node that fits")
    return quick(fact, picture.presences)


def behind(picture: Picture) -> Fact:
    """Live nodes that have not applied the active revision."""
    active = picture.activation.value
    if active is None and not picture.activation.is_known:
        return facts.unknown(picture.activation.since)
    if active is None or isinstance(active, Absent):
        return facts.none("none", "no revision is active")
    entries = [picture.index.nodes[node] for node in picture.live_nodes]
    silent = [entry.node for entry in entries if entry.config is None]
    late = [
        entry.node
        for entry in entries
        if entry.config is not None and not is_current(entry.config, active)
    ]
    if silent:
        fact = facts.floor(len(late), f"{name_some(silent)} did not say")
    else:
        fact = facts.number(len(late), name_some(late) or "every live node has applied it")
    for told in (picture.presences, picture.statuses):
        fact = quick(fact, told)
    return quick(fact, picture.activation)


def name_some(names: list[str] | tuple[str, ...]) -> str:
    """The first names, then how many others."""
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown
