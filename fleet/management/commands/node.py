"""`./crewlet node`: presence, seats, pauses and the company's revision of this node."""

import sys
from typing import override

from django.core.management.base import BaseCommand

from fleet.node.process import NodeProcess


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT, then gives back what it holds and ends with code 0."""

    help = "Run this node: presence, placement, pauses. Usually started by ./crewlet up."
    requires_system_checks = ()

    @override
    def handle(self, *args: object, **options: object) -> None:
        sys.exit(NodeProcess().run())
