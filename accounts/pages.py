"""What the templates of people and sign-in draw: frozen, decided, without a store or a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import parse_qs, urlsplit

from accounts.changes import Because
from accounts.services import Access, PersonRecord
from runtime.access import LOWEST_ROLE, Permission, Role
from runtime.facts import Fact, value

FIRST_PAGE: Final = "/fleet/"
STARTER: Final = "up"  # who adds the first admin
_PLACES: Final[Mapping[str, str]] = {
    "fleet": "Fleet",
    "seats": "Seats",
    "people": "People",
    "settings": "Settings",
}

# One sentence for each refusal, for pages and API alike.
REFUSALS: Final[Mapping[Because, str]] = {
    Because.NAME_TAKEN: "Somebody signs in under this name already.",
    Because.NO_SUCH_PERSON: "Nobody signs in under this name.",
    Because.LAST_ADMIN: "This is the last admin; give somebody else the admin role first.",
    Because.ADMIN_EXISTS: "There is an admin already.",
    Because.NO_SUCH_LINK: "This link is not one of ours, or its person was removed.",
    Because.LINK_USED: "This link was used already; it works once.",
    Because.LINK_EXPIRED: "This link has expired; it works for 24 hours.",
    Because.LINK_SUPERSEDED: "A newer link has taken the place of this one.",
    Because.TOKEN_NAME_TAKEN: "A token of this name stands already.",
    Because.NO_SUCH_TOKEN: "There is no such token.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPage:
    """The sign-in page around its form.

    Attributes:
        company: its name; "" when no document is applied.
        next: where the reader goes afterwards, on this site.
        returns_to: the word for that place; "" for the ordinary first page.
        kept: text that the reader typed travels along.
        was_signed_in: the reader's session has ended.
        ended_at: when it ran out; None when it was ended before its time.
        locked_minutes: 0 while sign-in is open.
        wrong: the last attempt did not fit.
        node: id of the process that answers.
        build: its build.
        silent_since: when the store fell silent; None while it answers.
    """

    company: str
    next: str
    returns_to: str
    kept: bool
    was_signed_in: bool = False
    ended_at: datetime | None = None
    locked_minutes: int = 0
    wrong: bool = False
    node: str = ""
    build: str = ""
    silent_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """One person in the list."""

    sign_name: str
    display_name: str
    role: Role
    access: Fact
    added_at: datetime
    added_by: str
    is_reader: bool
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """The list of people; `role_needed` is "" for a reader who may change it."""

    rows: tuple[PersonRow, ...]
    role_needed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPage:
    """A one-time link, shown this once."""

    sign_name: str
    display_name: str
    url: str
    expires_at: datetime


def place_of(address: str) -> str:
    """The word for the page of an address; "" where there is none to promise."""
    first = urlsplit(address).path.strip("/").partition("/")[0]
    return _PLACES.get(first, "")


def keeps_text(address: str) -> bool:
    """True when a form's text travels in the address."""
    return "kept" in parse_qs(urlsplit(address).query)


def people_page(people: tuple[PersonRecord, ...], *, reader: str, may_change: bool) -> PeoplePage:
    """The list as one reader sees it."""
    rows = tuple(person_row(person, reader=reader) for person in people)
    needed = "" if may_change else LOWEST_ROLE[Permission.PEOPLE].value
    return PeoplePage(rows=rows, role_needed=needed)


def person_row(person: PersonRecord, *, reader: str) -> PersonRow:
    """One person as one reader sees them."""
    return PersonRow(
        sign_name=person.sign_name,
        display_name=person.display_name,
        role=person.role,
        access=_access_fact(person),
        added_at=person.added_at,
        added_by="./crewlet up" if person.added_by == STARTER else person.added_by,
        is_reader=person.sign_name == reader,
        url=f"/people/{person.sign_name}/",
    )


def _access_fact(person: PersonRecord) -> Fact:
    match person.access:
        case Access.ACTIVE:
            return value("can sign in", mark="ok")
        case Access.LINK_OPEN:
            return value(
                "no password yet",
                "link open until",
                mark="idle",
                note_moment=person.link_expires_at,
            )
        case Access.LINK_EXPIRED:
            return value("no password yet", "the link has expired", mark="warn", tone="warn")
