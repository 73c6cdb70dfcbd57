"""`./crewlet people`: people of a running node, through its API."""

import json
import sys
from typing import Any, Final, override
from urllib.parse import quote

from django.core.management.base import BaseCommand, CommandParser

from runtime.access import Role
from runtime.operator_client import OperatorClient

type Answer = dict[str, Any]

OK: Final = range(200, 300)


class Command(BaseCommand):
    """List, add, reset, remove. Exit code 0 when it was done, 1 otherwise."""

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
        status, answer = self._ask(options)
        if options["json"]:
            self.stdout.write(json.dumps(answer, indent=2, sort_keys=True))
        elif status in OK:
            self._tell(options["act"], answer)
        if status not in OK:
            sentence = answer.get("detail") or answer.get("error") or f"status {status}"
            self.stderr.write(f"Nothing was changed: {sentence}")
            sys.exit(1)

    def _ask(self, options: dict[str, Any]) -> tuple[int, Answer]:
        client = OperatorClient.from_environment()
        path = f"/api/people/{quote(options.get('name') or '', safe='')}"
        match options["act"]:
            case "list":
                return client.request("GET", "/api/people", None)
            case "add":
                body = {key: options[key] for key in ("name", "display_name", "role")}
                return client.request("POST", "/api/people", body)
            case "reset":
                return client.request("POST", f"{path}/reset", None)
            case _:
                return client.request("DELETE", path, None)

    def _tell(self, act: str, answer: Answer) -> None:
        if act == "list":
            self._tell_list(answer["people"])
        elif act == "remove":
            self.stdout.write(f"Removed {answer['name']}; their sessions have ended.")
        else:
            self.stdout.write(
                f"{answer['name']} sets a password here, once, until {answer['expires_at']}:"
            )
            self.stdout.write(answer["link"])

    def _tell_list(self, people: list[Answer]) -> None:
        rows = [("NAME", "ROLE", "ACCESS", "DISPLAY NAME")]
        rows += [(p["name"], p["role"], p["access"], p["display_name"]) for p in people]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for *columns, last in rows:
            cells = [text.ljust(width) for text, width in zip(columns, widths, strict=True)]
            self.stdout.write("  ".join([*cells, last]))
