"""The People pages: everybody reads, admins change."""

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts import pages, services
from accounts.changes import Refused
from accounts.forms import AddPersonForm, RoleForm
from accounts.models import Person
from accounts.names import Unacceptable
from accounts.services import LinkIssued
from runtime.access import Permission, Role, may, require


@require_GET
@require(Permission.READ)
def people(request: HttpRequest) -> HttpResponse:
    """Who can sign in, with which role."""
    page = pages.people_page(
        services.list_people(),
        reader=_name_of(request),
        may_change=may(request.user, Permission.PEOPLE),
    )
    return render(request, "accounts/people.html", {"page": page})


@never_cache
@require_http_methods(["GET", "POST"])
@require(Permission.PEOPLE)
def add(request: HttpRequest) -> HttpResponse:
    """Add somebody; the answer shows their one-time link, once."""
    form = AddPersonForm(request.POST or None, initial={"role": Role.VIEWER.value} | _kept(request))
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        try:
            issued = services.add_person(
                typed["sign_name"],
                typed["display_name"],
                Role(typed["role"]),
                by=_name_of(request),
            )
        except Unacceptable as fault:
            form.add_error(fault.field, fault.message)
        else:
            if isinstance(issued, LinkIssued):
                return _draw_link(request, issued)
            form.add_error("sign_name", pages.REFUSALS[issued.because])
    status = 422 if request.method == "POST" else 200
    return render(request, "accounts/add.html", {"form": form}, status=status)


@never_cache
@require_GET
@require(Permission.PEOPLE)
def person(request: HttpRequest, sign_name: str) -> HttpResponse:
    """What can be done about one person."""
    return _draw_person(request, sign_name)


@require_POST
@require(Permission.PEOPLE)
def change_role(request: HttpRequest, sign_name: str) -> HttpResponse:
    """Give another role."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _draw_person(request, sign_name, refusal="Choose one of the three roles.")
    role = Role(form.cleaned_data["role"])
    outcome = services.change_role(sign_name, role, by=_name_of(request))
    if isinstance(outcome, Refused):
        return _draw_person(request, sign_name, refusal=pages.REFUSALS[outcome.because])
    messages.success(request, f"{sign_name} has the {role} role.")
    return redirect("accounts:people")


@never_cache
@require_POST
@require(Permission.PEOPLE)
def reset(request: HttpRequest, sign_name: str) -> HttpResponse:
    """Issue another one-time link and show it, once."""
    issued = services.reset_person(sign_name, by=_name_of(request))
    if isinstance(issued, Refused):
        return _draw_person(request, sign_name, refusal=pages.REFUSALS[issued.because])
    return _draw_link(request, issued)


@require_POST
@require(Permission.PEOPLE)
def remove(request: HttpRequest, sign_name: str) -> HttpResponse:
    """Take access away."""
    outcome = services.remove_person(sign_name, by=_name_of(request))
    if isinstance(outcome, Refused):
        return _draw_person(request, sign_name, refusal=pages.REFUSALS[outcome.because])
    messages.success(request, f"{sign_name} was removed and is signed out everywhere.")
    return redirect("accounts:people")


def _draw_person(request: HttpRequest, sign_name: str, *, refusal: str = "") -> HttpResponse:
    found = next((one for one in services.list_people() if one.sign_name == sign_name), None)
    if found is None:
        message = f"Nobody signs in as {sign_name}."
        raise Http404(message)
    row = pages.person_row(found, reader=_name_of(request))
    context = {"row": row, "form": RoleForm(initial={"role": row.role}), "refusal": refusal}
    return render(request, "accounts/person.html", context, status=409 if refusal else 200)


def _draw_link(request: HttpRequest, issued: LinkIssued) -> HttpResponse:
    found = Person.objects.named(issued.sign_name)
    page = pages.LinkPage(
        sign_name=issued.sign_name,
        display_name=found.display_name if found is not None else issued.sign_name,
        url=f"{settings.BASE_URL}{issued.path}",
        expires_at=issued.expires_at,
    )
    return render(request, "accounts/link.html", {"page": page})


def _kept(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET[name] for name in AddPersonForm.base_fields if name in request.GET}


def _name_of(request: HttpRequest) -> str:
    return request.user.get_username()
