"""What only this node's dashboard remembers of the fleet: nodes that left."""

from typing import ClassVar, override

from django.db import models


class LeftNode(models.Model):
    """A node whose presence ended, as this dashboard saw it. Kept for 30 days."""

    node = models.TextField()
    owner = models.TextField()
    seen_at = models.DateTimeField()
    left_at = models.DateTimeField()
    has_lapsed = models.BooleanField()
    seats = models.PositiveIntegerField()

    class Meta:
        """One row a tenure."""

        indexes: ClassVar = [models.Index(fields=["left_at"], name="fleet_left_at")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner"], name="fleet_left_once_a_tenure")
        ]

    @override
    def __str__(self) -> str:
        return f"{self.node} left at {self.left_at:%Y-%m-%d %H:%M:%S}"
