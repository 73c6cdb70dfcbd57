"""Probes: what is unknown is absent from them, never a zero."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.tokens import make_token
from company import services as documents
from crewlet_site.home import Home
from runtime import hub
from runtime.access import Role
from runtime.reading import Unknown

pytestmark = pytest.mark.django_db(databases=["default", "estate"])
EXAMPLE = Path(__file__).parents[2] / "examples" / "company.yaml"


@pytest.fixture(autouse=True)
def home(settings: Settings, tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.run.mkdir()
    settings.HOME = home
    return home


@pytest.fixture(autouse=True)
def _silent_store(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Unknown[Any]:
        return Unknown(why="no answer", since=datetime.now(UTC), last=None)

    for name in ("presences", "seats", "pauses"):
        monkeypatch.setattr(hub, name, unknown)
    down = hub.Link(up=False, answered_at=None, since=datetime.now(UTC))
    monkeypatch.setattr(hub, "link", lambda: down)


@pytest.fixture
def _configured() -> None:
    documents.import_first_document(EXAMPLE, created_by="test")


@pytest.mark.usefixtures("_configured")
def test_health_answers_anybody_and_leaves_out_what_it_does_not_know() -> None:
    body = Client().get("/health").json()
    assert (body["status"], body["configured"], body["node"]) == ("ok", True, "node-0")
    assert not {"nodes", "seats", "in_flight", "posture"} & set(body)


@pytest.mark.usefixtures("_configured")
def test_a_trailing_slash_is_tolerated() -> None:
    assert Client().get("/health/").status_code == 200
    assert Client().get("/ready/").json() == {"ready": True}


def test_a_node_without_a_document_is_well_but_not_ready() -> None:
    assert Client().get("/health").json()["status"] == "unconfigured"
    response = Client().get("/ready")
    assert (response.status_code, response.json()["reason"]) == (503, "unconfigured")


def test_draining_comes_before_any_other_reason(home: Home) -> None:
    home.draining.touch()
    assert Client().get("/health").json()["status"] == "shutting_down"
    response = Client().get("/ready")
    assert (response.status_code, response.json()["reason"]) == (503, "draining")


def test_metrics_need_a_token() -> None:
    assert Client().get("/metrics").json()["error"] == "invalid_token"


def test_a_figure_that_is_not_known_has_no_sample() -> None:
    token = make_token("prometheus", Role.VIEWER, by="test")
    text = Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}).content.decode()
    assert 'crewlet_projection_known{of="nodes"} 0.0' in text
    assert "crewlet_store_up 0.0" in text
    assert "\ncrewlet_nodes " not in text
    assert "process_resident_memory_bytes" in text
