"""Nodes that left, as this dashboard saw them go."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from fleet.models import LeftNode
from fleet.services import left
from fleet.services.departed import Departed
from runtime import hub
from runtime.reading import Known
from tests.support.twin_fleet import TwinFleet
from tests.support.waiting import eventually_blocking

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.usefixtures("firm"),
]


def nodes_known() -> set[str]:
    reading = hub.presences()
    assert isinstance(reading, Known)
    return {lease.resource.name for lease in reading.value}


@pytest.fixture
def watcher() -> left.Recorder:
    return left.Recorder()


def test_a_released_node_is_remembered_with_the_seats_it_held(
    fleet: TwinFleet, viewer: Client, watcher: left.Recorder
) -> None:
    lease = fleet.node("core-2")
    seat = fleet.hold("ada-pm", "core-2")
    fleet.node("core-1")
    viewer.get("/fleet/")
    watcher.look(datetime.now(UTC))
    fleet.release(seat)
    fleet.release(lease)
    eventually_blocking(lambda: nodes_known() == {"core-1"})
    gone = watcher.look(datetime.now(UTC))
    assert [(each.node, each.has_lapsed, each.seats) for each in gone] == [("core-2", False, 1)]
    html = viewer.get("/fleet/").content.decode()
    assert "Left recently" in html
    assert "released" in html
    page = viewer.get("/fleet/nodes/core-2/")
    assert page.status_code == 404
    assert "This dashboard last saw it renew" in page.content.decode()


def test_a_node_that_came_back_has_not_left(
    fleet: TwinFleet, viewer: Client, watcher: left.Recorder
) -> None:
    now = datetime.now(UTC)
    left.remember(
        Departed(
            node="core-1",
            owner="core-1:node-0",
            seen_at=now,
            left_at=now,
            has_lapsed=True,
            seats=3,
        )
    )
    fleet.node("core-1")
    assert "Left recently" not in viewer.get("/fleet/").content.decode()


def test_silence_lets_nobody_leave(
    fleet: TwinFleet, viewer: Client, watcher: left.Recorder
) -> None:
    fleet.node("core-1")
    viewer.get("/fleet/")
    watcher.look(datetime.now(UTC))
    fleet.go_silent()
    assert watcher.look(datetime.now(UTC) + timedelta(hours=1)) == ()
    assert LeftNode.objects.count() == 0


def test_rows_older_than_thirty_days_go_with_the_next_one(fleet: TwinFleet) -> None:
    now = datetime.now(UTC)
    for number, age in enumerate((31, 0)):
        left.remember(
            Departed(
                node=f"n-{number}",
                owner=f"n-{number}:node-0",
                seen_at=now,
                left_at=now - timedelta(days=age),
                has_lapsed=True,
                seats=0,
            )
        )
    assert [row.node for row in LeftNode.objects.all()] == ["n-1"]
