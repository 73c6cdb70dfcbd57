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

    @override
    def ready(self) -> None:
        """Migrations are the one other writer of the estate's file."""
        pre_migrate.connect(_before_migrating, dispatch_uid="accounts.estate.open")
        post_migrate.connect(_after_migrating, dispatch_uid="accounts.estate.close")


def _before_migrating(using: str, **_kwargs: Any) -> None:
    if using == ESTATE:
        let_write(connections[using])


def _after_migrating(using: str, **_kwargs: Any) -> None:
    if using == ESTATE:
        stop_writing(connections[using])
