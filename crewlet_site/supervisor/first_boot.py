"""What a node needs once: a company document, an admin, a token for its own commands."""

from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ValidationError

from accounts import services as people
from accounts import tokens
from accounts.names import Unacceptable
from company import services as documents
from company.problems import DocumentInvalid
from crewlet_site.env import Environment
from crewlet_site.errors import StartRefused
from crewlet_site.home import Home
from crewlet_site.supervisor.preparation import disk_faults


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBoot:
    """What was done, in words; `link` is the first admin's while they have no password yet."""

    summary: str
    link: str = field(default="", repr=False)


def prepare(home: Home, environment: Environment) -> FirstBoot:
    """Do what was not done yet.

    Raises:
        StartRefused: the document, or the admin the environment names, cannot be taken.
    """
    with disk_faults(home):
        done = [
            *_import_company(environment.company),
            *_ensure_token(home),
        ]
        admin = _ensure_admin(environment)
    if admin is not None and admin.link is None:
        done.append(f"admin {admin.sign_name} added from the environment")
    link = f"{settings.BASE_URL}{admin.link.path}" if admin is not None and admin.link else ""
    return FirstBoot(summary=", ".join(done) or "nothing to do", link=link)


def _import_company(path: Path) -> list[str]:
    try:
        outcome = documents.import_first_document(path, created_by="up")
    except DocumentInvalid as error:
        count = len(error.problems) + error.omitted
        others = f" (the first of {count} faults)" if count > 1 else ""
        first = str(error.problems[0]).rstrip(".")
        msg = f"The company document {path}, {first}{others}."
        raise StartRefused(msg) from error
    except FileNotFoundError as error:
        msg = (
            f"The company document {path} is not there: set CREWLET_COMPANY to one, or unset it "
            "for the example."
        )
        raise StartRefused(msg) from error
    except OSError as error:
        msg = (
            f"The company document {path} cannot be read ({error.strerror}): set CREWLET_COMPANY "
            "to one that can, or unset it for the example."
        )
        raise StartRefused(msg) from error
    if isinstance(outcome, documents.AlreadyHeld):
        return []
    company = outcome.company
    return [f"{company.name} imported from {path.name}, {len(company.seats)} seats"]


def _ensure_token(home: Home) -> list[str]:
    minted = tokens.ensure_cli_token(home.cli_token, settings.NODE_ID)
    return ["API token minted"] if minted else []


def _ensure_admin(environment: Environment) -> people.FirstAdmin | None:
    try:
        return people.ensure_first_admin(environment.admin_user, environment.admin_password)
    except ValidationError as error:
        msg = f"CREWLET_ADMIN_PASSWORD is refused: {' '.join(error.messages)}"
        raise StartRefused(msg) from error
    except Unacceptable as error:
        msg = f"CREWLET_ADMIN_USER is refused: {error.message}"
        raise StartRefused(msg) from error
