"""The one banner of a page whose listing could not be read."""

from dataclasses import dataclass
from datetime import datetime

from fleet.services.picture import Picture, Told
from runtime.wording import SAFE_DIRECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """What stands above the rows; no title means that nothing is the matter."""

    title: str = ""
    tone: str = "unknown"
    text: str = ""
    since: datetime | None = None
    as_of: datetime | None = None
    after: str = ""
    mark: str = ""


NO_BANNER = Banner()


def membership_banner(picture: Picture) -> Banner:
    """When presence leases, or seat leases, could not be listed."""
    if not picture.presences.is_known:
        return _silent(picture.presences, "Membership could not be listed", "who holds a lease")
    if not picture.seats.is_known:
        return _silent(picture.seats, "Seat leases could not be listed", "which node holds a seat")
    return NO_BANNER


def seats_banner(picture: Picture) -> Banner:
    """When pauses or seat leases could not be read."""
    if not picture.pauses.is_known:
        direction = SAFE_DIRECTIONS["pauses"].sentence
        told = picture.pauses
        return Banner(
            title="Pauses could not be read",
            text="Meanwhile " + direction + ".",
            since=told.since,
            as_of=told.as_of,
            after=_NO_ROW_LEAVES if told.as_of else "",
        )
    if not picture.seats.is_known:
        return _silent(picture.seats, "Seat leases could not be listed", "which node holds a seat")
    return NO_BANNER


_NO_ROW_LEAVES = "No row leaves this table until a listing that succeeds lacks it."


def _silent[T](told: Told[T], title: str, what: str) -> Banner:
    return Banner(
        title=title,
        text=f"The store did not answer, so nobody can say now {what}.",
        since=told.since,
        as_of=told.as_of,
        after=_NO_ROW_LEAVES if told.as_of else "",
    )
