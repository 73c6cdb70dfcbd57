"""Serve pages, API and sockets; `up` starts this process."""

from typing import Any, override

from django.core.management.base import BaseCommand

from crewlet_site import web


class Command(BaseCommand):
    """`./crewlet web`."""

    help = "Serve pages, API and sockets (started by `up`)."
    requires_system_checks = ()

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until a signal."""
        web.serve()
