"""`/api/people`: what `./crewlet people` and other clients use."""

from datetime import datetime
from typing import Literal

from django.conf import settings
from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import ConfigDict

from accounts import pages, services
from accounts.changes import Because, Refused
from accounts.names import Unacceptable
from accounts.services import LinkIssued
from runtime.access import Caller, Permission, Role, demand

router = Router(tags=["people"])

_NOT_FOUND = frozenset({Because.NO_SUCH_PERSON})


class FieldFault(Schema):
    """One field that cannot be kept."""

    field: str
    message: str


class Refusal(Schema):
    """Why nothing was changed."""

    error: str
    detail: str
    fields: list[FieldFault] | None = None


class PersonOut(Schema):
    """One person who has access."""

    name: str
    display_name: str
    role: Role
    access: Literal["active", "link open", "link expired"]
    added_at: datetime
    added_by: str
    link_expires_at: datetime | None = None


class PeopleOut(Schema):
    """Everybody who has access, by name."""

    people: list[PersonOut]


class PersonIn(Schema):
    """Somebody to add."""

    model_config = ConfigDict(extra="forbid")

    name: str
    display_name: str = ""
    role: Role = Role.VIEWER


class LinkOut(Schema):
    """A one-time link, in clear this once."""

    name: str
    link: str
    expires_at: datetime


class RemovedOut(Schema):
    """Who was removed."""

    name: str
    removed: bool


@router.get("/people", response=PeopleOut, exclude_none=True)
def list_people(request: HttpRequest) -> PeopleOut:
    """Everybody who has access."""
    demand(_caller(request), Permission.READ)
    return PeopleOut(
        people=[
            PersonOut(
                name=person.sign_name,
                display_name=person.display_name,
                role=person.role,
                access=person.access.value,
                added_at=person.added_at,
                added_by=person.added_by,
                link_expires_at=person.link_expires_at,
            )
            for person in services.list_people()
        ]
    )


@router.post("/people", response={201: LinkOut, 409: Refusal, 422: Refusal}, exclude_none=True)
def add_person(request: HttpRequest, body: PersonIn) -> Status[LinkOut] | Status[Refusal]:
    """Add a person without a password; the answer holds the link that sets it."""
    caller = _caller(request)
    demand(caller, Permission.PEOPLE)
    try:
        issued = services.add_person(
            body.name, body.display_name or body.name, body.role, by=caller.name
        )
    except Unacceptable as fault:
        field = "name" if fault.field == "sign_name" else fault.field
        fields = [FieldFault(field=field, message=fault.message)]
        detail = f"{field}: {fault.message}"
        return Status(422, Refusal(error="invalid", detail=detail, fields=fields))
    return _answer(issued, 201)


@router.post("/people/{name}/reset", response={200: LinkOut, 404: Refusal}, exclude_none=True)
def reset_person(request: HttpRequest, name: str) -> Status[LinkOut] | Status[Refusal]:
    """Make another one-time link; those before it end."""
    caller = _caller(request)
    demand(caller, Permission.PEOPLE)
    return _answer(services.reset_person(name, by=caller.name), 200)


@router.delete(
    "/people/{name}", response={200: RemovedOut, 404: Refusal, 409: Refusal}, exclude_none=True
)
def remove_person(request: HttpRequest, name: str) -> Status[RemovedOut] | Status[Refusal]:
    """Take access away; sessions end at once."""
    caller = _caller(request)
    demand(caller, Permission.PEOPLE)
    outcome = services.remove_person(name, by=caller.name)
    if isinstance(outcome, Refused):
        return _refusal(outcome)
    return Status(200, RemovedOut(name=name, removed=True))


def _caller(request: HttpRequest) -> Caller:
    caller = getattr(request, "auth", None)
    if not isinstance(caller, Caller):
        msg = "the API has to be mounted with accounts.tokens.ApiAuth"
        raise TypeError(msg)
    return caller


def _answer(issued: LinkIssued | Refused, status: int) -> Status[LinkOut] | Status[Refusal]:
    if isinstance(issued, Refused):
        return _refusal(issued)
    link = LinkOut(
        name=issued.sign_name,
        link=f"{settings.BASE_URL}{issued.path}",
        expires_at=issued.expires_at,
    )
    return Status(status, link)


def _refusal(refused: Refused) -> Status[Refusal]:
    status = 404 if refused.because in _NOT_FOUND else 409
    body = Refusal(error=refused.because.value, detail=pages.REFUSALS[refused.because])
    return Status(status, body)
