"""Who may do what: the one permission table for pages, API and sockets.

It stands here, below the apps, because apps are strangers to each other and all of them ask. People
and tokens live in ``accounts``; this module knows them only as something with a ``role``.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Concatenate, Final, ParamSpec
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

# A longer address is refused by common proxies; a form that does not fit is simply not carried.
RETURN_ADDRESS_LIMIT: Final = 2_000


class Role(StrEnum):
    """What a person or a token may do; each role holds all of the one before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class Permission(StrEnum):
    """The acts that are asked about."""

    READ = "read"
    PAUSE = "pause"
    WRITE_FILES = "write_files"
    REVIEW = "review"
    CHARGE = "charge"
    CHANGE_CONFIG = "change_config"
    SECRETS = "secrets"
    PEOPLE = "people"


# The lowest role that holds each permission.
LOWEST_ROLE: Final[Mapping[Permission, Role]] = MappingProxyType(
    {
        Permission.READ: Role.VIEWER,
        Permission.PAUSE: Role.OPERATOR,
        Permission.WRITE_FILES: Role.OPERATOR,
        Permission.REVIEW: Role.OPERATOR,
        Permission.CHARGE: Role.OPERATOR,
        Permission.CHANGE_CONFIG: Role.ADMIN,
        Permission.SECRETS: Role.ADMIN,
        Permission.PEOPLE: Role.ADMIN,
    }
)
_RANK: Final[Mapping[Role, int]] = MappingProxyType({role: n for n, role in enumerate(Role)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request, however it was proven.

    Attributes:
        name: the sign-in name, or the token's name; what a record keeps as its author.
        role: what it may do.
        via: ``session`` or ``token``.
        display_name: what a page calls it.
    """

    name: str
    role: Role
    via: str
    display_name: str = ""


class Denied(Exception):
    """The caller's role lacks a permission; the API answers 403 ``forbidden``."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission
        self.role_needed = LOWEST_ROLE[permission]
        super().__init__(f"This needs the {self.role_needed} role.")


def role_of(subject: object) -> Role | None:
    """Role of a person or caller; None for somebody not signed in or removed."""
    if not getattr(subject, "is_authenticated", isinstance(subject, Caller)):
        return None
    word = getattr(subject, "role", "")
    return Role(word) if word in tuple(Role) else None


def may(subject: object, permission: Permission | str) -> bool:
    """True when the subject's role holds the permission."""
    role = role_of(subject)
    return role is not None and _RANK[role] >= _RANK[LOWEST_ROLE[Permission(permission)]]


def demand(subject: object, permission: Permission | str) -> None:
    """Raise ``Denied`` unless the subject's role holds the permission."""
    if not may(subject, permission):
        raise Denied(Permission(permission))


def require(permission: Permission | str) -> Callable[[View[P]], View[P]]:
    """Guard a view: not signed in goes to sign-in, a role that lacks it gets the 403 page."""
    asked = Permission(permission)

    def guard(view: View[P]) -> View[P]:
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if role_of(request.user) is None:
                return send_to_sign_in(request)
            if not may(request.user, asked):
                return refuse(request, asked)
            return view(request, *args, **kwargs)

        functools.update_wrapper(guarded, view)
        return guarded

    return guard


def refuse(request: HttpRequest, permission: Permission) -> HttpResponse:
    """The page that names the role which is missing, status 403."""
    context = {"needed_role": LOWEST_ROLE[permission], "permission": permission}
    return render(request, "403.html", context, status=403)


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page of a form that did not come from a page of ours, status 403."""
    del reason
    sentence = (
        "This form did not come from a page of this site, or that page is older than your "
        "sign-in. Nothing was changed: go back, reload the page and send it again."
    )
    context = {"heading": "This form was not taken", "exception": sentence}
    return render(request, "403.html", context, status=403)


def send_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Send the reader to sign-in and back here; what was typed into a form travels along."""
    address = f"{settings.LOGIN_URL}?{urlencode({'next': _return_address(request)})}"
    if request.headers.get("HX-Request"):
        return HttpResponse(status=401, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _return_address(request: HttpRequest) -> str:
    if request.headers.get("HX-Request"):
        shown = request.headers.get("HX-Current-URL", "")
        host = request.get_host()
        if url_has_allowed_host_and_scheme(shown, {host}, require_https=request.is_secure()):
            return shown
    address = request.get_full_path()
    typed = [
        (name, text)
        for name, texts in request.POST.lists()
        if name != "csrfmiddlewaretoken" and "password" not in name
        for text in texts
    ]
    if not typed:
        return address
    with_form = f"{address}{'&' if '?' in address else '?'}{urlencode([*typed, ('kept', '1')])}"
    return with_form if len(with_form) <= RETURN_ADDRESS_LIMIT else address
