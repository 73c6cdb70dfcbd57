"""How long sign-in stays locked for one name from one address.

django-axes counts on this node and locks; it counts names that nobody has in the same way, so a
lock says nothing about whether an account exists.
"""

from datetime import timedelta

from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_client_ip_address, get_cool_off
from axes.models import AccessAttempt
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import fold_name


def minutes_locked(request: HttpRequest, sign_name: str) -> int:
    """Whole minutes until the next attempt is judged again; 0 while sign-in is open."""
    credentials = {"sign_name": fold_name(sign_name)}
    AxesProxyHandler.update_request(request)
    if AxesProxyHandler.is_allowed(request, credentials):
        return 0
    latest = (
        AccessAttempt.objects.filter(
            username=credentials["sign_name"], ip_address=get_client_ip_address(request)
        )
        .order_by("-attempt_time")
        .values_list("attempt_time", flat=True)
        .first()
    )
    cool_off: timedelta = get_cool_off(request) or timedelta()
    left = cool_off if latest is None else latest + cool_off - timezone.now()
    return max(1, -(-left // timedelta(minutes=1)))
