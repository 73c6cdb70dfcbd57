"""Revisions of the company document that this node holds.

They are this node's own: only which revision is current is shared, in the fleet's config slot.
"""

from typing import override

from django.db import models


class Revision(models.Model):
    """One revision's text and where it came from; at most one is the one in effect here."""

    revision_id = models.CharField(max_length=64, primary_key=True)
    parent = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=100)
    source = models.CharField(max_length=16)
    summary = models.CharField(max_length=500, blank=True)
    body = models.TextField()
    is_active = models.BooleanField(default=False)
    activated_at = models.DateTimeField(null=True, blank=True)
    # The pointer's revision in the fleet's slot; null until the fleet knows this revision.
    epoch = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        """Newest first; the database itself refuses a second active row."""

        ordering = ("-created_at", "revision_id")
        constraints = (
            models.UniqueConstraint(
                fields=("is_active",),
                condition=models.Q(is_active=True),
                name="company_one_active_revision",
            ),
        )

    @override
    def __str__(self) -> str:
        return self.revision_id
