"""The frame of every page: filled here, because this app knows the store."""

from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest

from fleet.pages.frame import draw_frame
from fleet.services.picture import Picture
from fleet.services.taking import picture_of
from runtime.access import role_of
from runtime.moments import Clock, read_clock

PAGES = ("fleet", "node", "seats", "seat", "settings")  # names that the live socket knows


def frame(request: HttpRequest) -> dict[str, object]:
    """The context processor; strangers get no frame, for it says what the store says."""
    role = role_of(getattr(request, "user", None))
    if role is None:
        return {}
    picture = picture_of(request)
    match = request.resolver_match
    name = match.url_name if match and "fleet" in match.app_names else ""
    page = name if name in PAGES else ""
    subject = ""
    if match is not None and page in {"node", "seat"}:
        subject = str(match.kwargs.get("node") or match.kwargs.get("handle") or "")
    drawn = draw_frame(
        picture,
        clock=clock_of(request),
        person=getattr(request.user, "display_name", "") or request.user.get_username(),
        role=role.value,
        path=request.path,
        page=page or "",
        subject=subject,
        cookies=request.COOKIES,
        keeps_nothing=settings.STORE_KEEPS_NOTHING,
    )
    return {"frame": drawn}


def clock_of(request: HttpRequest) -> Clock:
    """The clock this request is read in."""
    picture = picture_of(request)
    return read_clock(request.GET, request.COOKIES, company=zone_of(picture), now=picture.now)


def zone_of(picture: Picture) -> ZoneInfo:
    """The company's zone; UTC while no document is applied."""
    return ZoneInfo(picture.company.timezone if picture.company else "UTC")
