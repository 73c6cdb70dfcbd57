"""The way in and the way out."""

import pytest
from playwright.sync_api import expect

from tests.browser.visitors import ADMIN, FirstVisit, Visitors, sign_in
from tests.support.running_node import RunningNode

pytestmark = [pytest.mark.browser, pytest.mark.broker]

NOT_TOGETHER = (
    "User name and password do not fit togetherTry again, or ask an admin for a new link."
)


def test_the_one_time_link_sets_a_password_and_signs_the_first_admin_in(
    fresh_node: RunningNode, first_visit: FirstVisit, visitors: Visitors
) -> None:
    assert "Welcome to Harbourline" in first_visit.welcome
    assert first_visit.account.split() == ["Admin", "admin"]
    with visitors.window(fresh_node, None, expected=("410",)) as window:
        page = window.open(first_visit.link, live=False)
        expect(page.locator("main")).to_contain_text("This link was used already")
        expect(page.get_by_label("New password")).to_have_count(0)


@pytest.mark.parametrize("name", [ADMIN.name, "nobody-of-this-name"])
def test_a_wrong_pair_never_says_which_half_is_wrong(
    node: RunningNode, visitors: Visitors, name: str
) -> None:
    with visitors.window(node, None, expected=("422",)) as window:
        page = window.open("/sign-in/", live=False)
        sign_in(page, name, "not the password of anybody")
        expect(page.get_by_role("alert")).to_have_text(NOT_TOGETHER)
        assert page.get_by_label("Password", exact=True).input_value() == ""


def test_a_stranger_signs_in_and_arrives_where_they_meant_to_go(
    node: RunningNode, visitors: Visitors
) -> None:
    with visitors.window(node, None) as window:
        page = window.open("/seats/ada-pm/", live=False)
        expect(page.locator("main")).to_contain_text("You continue to")
        sign_in(page, ADMIN.name, ADMIN.password)
        page.wait_for_url("**/seats/ada-pm/")


def test_who_signs_out_reads_nothing_more_in_any_tab(node: RunningNode, visitors: Visitors) -> None:
    with visitors.window(node, None) as window:
        page = window.open("/sign-in/", live=False)
        sign_in(page, ADMIN.name, ADMIN.password)
        page.wait_for_url("**/fleet/")
        page.locator(".account summary").click()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in/")
        page.goto("/seats/")
        assert "/sign-in/" in page.url
