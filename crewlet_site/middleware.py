"""Headers that every answer carries, beyond what Django's own middleware sets."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

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
        return response
