"""The accounts app: people, roles, one-time links and API tokens."""

from typing import Any, override

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

from accounts.estate_file import ESTATE, let_write, stop_writing


class AccountsConfig(AppConfig):
    """Rows in the estate, which every connection opens read-only."""

    name = "accounts"
    verbose_name = "People"
    default_auto_field = "django.db.models.BigAutoField"
    _lifted = False

    @override
    def ready(self) -> None:
        """Migrations are the one other writer of the estate's file."""
        pre_migrate.connect(self._before_migrating, sender=self)
        post_migrate.connect(self._after_migrating, sender=self)

    def _before_migrating(self, using: str, **_kwargs: Any) -> None:
        if using == ESTATE:
            self._lifted = let_write(connections[using])

    def _after_migrating(self, using: str, **_kwargs: Any) -> None:
        if using == ESTATE and self._lifted:
            stop_writing(connections[using])
            self._lifted = False
