"""Sign-in, sign-out, setting a password by a link, and a reader's own settings."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.decorators import login_not_required
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts import pages, services
from accounts.changes import Because, Refused
from accounts.forms import NewPasswordForm, PreferencesForm, SignInForm
from accounts.models import Person, fold_name
from accounts.services import OpenLink, PasswordRefused
from accounts.throttling import minutes_locked
from company.services import current
from runtime import hub
from runtime.access import Permission, require
from runtime.moments import read_clock

BACKEND: Final = "accounts.backends.PersonBackend"
# Remembers until when a session was meant to last, so that sign-in can say that it ended.
UNTIL_COOKIE: Final = "crewlet_until"
COOKIE_LIFETIME: Final = timedelta(days=365)
PREFERENCES: Final = {"theme": "system", "density": "comfortable", "tz": "company", "keys": "on"}
_GONE: Final = frozenset({Because.LINK_USED, Because.LINK_EXPIRED, Because.LINK_SUPERSEDED})


@login_not_required
@never_cache
@csrf_protect
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Ask for name and password; a wrong pair never says which half."""
    if request.method == "GET":
        if request.user.is_authenticated:
            return redirect(safe_next(request))
        return _draw_sign_in(request, SignInForm())
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _draw_sign_in(request, form, wrong=True)
    name = fold_name(form.cleaned_data["username"])
    locked = minutes_locked(request, name)
    if locked:
        return _draw_sign_in(request, form, locked=locked)
    person = authenticate(request, sign_name=name, password=form.cleaned_data["password"])
    if not isinstance(person, Person):
        return _draw_sign_in(request, form, wrong=True)
    return _let_in(request, person, safe_next(request))


def locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """The page of the attempt that turned the lock; named in the settings of the throttle."""
    del response, credentials
    locked = minutes_locked(request, request.POST.get("username", ""))
    return _draw_sign_in(request, SignInForm(request.POST), locked=locked or 1)


@login_not_required
@never_cache
@csrf_protect
@require_http_methods(["GET", "POST"])
def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign out by POST; a GET asks, since a picture in a page could sign people out otherwise."""
    if request.method == "GET" and request.user.is_authenticated:
        return render(request, "accounts/sign_out.html")
    logout(request)
    response = redirect(settings.LOGIN_URL)
    response.delete_cookie(UNTIL_COOKIE)
    return response


@login_not_required
@never_cache
@csrf_protect
@sensitive_post_parameters("password", "again")
@sensitive_variables("secret", "password")
@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest, secret: str) -> HttpResponse:
    """Set a password by a one-time link. Looking at it does not use it up."""
    link = services.look_at_link(secret)
    if isinstance(link, Refused):
        return _draw_spent_link(request, link)
    form = NewPasswordForm(request.POST if request.method == "POST" else None)
    if request.method == "GET" or not form.is_valid():
        return _draw_welcome(request, link, form)
    redeemed = services.redeem_link(secret, form.cleaned_data["password"])
    match redeemed:
        case Refused():
            return _draw_spent_link(request, redeemed)
        case PasswordRefused():
            for message in redeemed.messages:
                form.add_error("password", message)
            return _draw_welcome(request, link, form)
        case Person():
            logout(request)
            return _let_in(request, redeemed, pages.FIRST_PAGE)


@never_cache
@require(Permission.READ)
@require_http_methods(["GET", "POST"])
def my_settings(request: HttpRequest) -> HttpResponse:
    """Theme, density, times and keys, kept by this browser; no script needed."""
    if request.method == "POST":
        form = PreferencesForm(request.POST)
        if form.is_valid():
            response = redirect("accounts:me")
            for name in PREFERENCES:
                _set_cookie(response, name, form.cleaned_data[name])
            messages.success(request, "Kept in this browser.")
            return response
    else:
        standing = {name: request.COOKIES.get(name, odd) for name, odd in PREFERENCES.items()}
        form = PreferencesForm(initial=standing)
    status = 200 if request.method == "GET" else 422
    return render(request, "accounts/me.html", {"form": form}, status=status)


@never_cache
@require(Permission.READ)
@require_http_methods(["POST"])
def end_my_sessions(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere, here too."""
    if isinstance(request.user, Person):
        services.end_sessions(request.user)
    logout(request)
    response = redirect(settings.LOGIN_URL)
    response.delete_cookie(UNTIL_COOKIE)
    return response


def safe_next(request: HttpRequest) -> str:
    """Where the reader wanted to go, if that is on this site; else the first page."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    hosts = {request.get_host()}
    if not url_has_allowed_host_and_scheme(asked, hosts, require_https=request.is_secure()):
        return pages.FIRST_PAGE
    parts = urlsplit(asked)
    # Path and query alone go on, so that nothing is left for a browser to read differently.
    path = f"/{parts.path.lstrip('/')}"
    if path.startswith(settings.LOGIN_URL):
        return pages.FIRST_PAGE
    return f"{path}?{parts.query}" if parts.query else path


def _let_in(request: HttpRequest, person: Person, address: str) -> HttpResponse:
    login(request, person, backend=BACKEND)
    response = redirect(address)
    until = int(datetime.now(UTC).timestamp()) + settings.SESSION_COOKIE_AGE
    response.set_signed_cookie(
        UNTIL_COOKIE,
        str(until),
        max_age=COOKIE_LIFETIME,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
    return response


def _draw_sign_in(
    request: HttpRequest, form: SignInForm, *, wrong: bool = False, locked: int = 0
) -> HttpResponse:
    address = safe_next(request)
    until = _session_until(request)
    company, link, now = current(), hub.link(), datetime.now(UTC)
    page = pages.SignInPage(
        company=company.name if company is not None else "",
        next=address,
        returns_to=pages.place_of(address) if address != pages.FIRST_PAGE else "",
        kept=pages.keeps_text(address),
        was_signed_in=until is not None,
        ended_at=until if until is not None and until <= now else None,
        locked_minutes=locked,
        wrong=wrong,
        node=settings.NODE_ID,
        build=settings.BUILD,
        silent_since=None if link.up else link.since,
    )
    zone = ZoneInfo(company.timezone if company is not None else "UTC")
    clock = read_clock(request.GET, request.COOKIES, company=zone, now=now)
    status = 429 if locked else 422 if wrong else 200
    context = {"page": page, "form": form, "clock": clock}
    response = render(request, "accounts/sign_in.html", context, status=status)
    if locked:
        response.headers["Retry-After"] = str(locked * 60)
    return response


def _draw_welcome(request: HttpRequest, link: OpenLink, form: NewPasswordForm) -> HttpResponse:
    company = current()
    context = {"link": link, "form": form, "company": company.name if company else ""}
    status = 422 if form.errors else 200
    return render(request, "accounts/welcome.html", context, status=status)


def _draw_spent_link(request: HttpRequest, refused: Refused) -> HttpResponse:
    context = {"sentence": pages.REFUSALS[refused.because]}
    status = 410 if refused.because in _GONE else 404
    return render(request, "accounts/spent_link.html", context, status=status)


def _session_until(request: HttpRequest) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(request.get_signed_cookie(UNTIL_COOKIE) or ""), UTC)
    except (KeyError, BadSignature, ValueError, OverflowError, OSError):
        return None


def _set_cookie(response: HttpResponse, name: str, value: str) -> None:
    # Readable by the page's own scripts, which switch the same preferences.
    response.set_cookie(
        name,
        value,
        max_age=COOKIE_LIFETIME,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
