"""The gallery: each component in all its states, in both themes (development only).

The visual and accessibility tests run on it, so a component that is not here is not looked after.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runtime import facts
from runtime.facts import Fact
from runtime.frame import Frame, LinkState, SourceLine
from runtime.moments import Clock

BERLIN: Final = ZoneInfo("Europe/Berlin")
NOW: Final = datetime(2026, 9, 23, 14, 5, 0, tzinfo=BERLIN)
SILENT: Final = NOW - timedelta(seconds=99)
CLOCK: Final = Clock(now=NOW, mode="company", company=BERLIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One state of the fact cell, in its three settings."""

    name: str
    meaning: str
    fact: Fact
    figure: Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One theme of the gallery."""

    theme: str
    rows: tuple[Row, ...]
    statuses: tuple[tuple[str, str], ...]
    cells: tuple[Fact, ...]


STATUSES: Final = (
    ("ok", "ok"),
    ("working", "working"),
    ("warn", "warn"),
    ("critical", "critical"),
    ("paused", "paused"),
    ("idle", "idle"),
    ("draining", "draining"),
    ("unknown", "unknown"),
    ("stopped", "stopped"),
    ("person", "needs a person"),
    ("stale", "stale"),
    ("lock", "denied"),
)

CHIPS: Final = (
    ("live", "ok", "Live", "store answered 2 s ago"),
    ("polling", "half", "Polling", "every 15 s"),
    ("store", "diamond", "Store not answering", "since 14:03:21, 1 min 39 s"),
    ("disconnected", "cross", "Disconnected", "retry in 4 s"),
)


def eight_states() -> tuple[Row, ...]:
    """The eight states, in the order of the rule."""
    plain: tuple[tuple[str, str, Fact], ...] = (
        ("value", "the store said so, in time", facts.value("8")),
        ("none", "the store said there is none", facts.none()),
        ("unsaid", "answered, but left out", facts.unsaid()),
        ("unknown", "could not be asked", facts.unknown(SILENT, last="8", as_of=SILENT)),
        ("stale", "known, past its budget", facts.stale("8", SILENT)),
        ("floor", "only a lower bound", facts.floor(12, "1 node did not say")),
        ("denied", "the role may not see it", facts.denied("operator")),
        ("loading", "first read not back yet", facts.loading()),
    )
    return tuple(Row(name=n, meaning=m, fact=f, figure=f) for n, m, f in plain)


def _cells() -> tuple[Fact, ...]:
    """The cells of a fleet row as they are really used."""
    return (
        facts.value("core-1", mono=True, link="/fleet/nodes/core-1/"),
        facts.value("current", "r41", mark="ok"),
        facts.value("1 behind", "r40, active r41", mark="warn"),
        facts.value("apply error", "line 12: unknown field", mark="critical"),
        facts.value("renewed", moment=NOW - timedelta(seconds=6)),
        facts.value("", moment=NOW - timedelta(days=12), form="span"),
        facts.value("by \u202eMira", "Vendor\x07 incident <b>", moment=NOW - timedelta(minutes=3)),
        facts.unknown(SILENT, text="held for now", note="seen 14:03:01"),
        facts.number(1_234_567),
    )


def _frame(theme: str) -> Frame:
    sources = (
        SourceLine(name="presence leases", up=True, answered_at=NOW - timedelta(seconds=2)),
        SourceLine(name="seat pauses", up=False, answered_at=SILENT),
    )
    return Frame(
        company="Harbourline",
        node="core-2",
        build="0.4.1",
        person="Mira Lindqvist",
        role="operator",
        link=LinkState(up=True, since=NOW, answered_at=NOW - timedelta(seconds=2), sources=sources),
        paused=facts.number(2),
        clock=CLOCK,
        company_zone="Europe/Berlin",
        path="/_gallery/",
        theme=theme,
    )


def gallery_context(theme: str = "system") -> dict[str, object]:
    """What ``templates/gallery.html`` draws."""
    sides = tuple(
        Side(theme=name, rows=eight_states(), statuses=STATUSES, cells=_cells())
        for name in ("light", "dark")
    )
    return {
        "frame": _frame(theme),
        "clock": CLOCK,
        "sides": sides,
        "chips": CHIPS,
        "silent": SILENT,
        "figure": facts.number(23, "agent seats in the company", after="of 25"),
        "unknown_figure": facts.unknown(SILENT, last="23 of 25", as_of=SILENT),
    }


@require_safe
def gallery(request: HttpRequest) -> HttpResponse:
    """``/_gallery/``."""
    return render(request, "gallery.html", gallery_context())
