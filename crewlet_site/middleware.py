"""What holds for every answer, beyond what Django's own middleware sees to."""

from collections.abc import Callable
from typing import Any, Final, override

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, HttpResponseNotAllowed
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import add_never_cache_headers

from crewlet_site import refusals
from runtime.access import send_to_sign_in

JSON_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# Who comes and goes changes nothing that outlives the node's stop.
ALSO_WHILE_STOPPING: Final = frozenset({"/sign-in/", "/sign-out/"})

type Handler = Callable[[HttpRequest], HttpResponse]


class ReadLikeGet:
    """A HEAD is a GET whose body the server keeps to itself, so no view has to know of it."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Let views see a GET."""
        if request.method == "HEAD":
            request.method = "GET"
        return self.get_response(request)


class KeptByNobody:
    """What one reader may see is stored by no cache, unless an answer says otherwise itself."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Say so where nothing was said."""
        response = self.get_response(request)
        if "Cache-Control" not in response.headers:
            add_never_cache_headers(response)
        return response


class MethodsInWords:
    """A refused method is told in words; Django alone shows an empty page."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Say which methods the address takes."""
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed):
            return refusals.not_allowed(request, response.headers["Allow"])
        return response


class JsonPolicy:
    """A document of data loads nothing: answer JSON under a policy that allows nothing."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Set the policy before the general one would be."""
        response = self.get_response(request)
        if response.headers.get("Content-Type", "").startswith("application/json"):
            response.headers["Content-Security-Policy"] = JSON_POLICY
            response.headers["Referrer-Policy"] = "no-referrer"
        return response


class Compressed(GZipMiddleware):
    """Compress what is read: a page of 200 rows is a tenth of its size.

    An answer to a form is left as it is, for it may show a secret once, and a length must not tell
    of one. What pages read on request hold is masked anew in each (the form's token), and the
    length is padded at random.
    """

    @override
    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Compress the answer to a read."""
        if request.method != "GET":
            return response
        return super().process_response(request, response)


class SignedInOnly(LoginRequiredMiddleware):
    """Every view is for those who signed in, unless it says otherwise itself."""

    @override
    def handle_no_permission(  # type: ignore[override]  # htmx is told by a header, not a redirect
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponse:
        """To sign-in and back, with what was typed."""
        return send_to_sign_in(request)


class NoFormsWhileStopping:
    """A node that drains takes no more forms; its API says the same by itself."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Nothing to do before the view is known, and with it who may use it."""
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, _view: Any, _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """Refuse a form."""
        if request.method in SAFE_METHODS or request.path in ALSO_WHILE_STOPPING:
            return None
        if refusals.is_for_machines(request) or not settings.HOME.draining.exists():
            return None
        return refusals.draining(request)
