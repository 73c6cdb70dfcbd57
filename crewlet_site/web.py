"""The web process: daphne's server behind the byte door, and a loop thread that answers pings."""

from daphne.endpoints import build_endpoint_description_strings
from django.conf import settings

from crewlet_site import byte_door
from crewlet_site.errors import StartRefused
from runtime import hub, ping


def serve() -> None:
    """Serve pages, API and sockets until a signal.

    Raises:
        StartRefused: no home was prepared, or the address cannot be listened on.
    """
    if settings.CREWLET_KEYRING.is_ephemeral:
        msg = (
            f"The home {settings.HOME.root} was never prepared: run ./crewlet up, which starts "
            "this process too."
        )
        raise StartRefused(msg)
    # After the server's module, which must choose Twisted's reactor first.
    from crewlet_site.asgi import application

    ping.serve(settings.HOME.socket("web"))
    # Early, so that the first page has something to show.
    hub.start()
    server = byte_door.Server(
        application=application,
        endpoints=build_endpoint_description_strings(
            host=settings.HTTP_HOST, port=settings.HTTP_PORT
        ),
        # Requests hold one-time links in their paths, so no access log is written.
        action_logger=None,
        server_name="",
        websocket_max_message_size=byte_door.MESSAGE_LIMIT_BYTES,
        websocket_max_frame_size=byte_door.MESSAGE_LIMIT_BYTES,
    )
    server.run()
    if server.abort_start:
        msg = (
            f"Port {settings.HTTP_PORT} on {settings.HTTP_HOST} cannot be listened on: stop what "
            "listens there, or set CREWLET_PORT to a free one."
        )
        raise StartRefused(msg)
