"""Tick the duties; `up` starts this process."""

from typing import Any, override

from django.conf import settings
from django.core.management.base import BaseCommand

from crewlet_site.celery import app


class Command(BaseCommand):
    """`./crewlet beat`."""

    help = "Tick the duties (started by `up`)."
    requires_system_checks = ()

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        """Tick until a signal."""
        # Entries come from the registry at each start, so what an earlier build scheduled is gone.
        schedule = settings.HOME.run / "beat-schedule"
        for path in settings.HOME.run.glob("beat-schedule*"):
            path.unlink()
        app.Beat(schedule=str(schedule), loglevel="INFO", pidfile=None).run()
