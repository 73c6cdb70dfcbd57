"""`./crewlet people`: people of a running node, through its API."""

import json
import sys
from datetime import datetime
from typing import Any, override
from urllib.parse import quote

import msgspec
from django.core.management.base import BaseCommand, CommandParser

from runtime import operator_client
from runtime.access import Role
from runtime.operator_client import NotReached, Reply


class Person(msgspec.Struct, kw_only=True):
    """One row of the list."""

    name: str
    role: str
    access: str
    display_name: str


class People(msgspec.Struct):
    """The answer to `list`."""

    people: list[Person]


class Link(msgspec.Struct, kw_only=True):
    """The answer to `add` and `reset`."""

    name: str
    link: str
    expires_at: datetime


class Command(BaseCommand):
    """List, add, reset, remove. Exit code 0 when the node did it, 1 otherwise."""

    help = "People who may sign in: list, add, reset, remove."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        listing = acts.add_parser("list", help="everybody who has access")
        adding = acts.add_parser("add", help="add somebody; prints the link that sets a password")
        adding.add_argument("name", metavar="NAME", help="what they sign in with")
        adding.add_argument("--display-name", default="", help="as pages show it")
        adding.add_argument("--role", choices=[role.value for role in Role], default="viewer")
        resetting = acts.add_parser("reset", help="print another one-time link")
        resetting.add_argument("name", metavar="NAME")
        removing = acts.add_parser("remove", help="take access away, at once")
        removing.add_argument("name", metavar="NAME")
        for act in (listing, adding, resetting, removing):
            act.add_argument("--json", action="store_true", help="print the API's answer")

    @override
    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            reply = _ask(options)
        except NotReached as fault:
            self.stderr.write(str(fault))
            sys.exit(1)
        if options["json"]:
            self.stdout.write(json.dumps(reply.data, indent=2, sort_keys=True))
        elif reply.is_ok:
            self.stdout.write(_told(options["act"], options.get("name", ""), reply))
        if not reply.is_ok:
            self.stderr.write(reply.problem)
            sys.exit(reply.exit_code)


def _ask(options: dict[str, Any]) -> Reply:
    path = f"/api/people/{quote(options.get('name') or '', safe='')}"
    match options["act"]:
        case "list":
            return operator_client.request("GET", "/api/people")
        case "add":
            body = {key: str(options[key]) for key in ("name", "display_name", "role")}
            return operator_client.request("POST", "/api/people", {**body})
        case "reset":
            return operator_client.request("POST", f"{path}/reset")
        case _:
            return operator_client.request("DELETE", path)


def _told(act: str, name: str, reply: Reply) -> str:
    match act:
        case "list":
            return _table(msgspec.convert(reply.data, People).people)
        case "remove":
            return f"Removed {name}, who is signed out everywhere."
        case _:
            issued = msgspec.convert(reply.data, Link)
            until = f"{issued.expires_at:%Y-%m-%d %H:%M} UTC"
            return f"{issued.name} sets a password here, once, until {until}:\n{issued.link}"


def _table(people: list[Person]) -> str:
    rows = [("NAME", "ROLE", "ACCESS", "DISPLAY NAME")]
    rows += [(one.name, one.role, one.access, one.display_name) for one in people]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = []
    for *columns, last in rows:
        cells = [text.ljust(width) for text, width in zip(columns, widths, strict=True)]
        lines.append("  ".join([*cells, last]))
    return "\n".join(lines)
