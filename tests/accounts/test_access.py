"""The permission table."""

import pytest
from django.contrib.auth.models import AnonymousUser

from runtime.access import LOWEST_ROLE, Caller, Denied, Permission, Role, demand, may

OPERATORS = {"pause", "write_files", "review", "charge"}
ADMINS = {"change_config", "secrets", "people"}


@pytest.mark.parametrize(
    ("role", "held"),
    [
        (Role.VIEWER, {"read"}),
        (Role.OPERATOR, {"read"} | OPERATORS),
        (Role.ADMIN, {"read"} | OPERATORS | ADMINS),
    ],
)
def test_each_role_holds_its_own_permissions_and_those_below(role: Role, held: set[str]) -> None:
    caller = Caller(name="x", role=role, via="token")
    assert {str(one) for one in Permission if may(caller, one)} == held


def test_every_permission_stands_in_the_table() -> None:
    assert set(LOWEST_ROLE) == set(Permission)


@pytest.mark.parametrize("nobody", [None, AnonymousUser(), object(), "admin"])
def test_nobody_may_do_anything(nobody: object) -> None:
    assert not any(may(nobody, one) for one in Permission)


def test_a_refusal_names_the_role_that_is_missing() -> None:
    with pytest.raises(Denied, match="admin"):
        demand(Caller(name="x", role=Role.OPERATOR, via="token"), "people")


def test_a_misspelt_permission_is_an_error_and_never_a_yes() -> None:
    with pytest.raises(ValueError, match="paus"):
        may(Caller(name="x", role=Role.ADMIN, via="token"), "paus")
