"""The API does what its description says, whatever is sent that fits the description."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.tokens import make_token
from runtime.access import Role
from tests.support.twin_fleet import TwinFleet

pytestmark = [
    pytest.mark.django_db(databases=["default", "estate"]),
    pytest.mark.usefixtures("firm"),
]
CHECKS: Any = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """What a served request closes at its ends is the test's own transaction here."""
    ends = (request_started, request_finished)
    for end in ends:
        end.disconnect(close_old_connections)
    yield
    for end in ends:
        end.connect(close_old_connections)


@pytest.fixture
def description(fleet: TwinFleet, _one_connection: None) -> Any:
    epoch = fleet.activate()
    fleet.node("core-1")
    fleet.hold("ada-pm")
    fleet.report("core-1", epoch)
    token = make_token("a reader of descriptions", Role.ADMIN, by="test")
    return schemathesis.openapi.from_wsgi(
        "/api/openapi.json",
        app=get_wsgi_application(),
        headers={"Authorization": f"Bearer {token}"},
    )


EXAMPLES: Any = hypothesis.settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


def test_whatever_fits_the_description_is_answered_as_described(description: Any) -> None:
    operations = [found.ok() for found in description.get_all_operations()]
    assert len(operations) >= 9
    for operation in operations:

        def answer(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        given: Any = hypothesis.given(operation.as_strategy())
        EXAMPLES(given(answer))()
