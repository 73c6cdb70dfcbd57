"""Run the duties that beat's ticks ask for; `up` starts this process."""

from typing import Any, override

from django.core.management.base import BaseCommand

from crewlet_site.celery import app


class Command(BaseCommand):
    """`./crewlet worker`."""

    help = "Run duties (started by `up`)."
    requires_system_checks = ()

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        """Work until a signal."""
        app.worker_main(
            [
                "worker",
                "--pool=threads",
                "--concurrency=8",
                "--queues=duties,long",
                "--without-gossip",
                "--without-mingle",
                "--without-heartbeat",
                "--loglevel=INFO",
            ]
        )
