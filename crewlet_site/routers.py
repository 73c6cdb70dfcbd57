"""Which database file a row lives in: people in the estate, everything else in the node's own."""

from typing import Any, Final

ESTATE_APPS: Final = frozenset({"accounts"})


class NodeAndEstate:
    """Route by app: the estate's rows are replicated, the rest stays on this node."""

    def db_for_read(self, model: type[Any], **_hints: object) -> str:
        """The alias that holds a model's rows."""
        return self._alias(model._meta.app_label)

    def db_for_write(self, model: type[Any], **_hints: object) -> str:
        """As reading: one home per model."""
        return self._alias(model._meta.app_label)

    def allow_relation(self, obj1: Any, obj2: Any, **_hints: object) -> bool:
        """No relation crosses the two files."""
        return self._alias(obj1._meta.app_label) == self._alias(obj2._meta.app_label)

    def allow_migrate(self, db: str, app_label: str, **_hints: object) -> bool:
        """Each table is made in the one file that holds it."""
        return self._alias(app_label) == db

    def _alias(self, app_label: str) -> str:
        return "estate" if app_label in ESTATE_APPS else "default"
