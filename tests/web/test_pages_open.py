"""The read pages through Django: what a person gets over HTTP."""

import re

import pytest
from django.test import Client
from pytest_django import Settings

from tests.support.html import elements, fact, facts
from tests.support.twin_fleet import TwinFleet

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.usefixtures("firm"),
]


@pytest.fixture
def fleet(fleet: TwinFleet) -> TwinFleet:
    epoch = fleet.activate()
    fleet.node("core-1", labels={"zone": "a"})
    fleet.node("gpu-1", roles=("seats",), silent=True)
    fleet.hold("ada-pm", "core-1")
    fleet.hold("bo-eng", "gpu-1")
    fleet.report("core-1", epoch)
    fleet.duty("maintenance")
    return fleet


def text_of(client: Client, url: str, status: int = 200) -> str:
    answer = client.get(url)
    assert answer.status_code == status, answer.content.decode()[:2000]
    return answer.content.decode()


def test_the_fleet_page_names_every_node_with_its_seats(fleet: TwinFleet, viewer: Client) -> None:
    html = text_of(viewer, "/fleet/")
    assert fact(html, "figure-live") == ("value", "2 hold an unexpired presence lease")
    assert fact(html, "node-core-1-seats") == ("value", "1")
    assert fact(html, "node-core-1-turns") == ("none", "none")
    assert fact(html, "node-gpu-1-turns") == ("unsaid", "— did not say")
    assert fact(html, "figure-turns-total") == ("floor", "at least 0 1 node did not say")
    assert "serving this page" in html


def test_the_root_leads_to_the_fleet(fleet: TwinFleet, viewer: Client) -> None:
    answer = viewer.get("/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/fleet/")


def test_a_stranger_is_sent_to_sign_in_and_told_nothing(fleet: TwinFleet) -> None:
    for url in ("/fleet/", "/seats/", "/seats/ada-pm/", "/settings/nodes/", "/fleet/nodes/core-1/"):
        answer = Client().get(url)
        assert answer.status_code == 302, url
        assert answer.headers["Location"].startswith("/sign-in/"), url


def test_a_nodes_page_says_what_it_holds(fleet: TwinFleet, viewer: Client) -> None:
    html = text_of(viewer, "/fleet/nodes/core-1/")
    assert fact(html, "node-core-1-turns") == ("none", "none")
    assert 'href="/seats/ada-pm/"' in html
    assert "core-1:node-8f2a" in html
    assert "maintenance" in html


def test_an_unknown_node_is_404_and_named(fleet: TwinFleet, viewer: Client) -> None:
    html = text_of(viewer, "/fleet/nodes/core-9/", 404)
    assert "No node by this id holds a lease" in html


def test_an_unknown_node_is_not_404_while_nobody_can_be_asked(
    fleet: TwinFleet, viewer: Client
) -> None:
    text_of(viewer, "/fleet/")
    fleet.go_silent()
    html = text_of(viewer, "/fleet/nodes/core-9/")
    assert "could not be asked" in html
    assert "No node by this id" not in html


def test_the_seats_page_lists_agents_and_people(fleet: TwinFleet, viewer: Client) -> None:
    html = text_of(viewer, "/seats/")
    assert fact(html, "seat-ada-pm-state") == ("value", "idle")
    assert fact(html, "seat-bo-eng-state") == ("unsaid", "— did not say")
    assert fact(html, "seat-cleo-eng-state") == ("value", "stopped, no holder may be placed")
    assert fact(html, "seat-vera-ml-state") == ("value", "stopped, no holder cannot be placed")
    assert "4 agent seats, 1 person" in html


def test_a_persons_seat_has_no_control_and_says_why(fleet: TwinFleet, operator: Client) -> None:
    html = text_of(operator, "/seats/")
    assert fact(html, "seat-mira-paused") == ("none", "cannot be paused")
    assert 'aria-label="Pause mira"' not in html


def test_a_viewer_sees_why_pausing_is_not_theirs(fleet: TwinFleet, viewer: Client) -> None:
    html = text_of(viewer, "/seats/")
    assert "needs the operator role" in html
    assert 'href="/seats/pause/' not in html


def test_a_seats_page_shows_record_holder_and_placement(fleet: TwinFleet, operator: Client) -> None:
    version = fleet.pause("ada-pm", by="jonas", reason="Refund policy is being rewritten")
    html = text_of(operator, "/seats/ada-pm/")
    assert "Refund policy is being rewritten" in html
    assert f'value="{version}:ada-pm"' in html
    assert "Paused by jonas" in html
    assert "any node with the seats role" in html


def test_an_unknown_seat_is_404(fleet: TwinFleet, viewer: Client) -> None:
    assert "ghost" in text_of(viewer, "/seats/ghost/", 404)


def test_settings_compare_the_nodes(fleet: TwinFleet, viewer: Client) -> None:
    html = text_of(viewer, "/settings/nodes/")
    assert fact(html, "node-core-1-ttl")[0] == "value"
    assert fact(html, "node-gpu-1-build")[0] == "unsaid"


@pytest.mark.parametrize("url", ["/fleet/", "/seats/", "/settings/nodes/", "/seats/ada-pm/"])
def test_no_page_draws_a_fresh_store_fact_while_the_store_is_silent(
    fleet: TwinFleet, viewer: Client, url: str
) -> None:
    before = text_of(viewer, url)
    fleet.go_silent()
    html = text_of(viewer, url)
    assert rows_of(html) == rows_of(before)
    fresh = {
        element
        for element, state in facts(html).items()
        if state in {"value", "none", "floor"} and not element.startswith("seat-mira-")
    }
    assert fresh == set()
    assert "could not be" in html
    assert fact(html, "rail-paused")[0] == "unknown"


def rows_of(html: str) -> set[str]:
    return {each.attributes["id"] for each in elements(html) if "data-row" in each.attributes}


def test_when_the_store_is_back_the_page_is_whole_again(fleet: TwinFleet, viewer: Client) -> None:
    text_of(viewer, "/fleet/")
    fleet.go_silent()
    fleet.come_back()
    assert fact(text_of(viewer, "/fleet/"), "figure-live")[0] == "value"


@pytest.mark.parametrize(
    ("url", "most"),
    [("/fleet/", 12), ("/seats/", 12), ("/seats/ada-pm/", 12), ("/fleet/nodes/core-1/", 12)],
)
def test_a_page_costs_a_dozen_queries_at_most(
    fleet: TwinFleet, viewer: Client, url: str, most: int
) -> None:
    from django.db import connections
    from django.test.utils import CaptureQueriesContext

    with (
        CaptureQueriesContext(connections["default"]) as here,
        CaptureQueriesContext(connections["estate"]) as there,
    ):
        viewer.get(url)
    assert len(here) + len(there) <= most, [*here.captured_queries, *there.captured_queries]


def test_hostile_names_are_shown_as_text(fleet: TwinFleet, operator: Client) -> None:
    fleet.pause("ada-pm", by="<b>x</b>", reason="<script>alert(1)</script> \u202e\x07")
    fleet.node("<img src=x>", roles=("seats",), labels={"k": "<i>v</i>"})
    for url in ("/fleet/", "/seats/", "/seats/ada-pm/", "/settings/nodes/"):
        html = text_of(operator, url)
        for raw in ("<script>alert", "<img src=x>", "<i>v</i>", "<b>x</b>", "\u202e", "\x07"):
            assert raw not in html, (url, raw)


@pytest.mark.parametrize("url", ["/fleet/", "/seats/", "/seats/ada-pm/", "/fleet/nodes/core-1/"])
def test_a_page_reads_every_moment_in_one_zone(fleet: TwinFleet, viewer: Client, url: str) -> None:
    """Without a script nothing puts a table that was drawn in another zone right."""
    html = text_of(viewer, f"{url}?tz=company")
    titles = re.findall(r'<time [^>]*title="([^"]*)"', html)
    assert titles
    assert {title.rpartition(" ")[2] for title in titles} <= {"UTC+1", "UTC+2"}


@pytest.mark.parametrize(
    "url",
    [
        "/fleet/",
        "/fleet/nodes/core-1/",
        "/seats/",
        "/seats/ada-pm/",
        "/settings/nodes/",
        "/people/",
    ],
)
def test_every_page_says_that_the_broker_keeps_nothing(
    fleet: TwinFleet, viewer: Client, settings: Settings, url: str
) -> None:
    assert "keeps nothing" not in text_of(viewer, url)
    settings.STORE_KEEPS_NOTHING = True
    assert "This broker keeps nothing." in text_of(viewer, url)
