"""What can happen to people, as values.

A change carries everything that its rows will hold, ids, instants and hashes included, and never a
secret in clear: applied to the same rows it gives the same rows anywhere.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from runtime.access import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLink:
    """A one-time link to issue."""

    link_id: UUID
    secret_hash: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPerson:
    """Somebody new. `only_first_admin` refuses when there is an admin already."""

    person_id: UUID
    sign_name: str
    display_name: str
    role: Role
    encoded_password: str
    link: NewLink | None
    at: datetime
    by: str
    only_first_admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLink:
    """Another link; the ones before it end."""

    person_id: UUID
    link: NewLink
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedeemLink:
    """Set the password by a link, once; ends the person's sessions."""

    secret_hash: str
    encoded_password: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRole:
    """Another role for a person."""

    person_id: UUID
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePerson:
    """Take somebody's access away; ends their sessions and links."""

    person_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSessions:
    """Sign a person out everywhere."""

    person_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AddToken:
    """A token; one of the same name that stands is revoked when `replaces`, else it refuses."""

    token_id: UUID
    name: str
    role: Role
    secret_hash: str
    at: datetime
    by: str
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeToken:
    """End a token."""

    name: str
    at: datetime


type Change = (
    AddPerson
    | IssueLink
    | RedeemLink
    | ChangeRole
    | RemovePerson
    | EndSessions
    | AddToken
    | RevokeToken
)


class Because(StrEnum):
    """Why a change was refused; the API's `error` code too."""

    NAME_TAKEN = "name_taken"
    NO_SUCH_PERSON = "no_such_person"
    LAST_ADMIN = "last_admin"
    ADMIN_EXISTS = "admin_exists"
    NO_SUCH_LINK = "no_such_link"
    LINK_USED = "link_used"
    LINK_EXPIRED = "link_expired"
    LINK_SUPERSEDED = "link_superseded"
    TOKEN_NAME_TAKEN = "token_name_taken"
    NO_SUCH_TOKEN = "no_such_token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The rows hold the change now; `person_id` is whom it touched, None for a token."""

    person_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing was written."""

    because: Because


type Outcome = Done | Refused
