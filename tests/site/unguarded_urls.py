"""A view whose author forgot to say who may see it, and one that fails."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def forgotten(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("secret")


@login_not_required
def broken(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(1 // 0))


urlpatterns = [
    path("", include("accounts.urls")),
    path("forgotten/", forgotten),
    path("broken/", broken),
]
handler500 = "crewlet_site.refusals.fault"
