"""People and their API alone, so that these tests need no other page."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from ninja import NinjaAPI

from accounts.api import router
from accounts.tokens import ApiAuth
from runtime.access import Denied, Permission, require

api = NinjaAPI(auth=ApiAuth(), urls_namespace="people-tests", docs_url=None)
api.add_router("", router)


@api.exception_handler(Denied)
def denied(request: HttpRequest, fault: Denied) -> HttpResponse:
    body = {"error": "forbidden", "detail": str(fault), "role_needed": fault.role_needed}
    return api.create_response(request, body, status=403)


@require(Permission.PAUSE)
def pause(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"reason: {request.GET.get('reason', '')}")


patterns = list(api.urls[0])
for pattern in patterns:
    # The API has an authentication of its own, as where the site mounts it.
    view: Any = pattern.callback
    pattern.callback = login_not_required(view)

urlpatterns = [
    path("", include("accounts.urls")),
    path("api/", include((patterns, "ninja"), namespace="people-tests")),
    path("seats/pause/", pause),
]
