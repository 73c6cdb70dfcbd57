"""The one banner of a page whose listing could not be read."""

from dataclasses import dataclass, replace
from datetime import datetime

from fleet.services.picture import Picture, Told
from runtime.wording import SAFE_DIRECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """What stands above the rows; no title means that nothing is the matter.

    `kept` begins the sentence that says of which moment the rest of the page is.
    """

    title: str = ""
    tone: str = "unknown"
    text: str = ""
    since: datetime | None = None
    as_of: datetime | None = None
    after: str = ""
    mark: str = ""
    kept: str = "The rows below are"


NO_BANNER = Banner()


def membership_banner(picture: Picture) -> Banner:
    """When presence leases, or seat leases, could not be listed."""
    if not picture.presences.is_known:
        return _silent(picture, picture.presences, "Membership could not be listed", _MEMBERS)
    if not picture.seats.is_known:
        return _silent(picture, picture.seats, "Seat leases could not be listed", _HOLDERS)
    return NO_BANNER


def seats_banner(picture: Picture) -> Banner:
    """When pauses or seat leases could not be read."""
    if not picture.pauses.is_known:
        direction = SAFE_DIRECTIONS["pauses"].sentence
        told = picture.pauses
        return Banner(
            title="Pauses could not be read",
            text=f"Meanwhile {direction}, and a pause or resume from here may fail.",
            since=told.since,
            as_of=told.as_of,
            after=_NO_ROW_LEAVES if told.as_of else "",
        )
    if not picture.seats.is_known:
        return _silent(picture, picture.seats, "Seat leases could not be listed", _HOLDERS)
    return NO_BANNER


def above_one(banner: Banner) -> Banner:
    """The same above a page about one thing, which has no rows that could leave."""
    return replace(banner, kept="What stands below is", after="")


_MEMBERS = "who holds a lease"
_HOLDERS = "which node holds a seat"
_NO_ROW_LEAVES = "No row leaves this table until a listing that succeeds lacks it."


def _silent[T](picture: Picture, told: Told[T], title: str, what: str) -> Banner:
    # One bucket may be mute while the store answers, and the chip beside the banner says so.
    cause = (
        "The store answers, but not about these" if picture.link.up else "The store did not answer"
    )
    return Banner(
        title=title,
        text=f"{cause}, so nobody can say now {what}.",
        since=told.since,
        as_of=told.as_of,
        after=_NO_ROW_LEAVES if told.as_of else "",
    )
