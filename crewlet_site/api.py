"""The HTTP API: the apps' routers under one authentication and one shape of refusal.

Every refusal is JSON with an `error` code and, as a rule, a `detail` sentence. An answer without a
code did not come from this node.
"""

import functools
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, override

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from accounts.api import router as people_router
from accounts.tokens import ApiAuth
from coordination.errors import InvalidRequest, OutcomeUnknown, Unavailable
from crewlet_site.description import DescribedAPI
from crewlet_site.limits import BODY_LIMIT_BYTES, DRAIN_RETRY_SECONDS
from crewlet_site.refusals import (
    ELSEWHERE,
    STOPPING,
    is_disk_full,
    note_fault,
    refusal,
    refuse_fault,
    refuse_full,
)
from fleet.api import router as fleet_router
from runtime.access import Caller, Denied, send_to_sign_in

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
RETRY_AFTER_SECONDS: Final = 5
DOCS_POLICY: Final[dict[str, list[str]]] = {
    **{name: [str(part) for part in parts] for name, parts in settings.SECURE_CSP.items()},
    "img-src": [CSP.SELF, "data:"],  # the icons of Swagger's own stylesheet
}

type View = Callable[..., HttpResponseBase]


class Draining(Exception):
    """The node is stopping and takes no more writes."""


class DrainAwareAuth(ApiAuth):
    """Who sent a request; once that is known, a write to a draining node is refused."""

    @override
    def __call__(self, request: HttpRequest) -> Caller:
        """As inherited.

        Raises:
            Draining: the caller is known, and may not write any more.
        """
        caller = super().__call__(request)
        if request.method not in SAFE_METHODS and settings.HOME.draining.exists():
            raise Draining
        return caller


@csrf_exempt
@login_not_required
def no_route(_request: HttpRequest, **_kwargs: object) -> JsonResponse:
    """An address under /api/ that nothing serves."""
    return refusal(404, "no_route", "Nothing is served at this address; see /api/docs.")


def _refuse_stranger(request: HttpRequest, _error: Exception) -> HttpResponse:
    sent = "Authorization" in request.headers
    detail = (
        "This token is not one of this fleet's, or it was revoked."
        if sent
        else "Send a token as 'Authorization: Bearer …', or sign in."
    )
    response = refusal(401, "invalid_token", detail)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _refuse_role(_request: HttpRequest, denied: Denied) -> HttpResponse:
    return refusal(403, "forbidden", str(denied), role_needed=denied.role_needed.value)


def _refuse_unavailable(_request: HttpRequest, error: Exception) -> HttpResponse:
    unknown = {"outcome": "unknown"} if isinstance(error, OutcomeUnknown) else {}
    detail = f"The coordination store could not be asked: {error}"
    return refusal(503, "unavailable", detail, retry_after=RETRY_AFTER_SECONDS, **unknown)


def _refuse_draining(_request: HttpRequest, _error: Exception) -> HttpResponse:
    return refusal(503, "draining", STOPPING, retry_after=DRAIN_RETRY_SECONDS, hint=ELSEWHERE)


def _refuse_invalid(_request: HttpRequest, error: Exception) -> HttpResponse:
    return refusal(422, "invalid", str(error))


def _refuse_fields(_request: HttpRequest, error: ValidationError) -> HttpResponse:
    fields = [{"field": _place(row), "message": str(row.get("msg", ""))} for row in error.errors]
    detail = "; ".join(f"{row['field']}: {row['message']}" for row in fields)
    return refusal(422, "invalid", detail, fields=fields)


def _refuse_missing(_request: HttpRequest, _error: Exception) -> HttpResponse:
    return refusal(404, "not_found", "There is no such thing here.")


def _answer_fault(request: HttpRequest, error: Exception) -> HttpResponse:
    reference = note_fault(request, error)
    return refuse_full() if is_disk_full(error) else refuse_fault(reference)


def _refuse_http(_request: HttpRequest, error: HttpError) -> HttpResponse:
    text = str(error)
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return refusal(400, "unreadable_body", text)
    if text in _SENTENCES:
        return refusal(error.status_code, text, _SENTENCES[text])
    return refusal(error.status_code, "refused", text)


_SENTENCES: Final[Mapping[str, str]] = {
    "csrf_failed": "The session's CSRF token is missing or wrong: send it as X-CSRFToken.",
}
_HANDLERS: Final[Mapping[type[Exception], Callable[[HttpRequest, Any], HttpResponse]]] = {
    AuthenticationError: _refuse_stranger,
    Denied: _refuse_role,
    Draining: _refuse_draining,
    Unavailable: _refuse_unavailable,
    InvalidRequest: _refuse_invalid,
    ValidationError: _refuse_fields,
    Http404: _refuse_missing,
    HttpError: _refuse_http,
    Exception: _answer_fault,
}


def _place(row: Mapping[str, Any]) -> str:
    # ("body", "body", "reason"): where it was read from and the argument's name say nothing here.
    parts = [str(part) for part in row.get("loc", ()) if part not in ("body", "query")]
    return ".".join(parts) or "body"


def _signed_in(view: View) -> View:
    """The documentation is for those who may call: a session or a token."""

    @csrf_exempt
    @login_not_required
    @require_safe
    @csp_override(DOCS_POLICY)
    @functools.wraps(view)
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            ApiAuth()(request)
        except AuthenticationError as error:
            if request.path.endswith(".json"):
                return _refuse_stranger(request, error)
            return send_to_sign_in(request)
        return view(request, *args, **kwargs)

    return asked


def _wrapped(view: View) -> View:
    """One operation's view: bodies are JSON and small, whether or not they say their size."""

    @csrf_exempt
    @login_not_required
    @functools.wraps(view)
    def served(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            body = request.body
        except RequestDataTooBig:
            return _refuse_size()
        except UnreadablePostError:
            return refusal(400, "unreadable_body", "The body did not arrive.")
        if len(body) > BODY_LIMIT_BYTES:
            return _refuse_size()
        if body and request.content_type != "application/json":
            return refusal(415, "unsupported_media_type", "Send the body as application/json.")
        return view(request, *args, **kwargs)

    return served


def _refuse_size() -> JsonResponse:
    detail = f"The body is larger than the {BODY_LIMIT_BYTES:,} bytes that fit."
    return refusal(413, "body_too_large", detail)


def build() -> NinjaAPI:
    """The API with every app's routes and every refusal's shape."""
    api = DescribedAPI(
        title="Crewlet",
        version=settings.BUILD,
        auth=DrainAwareAuth(),
        docs_decorator=_signed_in,
        urls_namespace="api",
    )
    for kind, handler in _HANDLERS.items():
        api.add_exception_handler(kind, handler)
    api.add_router("", fleet_router)
    api.add_router("", people_router)
    return api


def urls() -> list[URLPattern | URLResolver]:
    """The API's addresses, to be mounted under `api/`."""
    patterns = list(build().urls[0])
    documentation = {"openapi-json", "openapi-view"}
    for pattern in patterns:
        if not isinstance(pattern, URLPattern) or pattern.name in documentation:
            continue
        is_root = pattern.name == "api-root"
        pattern.callback = no_route if is_root else _wrapped(pattern.callback)
    return patterns
