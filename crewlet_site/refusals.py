"""One shape for a no: JSON with a code under `/api/`, a page in our look elsewhere.

These are what Django answers by itself: a request it cannot read, a wrong method, a fault of ours,
and a write to a node that stops. They are drawn without a session or a store, which may be what is
broken.
"""

import logging
import secrets
import sys
from typing import Final

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from crewlet_site.limits import DRAIN_RETRY_SECONDS

STOPPING: Final = "This node is stopping and takes no more writes."
ELSEWHERE: Final = "Send it to another node, or to this one when it is back."
FULL: Final = (
    "This node cannot write: its disk is full. Nothing was changed; free some space on it."
)
_log = logging.getLogger(__name__)


def refusal(
    status: int, error: str, detail: str, *, retry_after: int | None = None, **more: object
) -> JsonResponse:
    """A no of the API."""
    response = JsonResponse({"error": error, "detail": detail, **more}, status=status)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that cannot be read, or names a host that is not ours; Django's handler400."""
    del exception
    if is_for_machines(request):
        return refusal(400, "bad_request", "This request cannot be read.")
    sentence = (
        "Its address or its form is not one that this site makes. Nothing was changed: go to the "
        "first page and start from there."
    )
    return _page("This request cannot be read", sentence, 400)


def fault(request: HttpRequest) -> HttpResponse:
    """A fault of ours, with a reference that the log has as well; Django's handler500."""
    reference = note_fault(request)
    if is_disk_full(sys.exc_info()[1]):
        return refuse_full() if is_for_machines(request) else _page("Nothing was kept", FULL, 503)
    if is_for_machines(request):
        return refuse_fault(reference)
    return HttpResponse(render_to_string("500.html", {"reference": reference}), status=500)


def note_fault(request: HttpRequest, error: Exception | None = None) -> str:
    """Log a fault and return its reference, short enough to be read out."""
    reference = secrets.token_hex(4)
    _log.error("request_failed reference=%s path=%s", reference, request.path, exc_info=error)
    return reference


def is_disk_full(error: BaseException | None) -> bool:
    """Whether a database could not write because there is no room."""
    return isinstance(error, DatabaseError) and "full" in str(error)


def refuse_full() -> JsonResponse:
    """The API's answer while this node's databases cannot be written."""
    return refusal(503, "unavailable", FULL, retry_after=DRAIN_RETRY_SECONDS)


def refuse_fault(reference: str) -> JsonResponse:
    """The API's answer to a fault of ours."""
    detail = f"This node failed to answer; its log says why under the reference {reference}."
    return refusal(500, "internal_error", detail, reference=reference)


def not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """A method that an address does not take."""
    if is_for_machines(request):
        response: HttpResponse = refusal(
            405, "method_not_allowed", f"This address takes {allowed}."
        )
    else:
        sentence = "This address is for a form of this site. Nothing was changed."
        response = _page("There is no page to read here", sentence, 405)
    response.headers["Allow"] = allowed
    return response


def draining(_request: HttpRequest) -> HttpResponse:
    """A form that was sent to a node which stops."""
    response = _page(
        "This node is stopping",
        "It takes no more changes, and nothing was changed. Go back and send it again to another "
        "node, or to this one when it is up again.",
        503,
    )
    response.headers["Retry-After"] = str(DRAIN_RETRY_SECONDS)
    return response


def is_for_machines(request: HttpRequest) -> bool:
    """Whether the answer is read by a program."""
    return request.path.startswith(("/api/", "/health", "/ready", "/metrics"))


def _page(heading: str, sentence: str, status: int) -> HttpResponse:
    page = render_to_string("refused.html", {"heading": heading, "sentence": sentence})
    return HttpResponse(page, status=status)
