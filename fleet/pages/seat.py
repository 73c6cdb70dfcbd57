"""One seat's page: what is in effect, the pause record, where it runs."""

from dataclasses import dataclass

from coordination.contract.pauses import Pause
from fleet.pages import cells, dom, seat_cells
from fleet.pages.banner import NO_BANNER, Banner, above_one, seats_banner
from fleet.pages.dom import node_url
from fleet.pages.lines import Line
from fleet.pages.seats import Action, choose_action
from fleet.services.picture import Picture
from fleet.services.placing import eligible_nodes
from fleet.services.standing import Effect, Standing, effect_of, standings_of
from runtime import facts
from runtime.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPage:
    """A seat of the document, or one that records name.

    `can_stop` offers to ask the running turn to stop as well.
    """

    handle: str
    row: str
    name: str
    role: str
    kind: str
    state: Fact
    banner: Banner
    pause_banner: Banner
    pause: tuple[Line, ...]
    paused: Fact
    running: tuple[Line, ...]
    ceilings: tuple[Line, ...]
    action: Action
    can_stop: bool

    @property
    def is_person(self) -> bool:
        """A person's seat has nothing that runs."""
        return self.kind == "person"


def draw_seat(picture: Picture, handle: str, *, may_pause: bool) -> SeatPage | None:
    """The page; None when neither the document nor any record names the handle."""
    standing = standings_of(picture).of(handle)
    if standing.seat is None and standing.lease is None and standing.pause is None:
        return None
    row = dom.row_id("seat", handle)
    seat = standing.seat
    state = seat_cells.state(picture, standing)
    pause = standing.pause
    return SeatPage(
        handle=handle,
        row=row,
        name=seat.name if seat else "",
        role=seat.role if seat else "not in the company document",
        kind=seat.kind.value if seat else "agent",
        state=facts.value("person", tone="quiet") if standing.is_person else state,
        banner=NO_BANNER if standing.is_person else above_one(seats_banner(picture)),
        pause_banner=_pause_banner(picture, standing),
        pause=_pause_lines(pause, picture) if pause is not None else (),
        paused=cells.quick(seat_cells.paused(standing), picture.pauses),
        running=() if standing.is_person else _running_lines(picture, standing, row),
        ceilings=_ceiling_lines(standing),
        action=choose_action(picture, standing, may_pause=may_pause),
        can_stop=pause is not None and not pause.stop_running and may_pause,
    )


def _pause_banner(picture: Picture, standing: Standing) -> Banner:
    pause = standing.pause
    if pause is None or not picture.pauses.is_known:
        return NO_BANNER
    effect = effect_of(standing)
    tail = {
        Effect.IN_EFFECT: "no turn of it runs",
        Effect.NOT_REPORTED: "its node has not been heard since",
        Effect.TURNS_RUN: "its node still runs turns",
        Effect.UNSAID: "its node did not say whether a turn runs",
    }[effect]
    if not picture.presences.is_known or not picture.seats.is_known:
        tail = "whether a turn of it runs could not be asked"
    return Banner(
        title=f"Paused by {pause.by}; {tail}",
        tone="warn",
        mark="paused",
        text="No new turn starts. Its mail waits in order; scheduled runs are skipped, not queued.",
    )


def _pause_lines(pause: Pause, picture: Picture) -> tuple[Line, ...]:
    told = picture.pauses
    at = pause.at.as_datetime()
    reason = facts.value(pause.reason) if pause.reason else facts.none("no reason given")
    review = facts.none("none set")
    if pause.review_by is not None:
        review = facts.value("", moment=pause.review_by.as_datetime(), form="full")
    return (
        Line(key="Reason", fact=cells.slow(reason, told)),
        Line(key="Paused by", fact=cells.slow(facts.value(pause.by), told)),
        Line(
            key="When",
            fact=cells.slow(facts.value("", moment=at, note_moment=at, note_form="full"), told),
        ),
        Line(key="Running turn", fact=cells.slow(_asked(pause), told)),
        Line(key="Review by", fact=cells.slow(review, told)),
        Line(
            key="Record revision",
            fact=cells.slow(facts.value(str(int(pause.revision)), mono=True), told),
        ),
    )


def _asked(pause: Pause) -> Fact:
    return facts.value(seat_cells.asked_of_turn(pause))


def _running_lines(picture: Picture, standing: Standing, row: str) -> tuple[Line, ...]:
    told = picture.seats
    turn = cells.quick(cells.quick(seat_cells.turn(standing), picture.presences), told)
    lines = [
        Line(key="Turn", fact=turn, id=f"{row}-turn"),
        Line(key="Held by", fact=cells.quick(_holder(standing), told), id=f"{row}-holder"),
    ]
    if standing.lease is not None:
        lease = standing.lease
        since = cells.slow(seat_cells.held_since(standing), told)
        lapses = facts.value("", moment=lease.expires_at.as_datetime(), form="in")
        token = f"{lease.owner}, epoch {int(lease.epoch)}"
        lines += [
            Line(key="Held since", fact=since, id=f"{row}-since"),
            Line(key="Lease lapses", fact=cells.quick(lapses, told, text="held for now")),
            Line(
                key="Fencing token",
                fact=cells.slow(facts.value(token, mono=True), told),
                aside="changes on restart",
            ),
        ]
    return (*lines, Line(key="Placement", fact=_placement(picture, standing)))


def _holder(standing: Standing) -> Fact:
    if standing.lease is None:
        return facts.none("nobody")
    return facts.value(standing.node, mono=True, link=node_url(standing.node))


def _placement(picture: Picture, standing: Standing) -> Fact:
    seat = standing.seat
    if seat is None:
        return facts.none("not in the company document")
    nodes = (picture.index.nodes[node] for node in picture.live_nodes)
    count = eligible_nodes(seat.placement, nodes)
    words = cells.asks(seat.placement) or "any node with the seats role"
    note = f"{count} live node{'' if count == 1 else 's'} qualif{'ies' if count == 1 else 'y'}"
    return cells.slow(facts.value(words, note), picture.presences)


def _ceiling_lines(standing: Standing) -> tuple[Line, ...]:
    seat = standing.seat
    if seat is None or standing.is_person:
        return ()
    budget = seat.token_budget
    windows = (("Day", budget.day), ("Week", budget.week), ("Month", budget.month))
    return tuple(
        Line(
            key=name,
            fact=facts.none("no ceiling") if limit is None else facts.value(f"{limit:,} tokens"),
        )
        for name, limit in windows
    )
