"""`./crewlet fleet status`: the nodes of the fleet, through a running node's API."""

import json
import sys
from typing import Any, Final, override

from django.core.management.base import BaseCommand, CommandParser

from runtime import operator_client
from runtime.operator_client import Json, NotReached

UNSAID: Final = "did not say"


class Command(BaseCommand):
    """Exit code 0 when the fleet could be listed, 1 otherwise."""

    help = "The fleet: which nodes run the company."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        status = acts.add_parser("status", help="nodes, seats held, and what is stranded")
        status.add_argument("--json", action="store_true", help="print the API's answer")

    @override
    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            reply = operator_client.request("GET", "/api/fleet")
        except NotReached as fault:
            self.stderr.write(str(fault))
            sys.exit(1)
        if options["json"]:
            self.stdout.write(json.dumps(reply.data, indent=2, sort_keys=True))
        elif reply.is_ok and isinstance(reply.data, dict):
            self.stdout.write(_told(reply.data))
        if not reply.is_ok:
            self.stderr.write(reply.problem)
            sys.exit(reply.exit_code)


def _told(data: dict[str, Json]) -> str:
    nodes = _rows(data, "nodes")
    lines = [_table(nodes), ""]
    lines.append(
        f"{len(nodes)} live, {len(_rows(data, 'seats'))} seats held, as of {data['as_of']}"
    )
    lines += [
        f"{seat['handle']} cannot be placed: no live node has {seat['placement']}"
        for seat in _rows(data, "unplaceable")
    ]
    unmanned = data.get("unmanned_roles")
    if isinstance(unmanned, list) and unmanned:
        lines.append(f"no live node has the role {', '.join(map(str, unmanned))}")
    return "\n".join(lines)


def _rows(data: dict[str, Json], name: str) -> list[dict[str, Json]]:
    rows = data.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _table(nodes: list[dict[str, Json]]) -> str:
    rows = [("NODE", "ROLES", "SEATS", "TURNS", "POSTURE", "CONFIG", "LAPSES IN")]
    rows += [
        (
            str(node["id"]),
            _words(node.get("roles")),
            str(node["seats"]),
            str(node.get("in_flight", UNSAID)),
            "draining" if node.get("draining") else str(node.get("posture", UNSAID)),
            str(node.get("config_status", "has not reported")),
            f"{node['expires_in']} s",
        )
        for node in nodes
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _words(value: Json) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else UNSAID
