"""People, their one-time links and API tokens: rows of the estate.

Nothing here is node-specific: ids and instants come with the change that made a row, so that the
same change gives the same rows on every node. `accounts.people_writer` is the only writer.
"""

from typing import ClassVar, override

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import check_password
from django.db import models
from django.db.models import Q
from django.utils.crypto import salted_hmac

from runtime.access import Permission, Role, may

ROLES = [(role.value, role.value) for role in Role]


class PersonManager(BaseUserManager["Person"]):
    """People by their sign-in name."""

    def present(self) -> models.QuerySet["Person"]:
        """Everybody who was not removed."""
        return self.filter(removed_at__isnull=True)

    def named(self, sign_name: str) -> "Person | None":
        """The person who signs in under this name now; None when nobody does."""
        return self.present().filter(sign_name=fold_name(sign_name)).first()


def fold_name(text: str) -> str:
    """A sign-in name as it is kept and compared: names differ by more than case."""
    return text.strip().lower()


class Person(AbstractBaseUser):
    """Somebody who signs in. Removal keeps the row: records name their authors for ever."""

    id = models.UUIDField(primary_key=True, editable=False)
    sign_name = models.CharField(max_length=64)
    display_name = models.CharField(max_length=100)
    role = models.CharField(max_length=16, choices=ROLES)
    session_epoch = models.PositiveBigIntegerField(default=1)
    added_at = models.DateTimeField()
    added_by = models.CharField(max_length=100)
    removed_at = models.DateTimeField(null=True, blank=True)

    # Django would otherwise write this column at every sign-in, past the only writer.
    last_login = None

    objects = PersonManager()

    USERNAME_FIELD = "sign_name"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["display_name"]

    class Meta:
        """A removed person's name is free again."""

        ordering = ("sign_name",)
        constraints = (
            models.UniqueConstraint(
                fields=("sign_name",),
                condition=Q(removed_at__isnull=True),
                name="accounts_one_person_a_name",
            ),
        )

    @override
    def __str__(self) -> str:
        return self.display_name

    @property
    @override
    def is_active(self) -> bool:  # type: ignore[override] # Django has a constant here
        """False once removed."""
        return self.removed_at is None

    def may(self, permission: Permission | str) -> bool:
        """True when the person's role holds the permission."""
        return self.is_active and may(self, permission)

    @override
    def check_password(self, raw_password: str | None) -> bool:
        """Compare without upgrading the hash: a sign-in writes nothing."""
        return raw_password is not None and check_password(raw_password, self.password)

    def _get_session_auth_hash(self, secret: str | bytes | None = None) -> str:
        # The epoch ends every session at once; a new password does so too.
        value = f"{self.session_epoch}:{self.password}"
        salt = "accounts.models.Person.session"
        return salted_hmac(salt, value, secret=secret, algorithm="sha256").hexdigest()


class SignInLink(models.Model):
    """A link that sets a password once. Only the hash of its secret is kept."""

    id = models.UUIDField(primary_key=True, editable=False)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="links")
    secret_hash = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField()
    made_by = models.CharField(max_length=100)
    expires_at = models.DateTimeField()
    redeemed_at = models.DateTimeField(null=True, blank=True)
    superseded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """Newest first."""

        ordering = ("-made_at", "id")

    @override
    def __str__(self) -> str:
        return str(self.id)


class ApiToken(models.Model):
    """A bearer token. Only the hash of its secret is kept."""

    id = models.UUIDField(primary_key=True, editable=False)
    name = models.CharField(max_length=100)
    role = models.CharField(max_length=16, choices=ROLES)
    secret_hash = models.CharField(max_length=64)
    made_at = models.DateTimeField()
    made_by = models.CharField(max_length=100)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """A revoked token's name is free again."""

        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("name",),
                condition=Q(revoked_at__isnull=True),
                name="accounts_one_token_a_name",
            ),
        )

    @override
    def __str__(self) -> str:
        return self.name
