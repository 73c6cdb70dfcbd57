"""The fleet app: nodes, seats, pauses, and the pages that show them."""

from django.apps import AppConfig


class FleetConfig(AppConfig):
    """Rows in the node's own database; opens nothing."""

    name = "fleet"
    label = "fleet"
    default_auto_field = "django.db.models.BigAutoField"
