"""Start and supervise everything of one node."""

from typing import Any, override

from django.core.management.base import BaseCommand

from crewlet_site.supervisor import up


class Command(BaseCommand):
    """`./crewlet up`."""

    help = "Start this node: broker, node process, web server, worker and beat; Ctrl-C drains."
    requires_system_checks = ()

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal."""
        up.run()
