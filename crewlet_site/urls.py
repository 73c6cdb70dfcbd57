"""Where every address leads: composition only."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from importlib.util import find_spec
from runtime.gallery import gallery

urlpatterns: list[URLPattern | URLResolver] = []
if find_spec("fleet.urls") and find_spec("fleet.api") and find_spec("runtime.hub"):
    from crewlet_site import api, probes

    urlpatterns += [
        # A probe tolerates one trailing slash.
        re_path(r"^health/?$", probes.health, name="health"),
        re_path(r"^ready/?$", probes.ready, name="ready"),
        re_path(r"^metrics/?$", probes.metrics, name="metrics"),
        path("api/", include((api.urls(), "ninja"), namespace="api")),
        re_path(r"^api/", login_not_required(api.no_route)),
        path("", include("fleet.urls")),
    ]
urlpatterns += [
    path("", RedirectView.as_view(url="/fleet/"), name="home"),
    path("", include("accounts.urls")),
]
if settings.DEBUG:
    urlpatterns.append(path("_gallery/", login_not_required(gallery), name="gallery"))
