"""The composition root as an app, so that its commands are found."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Holds the commands that start processes."""

    name = "crewlet_site"
