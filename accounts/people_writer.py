"""The only writer of people, links and tokens.

`apply` opens the estate's file for writing itself, for one transaction. Once the estate's log has
an applier, that takes its place and this function appends.
"""

from datetime import datetime
from typing import assert_never
from uuid import UUID

from django.db.models import F

from accounts.changes import (
    AddPerson,
    AddToken,
    Because,
    Change,
    ChangeRole,
    Done,
    EndSessions,
    IssueLink,
    NewLink,
    Outcome,
    RedeemLink,
    Refused,
    RemovePerson,
    RevokeToken,
)
from accounts.estate_file import writing
from accounts.models import ApiToken, Person, SignInLink
from runtime.access import Role


def apply(change: Change) -> Outcome:
    """Judge a change on the rows as they stand and write it, in one transaction.

    Two changes never interleave: the transaction takes the file's write lock before it reads.
    """
    with writing():
        match change:
            case AddPerson():
                return _add_person(change)
            case IssueLink():
                return _issue_link(change)
            case RedeemLink():
                return _redeem_link(change)
            case ChangeRole():
                return _change_role(change)
            case RemovePerson():
                return _remove_person(change)
            case EndSessions():
                return _end_sessions(change)
            case AddToken():
                return _add_token(change)
            case RevokeToken():
                return _revoke_token(change)
            case _:
                assert_never(change)


def _add_person(change: AddPerson) -> Outcome:
    present = Person.objects.present()
    if change.only_first_admin and present.filter(role=Role.ADMIN).exists():
        return Refused(because=Because.ADMIN_EXISTS)
    if present.filter(sign_name=change.sign_name).exists():
        return Refused(because=Because.NAME_TAKEN)
    person = Person(
        id=change.person_id,
        sign_name=change.sign_name,
        display_name=change.display_name,
        role=change.role,
        password=change.encoded_password,
        added_at=change.at,
        added_by=change.by,
    )
    Person.objects.bulk_create([person])
    if change.link is not None:
        _make_link(person.id, change.link, change.at, change.by)
    return Done(person_id=person.id)


def _issue_link(change: IssueLink) -> Outcome:
    if _present(change.person_id) is None:
        return Refused(because=Because.NO_SUCH_PERSON)
    _end_links(change.person_id, change.at)
    _make_link(change.person_id, change.link, change.at, change.by)
    return Done(person_id=change.person_id)


def _redeem_link(change: RedeemLink) -> Outcome:
    link = SignInLink.objects.filter(secret_hash=change.secret_hash).first()
    if link is None or _present(link.person_id) is None:
        return Refused(because=Because.NO_SUCH_LINK)
    if link.redeemed_at is not None:
        return Refused(because=Because.LINK_USED)
    if link.superseded_at is not None:
        return Refused(because=Because.LINK_SUPERSEDED)
    if change.at >= link.expires_at:
        return Refused(because=Because.LINK_EXPIRED)
    SignInLink.objects.filter(pk=link.pk).update(redeemed_at=change.at)
    _end_links(link.person_id, change.at)
    Person.objects.filter(pk=link.person_id).update(
        password=change.encoded_password, session_epoch=F("session_epoch") + 1
    )
    return Done(person_id=link.person_id)


def _change_role(change: ChangeRole) -> Outcome:
    person = _present(change.person_id)
    if person is None:
        return Refused(because=Because.NO_SUCH_PERSON)
    if change.role is not Role.ADMIN and _is_last_admin(person):
        return Refused(because=Because.LAST_ADMIN)
    Person.objects.filter(pk=person.pk).update(role=change.role)
    return Done(person_id=person.pk)


def _remove_person(change: RemovePerson) -> Outcome:
    person = _present(change.person_id)
    if person is None:
        return Refused(because=Because.NO_SUCH_PERSON)
    if _is_last_admin(person):
        return Refused(because=Because.LAST_ADMIN)
    _end_links(person.pk, change.at)
    Person.objects.filter(pk=person.pk).update(
        removed_at=change.at, session_epoch=F("session_epoch") + 1
    )
    return Done(person_id=person.pk)


def _end_sessions(change: EndSessions) -> Outcome:
    touched = Person.objects.present().filter(pk=change.person_id)
    if not touched.update(session_epoch=F("session_epoch") + 1):
        return Refused(because=Because.NO_SUCH_PERSON)
    return Done(person_id=change.person_id)


def _add_token(change: AddToken) -> Outcome:
    standing = ApiToken.objects.filter(name=change.name, revoked_at__isnull=True)
    if change.replaces:
        standing.update(revoked_at=change.at)
    elif standing.exists():
        return Refused(because=Because.TOKEN_NAME_TAKEN)
    ApiToken.objects.create(
        id=change.token_id,
        name=change.name,
        role=change.role,
        secret_hash=change.secret_hash,
        made_at=change.at,
        made_by=change.by,
    )
    return Done(person_id=None)


def _revoke_token(change: RevokeToken) -> Outcome:
    standing = ApiToken.objects.filter(name=change.name, revoked_at__isnull=True)
    if not standing.update(revoked_at=change.at):
        return Refused(because=Because.NO_SUCH_TOKEN)
    return Done(person_id=None)


def _present(person_id: UUID) -> Person | None:
    return Person.objects.present().filter(pk=person_id).first()


def _is_last_admin(person: Person) -> bool:
    if person.role != Role.ADMIN:
        return False
    return not Person.objects.present().filter(role=Role.ADMIN).exclude(pk=person.pk).exists()


def _make_link(person_id: UUID, link: NewLink, at: datetime, by: str) -> None:
    SignInLink.objects.create(
        id=link.link_id,
        person_id=person_id,
        secret_hash=link.secret_hash,
        made_at=at,
        made_by=by,
        expires_at=link.expires_at,
    )


def _end_links(person_id: UUID, at: datetime) -> None:
    open_links = SignInLink.objects.filter(person_id=person_id, redeemed_at__isnull=True)
    open_links.filter(superseded_at__isnull=True).update(superseded_at=at)
