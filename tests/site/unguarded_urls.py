"""One view whose author forgot to say who may see it."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def forgotten(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("secret")


urlpatterns = [path("", include("accounts.urls")), path("forgotten/", forgotten)]
