"""A real node with a company of any size, and a visitor who is signed in on it."""

import asyncio
import gzip
import http.client
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from bench._fleet import Address, company_document, whole_fleet, write
from crewlet_site.home import Home
from tests.support.browser import FLAGS
from tests.support.running_node import ROOT, RunningNode
from tests.support.waiting import eventually_blocking

USER: Final = "mira"
EXAMPLE: Final = ROOT / "examples" / "company.yaml"
PASSWORD: Final = "quay-lantern-42-berth"
BOOTSTRAP: Final = """\
node: {{id: core-1, roles: [{roles}]}}
coordination: {{lease_ttl_seconds: {ttl}}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response: `wire_bytes` counts status line, headers and the body as it was sent."""

    status: int
    headers: Mapping[str, str]
    text: str
    wire_bytes: int
    seconds: float


class Visitor:
    """A keep-alive connection with cookies, which accepts gzip."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, path: str) -> Answer:
        """One GET; the time runs until the last byte is here."""
        return self._ask("GET", path, None)

    def sign_in(self) -> Self:
        """Through the form, as a browser would."""
        page = self.get("/sign-in/")
        match = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert match, "the sign-in form has no token"
        fields = {"username": USER, "password": PASSWORD, "csrfmiddlewaretoken": match[1]}
        answer = self._ask("POST", "/sign-in/", urlencode(fields))
        assert answer.status in (302, 303), f"sign-in answered {answer.status}: {answer.text[:400]}"
        return self

    @property
    def cookie_header(self) -> str:
        """What a socket sends along."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _ask(self, method: str, path: str, body: str | None) -> Answer:
        headers = {"Accept-Encoding": "gzip", "Accept": "text/html"}
        if self.cookies:
            headers["Cookie"] = self.cookie_header
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Origin"] = f"http://127.0.0.1:{self.port}"
        began = time.perf_counter()
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        raw = response.read()
        seconds = time.perf_counter() - began
        pairs = response.getheaders()
        for name, value in pairs:
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        named = {name.lower(): value for name, value in pairs}
        zipped = named.get("content-encoding") == "gzip"
        head = sum(len(name) + len(value) + 4 for name, value in pairs) + 19
        return Answer(
            status=response.status,
            headers=named,
            text=(gzip.decompress(raw) if zipped else raw).decode(),
            wire_bytes=head + len(raw),
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A node that is up."""

    node: RunningNode

    @property
    def address(self) -> Address:
        """Its broker's."""
        home = Home(self.node.home)
        sign_in = home.broker_sign_in()
        assert sign_in is not None, "the broker has no sign-in"
        return Address(url=home.broker_url(), user=sign_in[0], password=sign_in[1])

    def visitor(self) -> Visitor:
        """Somebody who signed in."""
        return Visitor(self.node.port).sign_in()

    def stranger(self) -> Visitor:
        """Somebody who did not."""
        return Visitor(self.node.port)

    @contextmanager
    def page(self, visitor: Visitor) -> Iterator[Page]:
        """A page of a cold browser in which the visitor is signed in."""
        binary = shutil.which("chromium")
        assert binary, "chromium is missing: scripts/ensure-chromium installs it"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=binary, args=list(FLAGS))
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            for name, value in visitor.cookies.items():
                context.add_cookies([{"name": name, "value": value, "url": self.node.url}])
            yield context.new_page()
            browser.close()

    def populate(self, *, nodes: int, seats: int, pauses: int, ttl: timedelta) -> None:
        """Write a fleet's records and wait until the web process knows them all."""

        async def put() -> int:
            address = self.address
            client = await address.connect("bench")
            try:
                records = whole_fleet(nodes=nodes, seats=seats, pauses=pauses, ttl=ttl)
                return await write(client, address.domain, records)
            finally:
                await client.close()

        began = time.perf_counter()
        count = asyncio.run(put())
        print(f"{count:,} records written in {time.perf_counter() - began:.1f} s")

        def knows_nodes() -> bool:
            return bool(self.node.get("/health")[1].get("nodes") == nodes + 1)

        def knows_all() -> bool:
            code, body = self.node.get("/api/fleet", token=self.node.token)
            assert code == http.client.OK, body
            assert len(body["nodes"]) == nodes + 1, f"{len(body['nodes'])} nodes"
            assert len(body["seats"]) == seats, f"{len(body['seats'])} seats"
            return True

        # The whole answer is megabytes: it is asked for once there is something to see.
        eventually_blocking(knows_nodes, within=60)
        eventually_blocking(knows_all, within=60)


@contextmanager
def serving(company: int | Path, *, ttl: timedelta) -> Iterator[Site]:
    """`./crewlet up` on an empty home.

    Args:
        company: how many seats it has, none of which is claimed; or a document, whose are.
        ttl: of the leases.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        document, bootstrap = Path(folder, "company.yaml"), Path(folder, "crewlet.yaml")
        roles = "data, ingress, seats, workers"
        if isinstance(company, int):
            document.write_text(company_document(company), encoding="utf-8")
            # No seats role: the measured records are other nodes', and this one only shows them.
            roles = "data, ingress, workers"
        else:
            document = company
        text = BOOTSTRAP.format(roles=roles, ttl=int(ttl.total_seconds()))
        bootstrap.write_text(text, encoding="utf-8")
        environ = {
            "CREWLET_CONFIG": str(bootstrap),
            "CREWLET_COMPANY": str(document),
            "CREWLET_ADMIN_USER": USER,
            "CREWLET_ADMIN_PASSWORD": PASSWORD,
        }
        node = RunningNode(environ=environ)
        try:
            node.start()
            yield Site(node=node)
            node.stop()
        finally:
            node.dispose()
