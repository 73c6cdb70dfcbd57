"""The fleet app: nodes, seats, pauses, and the pages that show them."""

from typing import override

from django.apps import AppConfig

from runtime import duties


class FleetConfig(AppConfig):
    """Rows in the node's own database; opens nothing."""

    name = "fleet"
    label = "fleet"
    default_auto_field = "django.db.models.BigAutoField"

    @override
    def ready(self) -> None:
        """Register the duties that this app's nodes run."""
        from fleet.duties import CENSUS

        duties.register(CENSUS)
