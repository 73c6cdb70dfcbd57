"""What holds for every answer, beyond what Django's own middleware sees to."""

from collections.abc import Callable
from typing import Any, Final, override

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from runtime.access import send_to_sign_in

JSON_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"


class JsonPolicy:
    """A document of data loads nothing: answer JSON under a policy that allows nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
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
