"""What stands around every page: rail, top bar, liveness chip, foot.

A context processor of the app that knows the store fills one :class:`Frame` a request and names it
``frame`` in the context; ``templates/base.html`` draws it and asks nothing else.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from runtime.facts import Fact
from runtime.moments import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One data source of the page, as the open chip lists it.

    Args:
        name: plain words ("presence leases", "seat pauses").
        up: whether its last ask was answered; ``None`` when it was never asked.
        answered_at: its own last answer.
    """

    name: str
    up: bool | None
    answered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """The distance between this process and the coordination store.

    Args:
        up: whether the last ask was answered.
        since: when that began.
        answered_at: the last answer; ``None`` when there never was one.
        sources: what this page reads, each with its own last answer.
    """

    up: bool
    since: datetime | None = None
    answered_at: datetime | None = None
    sources: tuple[SourceLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One entry of the rail.

    Args:
        key: stable name, used in ids.
        label: its word.
        url: where it leads.
        badge: a fact beside it, or ``None``.
        mark: the badge's shape.
        current: the reader is here.
        key_hint: the second key of its shortcut ("f" in "g f").
    """

    key: str
    label: str
    url: str
    badge: Fact | None = None
    mark: str = ""
    current: bool = False
    key_hint: str = ""


_PLACES: Final = (
    ("fleet", "Fleet", "/fleet/", "f"),
    ("seats", "Seats", "/seats/", "s"),
    ("nodes", "Settings", "/settings/nodes/", "n"),
    ("people", "People", "/people/", "e"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Everything the frame says.

    Args:
        company: the company's name.
        node: id of the process that answers.
        build: its build.
        person: who is signed in; "" when nobody is.
        role: their role's word.
        link: how the store answers.
        paused: how many seats are paused, as a fact (unknown when it could not be read).
        clock: the moment and zone of this page.
        company_zone: IANA name of the company's zone, for the browser.
        path: the request's path; the longest entry it starts with is the current one.
        page: the page's name for the live socket: fleet, seats, seat, node, settings; "" for none.
        subject: the handle or node id the page is about.
        theme: "system", "light" or "dark" (cookie ``theme``).
        density: "comfortable" or "compact" (cookie ``density``).
        keys: single-key shortcuts are on (cookie ``keys`` is not "off").
        keeps_nothing: the broker of this node forgets everything when it restarts.
    """

    company: str
    node: str
    build: str
    link: LinkState
    paused: Fact
    clock: Clock
    person: str = ""
    role: str = ""
    company_zone: str = "UTC"
    path: str = "/"
    page: str = ""
    subject: str = ""
    theme: str = "system"
    density: str = "comfortable"
    keys: bool = True
    keeps_nothing: bool = False
    places: tuple[Place, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Mark the current place once, so that a template compares nothing."""
        places = tuple(
            Place(
                key=key,
                label=label,
                url=url,
                key_hint=hint,
                current=self.path.startswith(url),
                badge=self.paused if key == "seats" else None,
                mark="paused" if key == "seats" else "",
            )
            for key, label, url, hint in _PLACES
        )
        object.__setattr__(self, "places", places)

    @property
    def html_class(self) -> str:
        """Classes of ``<html>``: the theme and density, known before the first paint."""
        theme = f"theme-{self.theme}" if self.theme in {"light", "dark"} else "theme-system"
        return f"{theme} compact" if self.density == "compact" else theme
