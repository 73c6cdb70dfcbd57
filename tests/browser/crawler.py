"""Every fact of a page, as its markup says it, and the rule that it may not break.

Each fact is one `Seen`; `collect` reads a live page, `fetch` a fresh GET that ran no script. The
same function in the browser reads both, so both are held to the same rule.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Page

FRESH: Final = frozenset({"value", "none", "floor"})
"""States in which a fact claims to be the store's present answer."""

QUICK: Final = re.compile(
    r"figure-|rail-|-(seats|turns|presence|deadline|state|holder|turn|paused|draining)$"
)
"""Counts, presence, and what may have changed since: unknown as soon as it cannot be asked."""

PEOPLE: Final = ("mira", "jonas", "anouk")
"""The people's seats of the example document."""

_COLLECT: Final = """html => {
  const doc = html ? new DOMParser().parseFromString(html, "text/html") : document;
  const words = node => node.textContent.replace(/\\s+/g, " ").trim();
  const counts = {};
  const facts = [...doc.querySelectorAll("[data-fact]")].map(node => {
    const row = node.closest("[data-row]"), cell = node.closest("td");
    const term = node.closest("dd")?.previousElementSibling;
    const place = row?.id || (row && words(row.querySelector("th"))) ||
      node.closest("section")?.getAttribute("aria-labelledby") || "page";
    const label = term ? words(term) : cell ? `column ${cell.cellIndex}` : "";
    const name = node.id || `${place}/${label}`;
    counts[name] = (counts[name] || 0) + 1;
    return {
      key: counts[name] > 1 ? `${name}#${counts[name]}` : name,
      state: node.dataset.fact,
      text: words(node),
      row: row?.id || "",
      section: node.closest("section")?.getAttribute("aria-labelledby") || "",
    };
  });
  const rows = [...doc.querySelectorAll("[data-row]")].map(
    row => row.id || words(row.querySelector("th")));
  const chip = doc.querySelector("#chip");
  const banner = doc.querySelector("#banner");
  return {
    facts, rows, chip: chip?.dataset.reading || "",
    banner: banner && !banner.hidden ? words(banner) : "",
  };
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One fact: its element's id (or its place, for one that is never patched), state and words."""

    key: str
    state: str
    text: str
    row: str
    section: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a page says at one moment."""

    facts: Mapping[str, Seen]
    rows: frozenset[str]
    chip: str
    banner: str

    def broken(
        self, before: "Look", *, documented: frozenset[str], known: frozenset[str] = frozenset()
    ) -> list[str]:
        """What breaks the rule while the store cannot be asked, in words; empty when nothing does.

        Args:
            before: the same page while the store answered.
            documented: keys of facts that come from the company document, which is here.
            known: keys of facts whose own bucket still answers.
        """
        faults = [f"row {row} disappeared" for row in before.rows - self.rows]
        for key, was in before.facts.items():
            now = self.facts.get(key)
            if key in documented or key in known:
                expected: Iterable[str] = {was.state}
            elif was.state not in FRESH:
                expected = {was.state}
            else:
                expected = {"unknown"} if QUICK.search(key) else {"unknown", "stale"}
            faults += _judge(was, now, expected)
        return faults

    @property
    def dark(self) -> dict[str, str]:
        """State by key of every fact that claims not to be the present answer."""
        return {
            key: fact.state
            for key, fact in self.facts.items()
            if fact.state in {"unknown", "stale"}
        }

    def zeroes(self, before: "Look") -> list[str]:
        """Facts that claim 0 or none now and did not before."""
        return [
            f"{key} reads {fact.text}"
            for key, fact in self.facts.items()
            if fact.state in FRESH
            and re.match(r"(at least )?0\b|none|no ", fact.text)
            and key in before.facts
            and before.facts[key].text != fact.text
        ]


def _judge(was: Seen, now: Seen | None, expected: Iterable[str]) -> list[str]:
    if now is None:
        return [f"{was.key} disappeared (was {was.state}: {was.text})"]
    if now.state not in expected:
        return [f"{now.key} is drawn {now.state} ({now.text}), was {was.state}"]
    if (
        now.state == "unknown"
        and not re.match(r"\\?|could not be asked", now.text.lstrip("? "))
        and ("could not be asked" not in now.text)
    ):
        return [f"{now.key} is unknown and does not say so: {now.text}"]
    if now.state == "stale" and not re.search(r"as of|ago", now.text):
        return [f"{now.key} is stale and does not say as of when: {now.text}"]
    return []


def collect(page: Page) -> Look:
    """What a live page says now."""
    return _look(page.evaluate(_COLLECT, ""))


def fetch(page: Page, path: str) -> tuple[int, Look]:
    """Status and words of a fresh GET with the page's cookies; nothing of it runs."""
    answer = page.context.request.get(path)
    return answer.status, _look(page.evaluate(_COLLECT, answer.text()))


def documented(look: Look, people: Iterable[str]) -> frozenset[str]:
    """Facts that the company document alone decides: a person's row, ceilings."""
    rows = {f"seat-{handle}" for handle in people}
    return frozenset(
        key
        for key, fact in look.facts.items()
        if fact.row in rows or fact.section == "ceilings-title"
    )


def _look(found: dict[str, Any]) -> Look:
    facts = [Seen(**each) for each in found["facts"]]
    return Look(
        facts={fact.key: fact for fact in facts},
        rows=frozenset(found["rows"]),
        chip=found["chip"],
        banner=found["banner"],
    )
