"""Use cases of people: adding, links, roles, removal, signing out everywhere, the first admin."""

import hmac
import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db.models import Prefetch
from django.utils import timezone

from accounts.changes import (
    AddPerson,
    Because,
    ChangeRole,
    Done,
    EndSessions,
    IssueLink,
    NewLink,
    Outcome,
    RedeemLink,
    Refused,
    RemovePerson,
)
from accounts.minting import hash_of, mint_id, mint_secret
from accounts.models import Person, SignInLink
from accounts.names import read_display_name, read_sign_name
from accounts.people_writer import apply
from runtime.access import Role

logger = logging.getLogger(__name__)

LINK_LIFETIME: Final = timedelta(hours=24)
FIRST_ADMIN_NAME: Final = "admin"
_SECRET_LIMIT: Final = 200  # characters; ours have 43


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkIssued:
    """A one-time link, in clear this once. `path` is on this site, like `/welcome/<secret>/`."""

    sign_name: str
    path: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordRefused:
    """The password cannot be taken; one sentence each. The link stays good."""

    messages: tuple[str, ...]


class Access(StrEnum):
    """Whether a person can sign in."""

    ACTIVE = "active"
    LINK_OPEN = "link open"
    LINK_EXPIRED = "link expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecord:
    """One person as lists show them; `link_expires_at` is None without an open link."""

    sign_name: str
    display_name: str
    role: Role
    access: Access
    added_at: datetime
    added_by: str
    link_expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLink:
    """A link that can be redeemed now."""

    sign_name: str
    display_name: str
    is_first: bool
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAdmin:
    """The admin of a first boot; `link` is None when a password came from the environment."""

    sign_name: str
    link: LinkIssued | None


def list_people() -> tuple[PersonRecord, ...]:
    """Everybody who has access, by sign-in name."""
    open_links = SignInLink.objects.filter(redeemed_at__isnull=True, superseded_at__isnull=True)
    people = Person.objects.present().prefetch_related(
        Prefetch("links", queryset=open_links, to_attr="open_links")
    )
    now = timezone.now()
    return tuple(_record(person, now) for person in people)


def add_person(sign_name: str, display_name: str, role: Role, *, by: str) -> LinkIssued | Refused:
    """Add somebody without a password; the link is where they set it.

    Raises:
        Unacceptable: a name that cannot be kept.
    """
    name, now = read_sign_name(sign_name), timezone.now()
    new, issued = _new_link(name, now)
    change = AddPerson(
        person_id=mint_id(),
        sign_name=name,
        display_name=read_display_name(display_name),
        role=role,
        encoded_password=make_password(None),
        link=new,
        at=now,
        by=by,
    )
    outcome = apply(change)
    if isinstance(outcome, Refused):
        return outcome
    logger.info("person_added name=%s role=%s by=%s", name, role, by)
    return issued


def reset_person(sign_name: str, *, by: str) -> LinkIssued | Refused:
    """Issue another link; those before it end, the password stays until it is redeemed."""
    person = Person.objects.named(sign_name)
    if person is None:
        return Refused(because=Because.NO_SUCH_PERSON)
    now = timezone.now()
    new, issued = _new_link(person.sign_name, now)
    outcome = apply(IssueLink(person_id=person.pk, link=new, at=now, by=by))
    if isinstance(outcome, Refused):
        return outcome
    logger.info("person_link_issued name=%s by=%s", person.sign_name, by)
    return issued


def remove_person(sign_name: str, *, by: str) -> Outcome:
    """Take access away at once, open sessions included."""
    person = Person.objects.named(sign_name)
    if person is None:
        return Refused(because=Because.NO_SUCH_PERSON)
    outcome = apply(RemovePerson(person_id=person.pk, at=timezone.now()))
    if isinstance(outcome, Done):
        logger.info("person_removed name=%s by=%s", person.sign_name, by)
    return outcome


def change_role(sign_name: str, role: Role, *, by: str) -> Outcome:
    """Give another role; it holds from the person's next request on."""
    person = Person.objects.named(sign_name)
    if person is None:
        return Refused(because=Because.NO_SUCH_PERSON)
    outcome = apply(ChangeRole(person_id=person.pk, role=role))
    if isinstance(outcome, Done):
        logger.info("person_role_changed name=%s role=%s by=%s", person.sign_name, role, by)
    return outcome


def end_sessions(person: Person) -> Outcome:
    """Sign a person out everywhere."""
    return apply(EndSessions(person_id=person.pk))


def look_at_link(secret: str) -> OpenLink | Refused:
    """Whose link it is, without using it up: a mail scanner that follows links ends none."""
    link = _link_of(secret)
    if link is None or not link.person.is_active:
        return Refused(because=Because.NO_SUCH_LINK)
    if link.redeemed_at is not None:
        return Refused(because=Because.LINK_USED)
    if link.superseded_at is not None:
        return Refused(because=Because.LINK_SUPERSEDED)
    if timezone.now() >= link.expires_at:
        return Refused(because=Because.LINK_EXPIRED)
    return OpenLink(
        sign_name=link.person.sign_name,
        display_name=link.person.display_name,
        is_first=not link.person.has_usable_password(),
        expires_at=link.expires_at,
    )


def redeem_link(secret: str, password: str) -> Person | PasswordRefused | Refused:
    """Set the password by a link, once; every session of the person ends.

    Two redemptions at once: one wins, the other is refused as used.
    """
    link = _link_of(secret)
    if link is None:
        return Refused(because=Because.NO_SUCH_LINK)
    try:
        validate_password(password, link.person)
    except ValidationError as fault:
        return PasswordRefused(messages=tuple(fault.messages))
    change = RedeemLink(
        secret_hash=link.secret_hash, encoded_password=make_password(password), at=timezone.now()
    )
    outcome = apply(change)
    if isinstance(outcome, Refused):
        return outcome
    logger.info("person_password_set name=%s", link.person.sign_name)
    return Person.objects.get(pk=link.person_id)


def ensure_first_admin(sign_name: str | None, password: str | None) -> FirstAdmin | None:
    """See that somebody can administer this node; None when somebody can.

    An admin who never set a password gets another link at each start, so that a lost one locks
    nobody out.

    Args:
        sign_name: from the environment, else `admin`.
        password: from the environment; with it no link is made.

    Raises:
        Unacceptable: the name cannot be kept.
        ValidationError: the password is too weak; its messages say why.
    """
    admins = Person.objects.present().filter(role=Role.ADMIN)
    if not admins.exists():
        return _add_first_admin(read_sign_name(sign_name or FIRST_ADMIN_NAME), password)
    if any(admin.has_usable_password() for admin in admins):
        return None
    name = admins[0].sign_name
    issued = reset_person(name, by="up")
    return None if isinstance(issued, Refused) else FirstAdmin(sign_name=name, link=issued)


def _add_first_admin(name: str, password: str | None) -> FirstAdmin | None:
    if password is not None:
        validate_password(password)
    now = timezone.now()
    new, issued = _new_link(name, now)
    change = AddPerson(
        person_id=mint_id(),
        sign_name=name,
        display_name=read_display_name(name.capitalize()),
        role=Role.ADMIN,
        encoded_password=make_password(password),
        link=new if password is None else None,
        at=now,
        by="up",
        only_first_admin=True,
    )
    outcome = apply(change)
    if isinstance(outcome, Refused):
        return None
    logger.info("first_admin_added name=%s", name)
    return FirstAdmin(sign_name=name, link=issued if password is None else None)


def _new_link(sign_name: str, now: datetime) -> tuple[NewLink, LinkIssued]:
    secret = mint_secret()
    expires_at = now + LINK_LIFETIME
    new = NewLink(link_id=mint_id(), secret_hash=secret.secret_hash, expires_at=expires_at)
    path = f"/welcome/{secret.text}/"
    return new, LinkIssued(sign_name=sign_name, path=path, expires_at=expires_at)


def _link_of(secret: str) -> SignInLink | None:
    if not secret or len(secret) > _SECRET_LIMIT:
        return None
    wanted = hash_of(secret)
    link = SignInLink.objects.select_related("person").filter(secret_hash=wanted).first()
    return link if link is not None and hmac.compare_digest(link.secret_hash, wanted) else None


def _record(person: Person, now: datetime) -> PersonRecord:
    open_links: list[SignInLink] = getattr(person, "open_links", [])
    standing = [link for link in open_links if link.expires_at > now]
    access = Access.LINK_OPEN if standing else Access.LINK_EXPIRED
    return PersonRecord(
        sign_name=person.sign_name,
        display_name=person.display_name,
        role=Role(person.role),
        access=Access.ACTIVE if person.has_usable_password() else access,
        added_at=person.added_at,
        added_by=person.added_by,
        link_expires_at=standing[0].expires_at if standing else None,
    )
