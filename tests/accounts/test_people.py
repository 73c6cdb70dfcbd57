"""The People pages: everybody reads, admins change, and the last admin stays."""

import pytest
from django.test import Client

from accounts import services
from accounts.changes import Because, Refused
from accounts.models import Person
from accounts.names import Unacceptable
from accounts.services import LinkIssued
from runtime.access import Role
from tests.support.people import AddPerson, signed_in

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.urls("tests.accounts.urls"),
]
NIA = {"sign_name": "Nia", "display_name": "Nia Berg", "role": "operator"}


def test_a_viewer_reads_the_list_and_sees_why_nothing_can_be_changed(as_viewer: Client) -> None:
    page = as_viewer.get("/people/").content.decode()
    assert "Vic Roe" in page
    assert "Adding needs the admin role" in page
    assert "/people/add/" not in page


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_adding_somebody_without_the_role_is_403_naming_admin(
    add_person: AddPerson, role: Role
) -> None:
    client = signed_in(add_person("pat", role))
    for answer in (client.get("/people/add/"), client.post("/people/add/", NIA)):
        assert answer.status_code == 403
        assert "This needs the admin role" in answer.content.decode()
    assert Person.objects.named("nia") is None


@pytest.mark.parametrize("act", ["role", "reset", "remove"])
def test_no_act_on_a_person_works_for_a_viewer(as_viewer: Client, admin: Person, act: str) -> None:
    assert as_viewer.post(f"/people/ada/{act}/", {"role": "viewer"}).status_code == 403
    standing = Person.objects.get(pk=admin.pk)
    assert (standing.role, standing.removed_at) == ("admin", None)


def test_an_added_person_has_no_password_and_their_link_is_shown_once(as_admin: Client) -> None:
    page = as_admin.post("/people/add/", NIA).content.decode()
    assert "http://127.0.0.1:8000/welcome/" in page
    person = Person.objects.named("nia")
    assert person is not None
    assert not person.has_usable_password()
    assert (person.role, person.added_by) == ("operator", "ada")
    assert "/welcome/" not in as_admin.get("/people/").content.decode()


def test_a_taken_name_is_refused_in_any_spelling(as_admin: Client, viewer: Person) -> None:
    answer = as_admin.post("/people/add/", NIA | {"sign_name": "VIC"})
    assert answer.status_code == 422
    assert "signs in under this name already" in answer.content.decode()
    assert Person.objects.present().count() == 2


@pytest.mark.parametrize("name", ["", "a b", "-x", "vïc", "a/b", "add", "x" * 65, "a\nb", "<b>"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(Unacceptable):
        services.add_person(name, "Somebody", Role.VIEWER, by="ada")


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\x00b", "\u202eevil", "a\u200bb"])
def test_a_display_name_that_cannot_be_seen_is_refused(name: str) -> None:
    with pytest.raises(Unacceptable):
        services.add_person("nia", name, Role.VIEWER, by="ada")


def test_markup_in_a_name_is_shown_as_text(as_admin: Client) -> None:
    as_admin.post("/people/add/", NIA | {"display_name": "<img src=x onerror=alert(1)>"})
    page = as_admin.get("/people/").content.decode()
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page


def test_the_last_admin_can_be_neither_removed_nor_demoted(as_admin: Client) -> None:
    for answer in (
        as_admin.post("/people/ada/remove/"),
        as_admin.post("/people/ada/role/", {"role": "viewer"}),
    ):
        assert answer.status_code == 409
        assert "This is the last admin" in answer.content.decode()
    assert as_admin.get("/people/").status_code == 200


def test_one_of_two_admins_can_go(as_admin: Client, add_person: AddPerson) -> None:
    add_person("bea", Role.ADMIN)
    assert as_admin.post("/people/bea/remove/").status_code == 302
    assert Person.objects.named("bea") is None


def test_a_reset_gives_a_link_and_leaves_the_password_until_it_is_used(
    as_admin: Client, viewer: Person
) -> None:
    assert "/welcome/" in as_admin.post("/people/vic/reset/").content.decode()
    assert Person.objects.get(pk=viewer.pk).password == viewer.password


def test_a_removed_name_is_free_again_and_the_row_of_the_first_stays(admin: Person) -> None:
    services.add_person("nia", "Nia", Role.VIEWER, by="ada")
    services.remove_person("nia", by="ada")
    assert isinstance(services.add_person("nia", "Nia", Role.VIEWER, by="ada"), LinkIssued)
    assert Person.objects.filter(sign_name="nia").count() == 2


def test_acts_on_nobody_say_so(as_admin: Client) -> None:
    assert as_admin.get("/people/nobody/").status_code == 404
    assert as_admin.post("/people/nobody/remove/").status_code == 404
    assert services.reset_person("nobody", by="ada") == Refused(because=Because.NO_SUCH_PERSON)


def test_an_unknown_role_is_refused(as_admin: Client, viewer: Person) -> None:
    assert as_admin.post("/people/vic/role/", {"role": "root"}).status_code == 409
    assert Person.objects.get(pk=viewer.pk).role == "viewer"


def test_writes_without_the_page_s_token_are_refused(admin: Person) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = signed_in(admin).cookies
    assert client.post("/people/add/", NIA).status_code == 403
    assert Person.objects.named("nia") is None


def test_the_first_admin_comes_with_a_link_once_and_again_while_it_was_never_used() -> None:
    first = services.ensure_first_admin(None, None)
    second = services.ensure_first_admin(None, None)
    assert first is not None
    assert second is not None
    assert first.link is not None
    assert first.link != second.link
    assert Person.objects.present().count() == 1


def test_the_first_admin_of_the_environment_has_a_password_and_no_link() -> None:
    made = services.ensure_first_admin("Boss", "a long enough password")
    assert made is not None
    assert (made.sign_name, made.link) == ("boss", None)
    assert services.ensure_first_admin("other", "a long enough password") is None
    assert Person.objects.present().count() == 1


def test_preferences_are_kept_in_cookies_and_odd_ones_refused(as_viewer: Client) -> None:
    good = {"theme": "dark", "density": "compact", "tz": "utc", "keys": "off"}
    answer = as_viewer.post("/settings/me/", good)
    assert {name: answer.cookies[name].value for name in good} == good
    assert as_viewer.post("/settings/me/", good | {"theme": "<pink>"}).status_code == 422
