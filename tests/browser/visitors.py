"""People in front of browsers: who they are, how they sign in, what a window complains about."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from tests.support.running_node import RunningNode

WITHIN_MS: Final = 15_000
"""How long a page may take for what it shows at once; a loaded machine is no fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Someone:
    """A person with access."""

    name: str
    role: str
    password: str


ADMIN: Final = Someone(name="admin", role="admin", password="seven quiet harbours 7")
OPERATOR: Final = Someone(name="olga", role="operator", password="olga watches the cranes 3")
VIEWER: Final = Someone(name="viktor", role="viewer", password="viktor counts the ships 5")

AS_ADMIN: Final = {"CREWLET_ADMIN_USER": ADMIN.name, "CREWLET_ADMIN_PASSWORD": ADMIN.password}
"""The environment of a node that needs no link."""


@dataclass(slots=True)
class Heard:
    """What a window's pages asked for and complained about."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def elsewhere(self, node: RunningNode) -> list[str]:
        """Requests that left the node."""
        home = urlsplit(node.url).netloc
        return [url for url in self.requests if urlsplit(url).netloc not in (home, "")]


@dataclass(slots=True)
class Window:
    """One person's browser, with cookies of its own."""

    node: RunningNode
    context: BrowserContext
    heard: Heard

    def open(self, path: str, *, live: bool = True) -> Page:
        """A page in a new tab; `live` waits until its chip says so."""
        page = self.context.new_page()
        page.goto(path)
        if live:
            expect(page.locator("#chip")).to_have_attribute("data-reading", "live")
        return page


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstVisit:
    """What somebody saw on the way in by a one-time link."""

    link: str
    welcome: str
    account: str


class Visitors:
    """Opens windows on nodes; signs each person in once a node and keeps the cookies."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._states: dict[tuple[str, str], Any] = {}
        expect.set_options(timeout=WITHIN_MS)

    @contextmanager
    def window(
        self,
        node: RunningNode,
        who: Someone | None = ADMIN,
        *,
        scripts: bool = True,
        size: tuple[int, int] = (1280, 900),
        cookies: Mapping[str, str] | None = None,
        expected: tuple[str, ...] = (),
    ) -> Iterator[Window]:
        """A window for as long as the block runs.

        Args:
            node: whose pages it shows.
            who: signed in as; nobody for None.
            scripts: whether pages may run any.
            size: width and height in CSS pixels.
            cookies: further cookies by name, such as a theme.
            expected: parts of complaints that the case itself provokes.
        """
        state = self._state_of(node, who) if who is not None else None
        context = self._browser.new_context(
            base_url=node.url,
            java_script_enabled=scripts,
            storage_state=state,
            viewport={"width": size[0], "height": size[1]},
        )
        context.set_default_timeout(WITHIN_MS)
        context.add_cookies(
            [
                {"name": name, "value": text, "url": node.url}
                for name, text in (cookies or {}).items()
            ]
        )
        heard = Heard(expected=expected)
        _listen(context, heard)
        try:
            yield Window(node=node, context=context, heard=heard)
        finally:
            context.close()
        unexpected = [
            text for text in heard.complaints if not any(part in text for part in expected)
        ]
        assert not unexpected, unexpected
        assert heard.elsewhere(node) == []

    def first_visit(self, node: RunningNode, link: str, who: Someone) -> FirstVisit:
        """Follow a one-time link, set the password, and stay signed in."""
        with self.window(node, None) as window:
            page = window.open(link, live=False)
            welcome = page.locator("main").inner_text()
            page.get_by_label("New password").fill(who.password)
            page.get_by_label("The same again").fill(who.password)
            page.get_by_role("button", name="Set password and sign in").click()
            page.wait_for_url("**/fleet/")
            landed = FirstVisit(
                link=link, welcome=welcome, account=page.locator(".account summary").inner_text()
            )
            self._states[node.url, who.name] = window.context.storage_state()
        return landed

    def _state_of(self, node: RunningNode, who: Someone) -> Any:
        key = (node.url, who.name)
        if key not in self._states:
            with self.window(node, None) as window:
                page = window.open("/sign-in/", live=False)
                sign_in(page, who.name, who.password)
                page.wait_for_url("**/fleet/")
                self._states[key] = window.context.storage_state()
        return self._states[key]


def sign_in(page: Page, name: str, password: str) -> None:
    """Fill and send the form of the sign-in page."""
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def _listen(context: BrowserContext, heard: Heard) -> None:
    def hear_line(line: ConsoleMessage) -> None:
        if line.type == "error":
            heard.complaints.append(f"{line.text} ({line.location.get('url', '')})")

    def hear_request(request: Request) -> None:
        heard.requests.append(request.url)

    context.on("console", hear_line)
    context.on("weberror", lambda error: heard.complaints.append(str(error.error)))
    context.on("request", hear_request)
