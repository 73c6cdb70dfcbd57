"""`./crewlet seats`: list, pause and resume through a running node's API."""

import json
import sys
from typing import Any, override
from urllib.parse import quote

from django.core.management.base import BaseCommand, CommandParser

from fleet.pauses import mint_request_id
from runtime import operator_client
from runtime.operator_client import Json, NotReached, Reply


class Command(BaseCommand):
    """Exit code 0 when what was asked stands, 1 otherwise."""

    help = "The company's seats: list, pause, resume."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        listing = acts.add_parser("list", help="every seat, its holder and its pause")
        pausing = acts.add_parser("pause", help="start no new turn of a seat")
        resuming = acts.add_parser("resume", help="lift a seat's pause")
        for act in (pausing, resuming):
            act.add_argument("handle", metavar="HANDLE")
            act.add_argument("--op-id", default="", help="the operation, to send it again")
        pausing.add_argument("--reason", default="", help="1 to 500 characters on one line")
        pausing.add_argument(
            "--stop", action="store_true", help="ask a running turn to stop at its next round"
        )
        for act in (listing, pausing, resuming):
            act.add_argument("--json", action="store_true", help="print the API's answer")

    @override
    def handle(self, *_args: Any, **options: Any) -> None:
        request_id = options.get("op_id") or mint_request_id()
        try:
            reply = _ask(options, request_id)
        except NotReached as fault:
            again = _retry_words(options, request_id) if fault.may_have_landed else ""
            self.stderr.write(f"{fault}{again}")
            sys.exit(1)
        if options["json"]:
            self.stdout.write(json.dumps(reply.data, indent=2, sort_keys=True))
        elif reply.is_ok:
            self.stdout.write(_told(options, reply.data))
        if not reply.is_ok:
            again = _retry_words(options, request_id) if reply.may_have_landed else ""
            self.stderr.write(f"{reply.problem}{again}")
            sys.exit(reply.exit_code)


def _ask(options: dict[str, Any], request_id: str) -> Reply:
    if options["act"] == "list":
        return operator_client.request("GET", "/api/seats")
    seat = f"/api/seats/{quote(options['handle'], safe='')}"
    if options["act"] == "pause":
        wish: Json = {
            "request_id": request_id,
            "reason": options["reason"],
            "stop_running": options["stop"],
        }
        return operator_client.request("POST", f"{seat}/pause", wish)
    seen = operator_client.request("GET", seat)
    if not seen.is_ok:
        return seen
    standing = seen.data.get("paused") if isinstance(seen.data, dict) else None
    version = standing.get("version") if isinstance(standing, dict) else None
    lift: Json = {"request_id": request_id, "version": version}
    return operator_client.request("POST", f"{seat}/resume", lift)


def _retry_words(options: dict[str, Any], request_id: str) -> str:
    if options["act"] == "list":
        return ""
    return (
        f"\nIt may have landed. Within two minutes the same operation is sent again with"
        f" --op-id {request_id}"
    )


def _told(options: dict[str, Any], data: Json) -> str:
    if not isinstance(data, dict):
        return ""
    if options["act"] == "list":
        return _table(data)
    handle = options["handle"]
    if options["act"] == "resume":
        return f"Resumed {handle}." if data["changed"] else f"{handle} is not paused: no change."
    who = f"{data['paused_by']} at {data['paused_at']}"
    turn = "ends at its next round" if data["stop_running"] else "finishes"
    reason = f": {data['reason']}" if data.get("reason") else ""
    if data["changed"]:
        return f"Paused {handle} by {who}{reason}\nA running turn {turn}."
    return f"{handle} was already paused by {who}{reason}\nNothing changed; a running turn {turn}."


def _table(data: dict[str, Json]) -> str:
    seats = data.get("seats")
    rows = [("SEAT", "STATE", "HELD BY", "PAUSED")]
    rows += [
        (str(seat["handle"]), _state(seat), str(seat.get("node", "-")), _why(seat))
        for seat in (seats if isinstance(seats, list) else [])
        if isinstance(seat, dict)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    )


def _state(seat: dict[str, Json]) -> str:
    if seat["kind"] == "person":
        return "person"
    if "stopped_reason" in seat:
        return f"stopped, {seat['stopped_reason']}"
    return str(seat.get("activity", "did not say"))


def _why(seat: dict[str, Json]) -> str:
    paused = seat.get("paused")
    if not isinstance(paused, dict):
        return "-"
    return f"by {paused['by']} at {paused['at']}: {paused['reason']}"
