"""Where every address leads: composition only."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver, include, path, re_path

from crewlet_site import api, probes
from runtime.gallery import gallery

urlpatterns: list[URLPattern | URLResolver] = [
    # A probe tolerates one trailing slash.
    re_path(r"^health/?$", probes.health, name="health"),
    re_path(r"^ready/?$", probes.ready, name="ready"),
    re_path(r"^metrics/?$", probes.metrics, name="metrics"),
    path("api/", include((api.urls(), "ninja"), namespace="api")),
    re_path(r"^api/", api.no_route),
    path("", include("accounts.urls")),
    path("", include("fleet.urls")),
]
handler400 = "crewlet_site.refusals.bad_request"
handler500 = "crewlet_site.refusals.fault"
if settings.DEBUG:
    urlpatterns.append(path("_gallery/", login_not_required(gallery), name="gallery"))
