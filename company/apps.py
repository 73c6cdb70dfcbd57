"""The company app: the document applied on this node."""

from django.apps import AppConfig


class CompanyConfig(AppConfig):
    """Rows in the node's own database."""

    name = "company"
    verbose_name = "Company document"
    default_auto_field = "django.db.models.BigAutoField"
