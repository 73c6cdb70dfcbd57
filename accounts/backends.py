"""How Django asks whether somebody is who they say."""

from typing import Any, override

from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest

from accounts.models import Person


class PersonBackend(BaseBackend):
    """Sign-in name and password against the estate; a sign-in writes nothing."""

    @override
    def authenticate(
        self,
        request: HttpRequest | None,
        sign_name: str | None = None,
        password: str | None = None,
        **_kwargs: Any,
    ) -> Person | None:
        """The person of this pair, or None; takes the same time whichever half is wrong."""
        if sign_name is None or password is None:
            return None
        person = Person.objects.named(sign_name)
        if person is None:
            # Hash once all the same, so that the time does not tell which names exist.
            make_password(password)
            return None
        return person if person.check_password(password) else None

    @override
    def get_user(self, user_id: Any) -> Person | None:
        """The person of a session, unless removed since."""
        return Person.objects.present().filter(pk=user_id).first()
