"""The application that the web process serves: pages and API by Django, sockets by Channels."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewlet_site.settings")
_pages = get_asgi_application()

# Consumers reach models, so they are imported once Django is set up.
from django.urls import re_path  # noqa: E402

from crewlet_site.sockets import OwnPagesOnly, SessionOrToken, refuse  # noqa: E402
from fleet.consumers import websocket_urlpatterns  # noqa: E402

# Whatever no consumer serves is refused like a stranger; a route takes an application as well.
_nowhere = re_path(r"", refuse)  # type: ignore[arg-type]

application = ProtocolTypeRouter(
    {
        "http": _pages,
        "websocket": OwnPagesOnly(SessionOrToken(URLRouter([*websocket_urlpatterns, _nowhere]))),
    }
)
