"""How a seat stands: one word for each, from the pause record, the lease and the holder's report.

The word never says more than the records prove: a holder that did not say how many turns it runs
leaves the seat unsaid, and a pause is "in effect" only when the holder's own report, made after the
pause, names no turn.
"""

from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from company.document import Company, Seat
from coordination.contract.leases import Lease
from coordination.contract.pauses import Pause
from fleet.services.index import FleetIndex, NodeEntry, node_of
from fleet.services.picture import Picture
from fleet.services.placing import Fit, Placing, judge_placing


class Word(StrEnum):
    """A seat's standing, trouble first: the order of a list."""

    PAUSED = "paused"
    UNPLACED = "unplaced"
    UNHELD = "unheld"
    UNSAID = "unsaid"
    IDLE = "idle"
    PERSON = "person"


class Effect(StrEnum):
    """How far a recorded pause has come."""

    IN_EFFECT = "in effect"
    NOT_REPORTED = "recorded, report awaited"
    TURNS_RUN = "recorded, node runs turns"
    UNSAID = "recorded, turn not said"


RANK = {word: place for place, word in enumerate(Word)}


class Standing(NamedTuple):
    """One seat and everything that names it. `seat` is None for one the document does not have.

    A named tuple, because a list of 10,000 seats makes one of each to sort and filter.
    """

    handle: str
    seat: Seat | None
    lease: Lease | None
    pause: Pause | None
    holder: NodeEntry | None
    fit: Fit
    word: Word

    @property
    def node(self) -> str:
        """The node id of the holder; empty when nobody holds it."""
        return node_of(self.lease.owner) if self.lease is not None else ""

    @property
    def is_person(self) -> bool:
        """A person's seat: no node claims it and nobody pauses it."""
        return self.seat is not None and not self.seat.is_agent


class Standings:
    """Every seat's standing in one picture; read by `standings_of`."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    @cached_property
    def placing(self) -> Placing:
        """Which seats the live nodes may hold."""
        nodes = self._picture.index.nodes
        return judge_placing(
            self._picture.agents, (nodes[name] for name in self._picture.live_nodes)
        )

    @cached_property
    def handles(self) -> tuple[str, ...]:
        """The document's seats in its order, then seats that only records name, sorted."""
        company = self._picture.company
        named = tuple(seat.handle for seat in company.seats) if company else ()
        index = self._picture.index
        strangers = (index.seats.keys() | index.pauses.keys()) - set(named)
        return (*named, *sorted(strangers))

    @cached_property
    def all(self) -> tuple[Standing, ...]:
        """Every seat."""
        return tuple(self.of(handle) for handle in self.handles)

    @cached_property
    def unheld(self) -> tuple[Standing, ...]:
        """The company's agent seats that nobody holds."""
        index = self._picture.index
        missing = (seat for seat in self._picture.agents if seat.handle not in index.seats)
        return tuple(self.of(seat.handle) for seat in missing)

    def of(self, handle: str) -> Standing:
        """One seat."""
        index = self._picture.index
        company = self._picture.company
        seat = company.seat(handle) if company else None
        lease = index.seats.get(handle)
        pause = index.pauses.get(handle)
        holder = index.nodes.get(node_of(lease.owner)) if lease is not None else None
        fit = self.placing.fits.get(handle, Fit.YES)
        return Standing(
            handle=handle,
            seat=seat,
            lease=lease,
            pause=pause,
            holder=holder,
            fit=fit,
            word=_word(seat, lease, pause, holder, fit),
        )


class _Newest:
    """The last standings, handed out again while records and document are the very same objects.

    A page and every feed of a redraw ask for them, and 10,000 seats take a while to judge.
    """

    def __init__(self) -> None:
        self._held: tuple[FleetIndex, Company | None, Standings] | None = None

    def of(self, picture: Picture) -> Standings:
        held = self._held
        if held is None or held[0] is not picture.index or held[1] is not picture.company:
            held = self._held = (picture.index, picture.company, Standings(picture))
        return held[2]


_newest: Final = _Newest()


def standings_of(picture: Picture) -> Standings:
    """The standings in this picture: they follow from its records and its document alone."""
    return _newest.of(picture)


def _word(
    seat: Seat | None,
    lease: Lease | None,
    pause: Pause | None,
    holder: NodeEntry | None,
    fit: Fit,
) -> Word:
    if seat is not None and not seat.is_agent:
        return Word.PERSON
    if pause is not None:
        return Word.PAUSED
    if lease is None:
        return Word.UNPLACED if fit is Fit.NO else Word.UNHELD
    return Word.IDLE if holder is not None and holder.report.in_flight == 0 else Word.UNSAID


def effect_of(standing: Standing) -> Effect:
    """How far this seat's pause has come, as far as the records prove it."""
    if standing.lease is None:
        return Effect.IN_EFFECT
    holder, pause = standing.holder, standing.pause
    if holder is None or holder.report.in_flight is None or pause is None:
        return Effect.UNSAID
    if holder.lease.renewed_at < pause.at:
        return Effect.NOT_REPORTED
    return Effect.TURNS_RUN if holder.report.in_flight else Effect.IN_EFFECT
