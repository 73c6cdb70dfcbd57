"""What a fleet can do: one node without a feature decides, and silence decides nothing."""

import pytest

from coordination.rules.features import (
    MCP_STATUS,
    Support,
    features_said,
    support_of,
    support_of_all,
)

HAS = frozenset({MCP_STATUS, "other"})
LACKS = frozenset({"other"})


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({}, None),
        ({"status": None}, None),
        ({"status": "up"}, None),
        ({"status": {"features": "mcp_status"}}, None),
        ({"features": ["mcp_status"]}, None),
        ({"status": {}}, frozenset()),
        ({"status": {"in_flight": 2}}, frozenset()),
        ({"status": {"features": ["mcp_status", 7]}}, frozenset({"mcp_status"})),
    ],
)
def test_a_presence_without_a_readable_status_did_not_say(
    meta: dict[str, object], said: frozenset[str] | None
) -> None:
    assert features_said(meta) == said


def test_a_node_has_what_it_names_and_lacks_what_it_does_not() -> None:
    assert support_of(HAS, MCP_STATUS) is Support.YES
    assert support_of(LACKS, MCP_STATUS) is Support.NO
    assert support_of(None, MCP_STATUS) is Support.UNSAID


@pytest.mark.parametrize(
    ("fleet", "support"),
    [
        ([], Support.UNSAID),
        ([HAS], Support.YES),
        ([HAS, HAS], Support.YES),
        ([HAS, LACKS], Support.NO),
        ([HAS, None], Support.UNSAID),
        ([None, LACKS], Support.NO),
        ([LACKS, None, HAS], Support.NO),
    ],
)
def test_one_node_without_it_decides_for_the_fleet(
    fleet: list[frozenset[str] | None], support: Support
) -> None:
    assert support_of_all(fleet, MCP_STATUS) is support
