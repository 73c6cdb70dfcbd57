"""Bearer tokens of the API, and who sent an API request.

A token reads `crewlet_<id>_<secret>`: the id finds the row, the secret is compared with its hash in
constant time.
"""

import hmac
import os
from pathlib import Path
from typing import Final, override
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja.errors import AuthenticationError, HttpError
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from accounts.changes import AddToken, Outcome, Refused, RevokeToken
from accounts.minting import hash_of, mint_id, mint_secret
from accounts.models import ApiToken, Person
from accounts.people_writer import apply
from runtime.access import Caller, Role

PREFIX: Final = "crewlet"
HEADER_LIMIT: Final = 512  # characters; ours have 88
_NOBODY: Final = hash_of("")
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def make_token(name: str, role: Role, *, by: str, replaces: bool = False) -> str | Refused:
    """Make a token and return it in clear, this once."""
    token_id, secret = mint_id(), mint_secret()
    outcome = apply(
        AddToken(
            token_id=token_id,
            name=name,
            role=role,
            secret_hash=secret.secret_hash,
            at=timezone.now(),
            by=by,
            replaces=replaces,
        )
    )
    if isinstance(outcome, Refused):
        return outcome
    return f"{PREFIX}_{token_id.hex}_{secret.text}"


def revoke_token(name: str) -> Outcome:
    """End a token; requests with it are refused from now on."""
    return apply(RevokeToken(name=name, at=timezone.now()))


def authenticate(header: str | None) -> Caller | None:
    """Who an `Authorization` header speaks for; None when it is no standing token of ours."""
    scheme, _, text = (header or "")[: HEADER_LIMIT + 1].partition(" ")
    if scheme.lower() != "bearer" or len(header or "") > HEADER_LIMIT:
        return None
    prefix, _, rest = text.strip().partition("_")
    id_hex, _, secret = rest.partition("_")
    row = _row_of(id_hex) if prefix == PREFIX else None
    # Compared in any case: the time says nothing about which ids exist.
    fits = hmac.compare_digest(row.secret_hash if row else _NOBODY, hash_of(secret))
    if row is None or not fits:
        return None
    return Caller(name=row.name, role=Role(row.role), via="token", display_name=row.name)


def caller_of(person: object) -> Caller | None:
    """A signed-in person as the sender of a request; None for anybody else."""
    if not isinstance(person, Person) or not person.is_active:
        return None
    return Caller(
        name=person.sign_name,
        role=Role(person.role),
        via="session",
        display_name=person.display_name,
    )


class ApiAuth(AuthBase):
    """Who sent an API request: a bearer token where there is one, else the session with CSRF.

    `request.auth` becomes a `Caller`. A wrong token is refused even beside a good session.
    """

    openapi_type: str = "http"
    openapi_scheme: str = "bearer"

    @override
    def __call__(self, request: HttpRequest) -> Caller:
        """The caller.

        Raises:
            AuthenticationError: nobody; the API answers 401.
            HttpError: a session's write without its CSRF token; 403.
        """
        header = request.headers.get("Authorization")
        caller = authenticate(header) if header is not None else caller_of(request.user)
        if caller is None:
            raise AuthenticationError
        if caller.via == "session" and request.method not in _SAFE_METHODS and check_csrf(request):
            raise HttpError(403, "csrf_failed")
        return caller


def ensure_cli_token(path: Path, node_id: str) -> bool:
    """See that the file holds a token that works, for `./crewlet` on this machine.

    The file is made with mode 0600 and replaced whole; a token of this node that was lost with its
    file is revoked.

    Returns:
        True when a token was minted.
    """
    held = _read_token(path)
    if held and authenticate(f"Bearer {held}") is not None:
        return False
    text = make_token(f"cli@{node_id}", Role.ADMIN, by="up", replaces=True)
    if isinstance(text, Refused):
        msg = f"the token for ./crewlet was refused: {text.because}"
        raise TypeError(msg)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{text}\n")
    partial.replace(path)
    return True


def _read_token(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def _row_of(id_hex: str) -> ApiToken | None:
    try:
        token_id = UUID(hex=id_hex)
    except ValueError:
        return None
    return ApiToken.objects.filter(pk=token_id, revoked_at__isnull=True).first()
