"""The bridge between the coordination library and the pages: facts, frame, portal, hub."""

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    """Registers the template tags; opens nothing (no I/O at start-up)."""

    name = "runtime"
    label = "runtime"
