"""A fact on the page: eight states, each with its words; unknown is never zero, blank or absent."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import override
from zoneinfo import ZoneInfo

import pytest

from runtime import facts
from runtime.drawing import SETTINGS, draw_fact, draw_moment, draw_status, visible
from runtime.facts import Fact, FactState
from runtime.moments import Clock, moment_words, read_clock, zone_named

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 9, 23, 12, 5, 0, tzinfo=UTC)
SILENT = NOW - timedelta(seconds=99)
CLOCK = Clock(now=NOW, mode="company", company=BERLIN)

ALL = (
    facts.value("8"),
    facts.none(),
    facts.unsaid(),
    facts.unknown(SILENT, last="8", as_of=SILENT),
    facts.stale("8", SILENT),
    facts.floor(12, "1 node did not say"),
    facts.denied("operator"),
    facts.loading(),
)


class Words(HTMLParser):
    """The words of a markup, and what `data-fact` says."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.states: list[str] = []
        self.ids: list[str] = []
        self.feed(html)

    @override
    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.states += [str(named["data-fact"])] if "data-fact" in named else []
        self.ids += [str(named["id"])] if "id" in named else []

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def text_of(fact: Fact, setting: str = "cell") -> str:
    return Words(draw_fact(fact, clock=CLOCK, setting=setting)).text


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("fact", ALL, ids=lambda fact: fact.state.value)
def test_every_state_is_in_the_markup_and_in_words(fact: Fact, setting: str) -> None:
    drawn = Words(draw_fact(fact, clock=CLOCK, id="x", setting=setting))
    assert drawn.states == [fact.state.value]
    assert drawn.ids == ["x"]
    assert drawn.text


def test_there_are_exactly_eight_states() -> None:
    assert {fact.state for fact in ALL} == set(FactState)
    assert len(FactState) == 8


@pytest.mark.parametrize("setting", SETTINGS)
def test_unknown_says_that_it_could_not_be_asked_and_never_a_bare_value(setting: str) -> None:
    bare = text_of(facts.unknown(None), setting)
    assert "could not be asked" in bare
    assert "0" not in bare
    assert "none" not in bare
    known = text_of(facts.unknown(SILENT, last="0", as_of=SILENT), setting)
    assert "could not be asked" in known
    assert re.search(r"last known 0", known)


@pytest.mark.parametrize("setting", SETTINGS)
def test_unknown_says_since_when(setting: str) -> None:
    assert "since 14:03:21" in text_of(facts.unknown(SILENT), setting)


def test_unknown_keeps_what_may_be_relied_on_meanwhile() -> None:
    fact = facts.unknown(SILENT, text="held for now", note="seen")
    drawn = text_of(replace(fact, note_moment=SILENT))
    assert "could not be asked: held for now" in drawn
    assert "seen 14:03:21" in drawn


def test_a_counted_zero_is_a_value_and_none_is_a_word() -> None:
    assert facts.number(0).state is FactState.VALUE
    assert text_of(facts.number(0)) == "0"
    assert text_of(facts.none("not paused")) == "not paused"


def test_did_not_say_is_not_none() -> None:
    assert "did not say" in text_of(facts.unsaid())
    assert "none" not in text_of(facts.unsaid())


def test_stale_keeps_the_value_and_says_as_of_when() -> None:
    assert text_of(facts.stale("8", SILENT)) == "8 as of 14:03:21, 1 min ago"
    assert "as of 14:03:21" in text_of(facts.stale("current", SILENT, "r41"))


def test_a_floor_says_at_least() -> None:
    assert text_of(facts.floor(12, "1 node did not say")) == "at least 12 1 node did not say"


def test_denied_names_the_role() -> None:
    for setting in SETTINGS:
        assert "needs the operator role" in text_of(facts.denied("operator"), setting)


def test_a_total_inherits_its_worst_input() -> None:
    assert facts.total([1, 2]).text == "3"
    partial = facts.total([1, None, 2, None])
    assert (partial.state, partial.text) == (FactState.FLOOR, "3")
    assert partial.note == "2 nodes did not say"
    assert facts.total([1, None]).note == "1 node did not say"


def test_a_fact_that_cannot_be_asked_again_keeps_its_last_answer_labelled() -> None:
    turned = facts.number(23, after="of 25").turned_unknown(SILENT, SILENT)
    assert turned.state is FactState.UNKNOWN
    assert "last known 23 of 25 at 14:03:21" in text_of(turned, "figure")
    assert facts.floor(1, "x").turned_unknown(SILENT, SILENT).last == "at least 1"


def test_a_fact_that_is_only_an_instant_keeps_it_as_its_last_answer() -> None:
    turned = facts.value("", moment=SILENT, form="span").turned_unknown(NOW, SILENT)
    assert "last known 14:03:21" in text_of(turned)
    paused = facts.value("by jonas,", moment=SILENT).turned_unknown(NOW, SILENT)
    assert paused.last == "by jonas"


def test_a_stale_moment_in_a_sentence_is_not_read_twice() -> None:
    turned = facts.value("", moment=SILENT).turned_stale(SILENT)
    assert text_of(turned, "inline") == "1 min ago as of 14:03:21, 1 min ago"
    drawn = draw_fact(turned, clock=CLOCK, setting="inline")
    assert '<span class="vh">as of' in drawn


def test_what_was_unsaid_stays_so_when_the_store_falls_silent() -> None:
    assert facts.unsaid().turned_unknown(SILENT, SILENT) == facts.unsaid()
    assert facts.unsaid().turned_stale(SILENT) == facts.unsaid()
    assert facts.denied("admin").turned_unknown(SILENT, SILENT) == facts.denied("admin")


def test_a_fact_turned_stale_loses_its_tone_and_keeps_its_words() -> None:
    turned = facts.value("1 behind", "r40", mark="warn").turned_stale(SILENT)
    assert turned.state is FactState.STALE
    assert turned.mark == ""
    assert text_of(turned).startswith("1 behind r40")
    assert text_of(facts.floor(3, "x").turned_stale(SILENT)).startswith("at least 3")


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="cell, inline, figure"):
        draw_fact(facts.none(), clock=CLOCK, setting="tile")


def test_untrusted_text_is_escaped_isolated_and_shown() -> None:
    html = draw_fact(facts.value("<b>\u202eevil\x07", "\u2066note"), clock=CLOCK)
    assert "<bdi>&lt;b&gt;\u27e8U+202E\u27e9evil\u2407</bdi>" in html
    assert "\u27e8U+2066\u27e9note" in html
    assert "<b>" not in html


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x00", "\u2400"),
        ("a\nb", "a\u240ab"),
        ("\x7f", "\u2421"),
        ("\x85", "\u27e8U+0085\u27e9"),
        ("\u200b", "\u27e8U+200B\u27e9"),
        ("\ufeff", "\u27e8U+FEFF\u27e9"),
        ("\ud800", "\u27e8U+D800\u27e9"),
        ("\U000e0041", "\u27e8U+E0041\u27e9"),
    ],
)
def test_each_hidden_character_is_shown(hidden: str, shown: str) -> None:
    assert visible(hidden) == shown
    visible(hidden).encode()


def test_ordinary_scripts_and_joiners_are_left_alone() -> None:
    for text in ("résumé d’activité", "مرحبا", "👩\u200d💻", "می\u200cخواهم"):
        assert visible(text) == text


def test_a_link_in_a_fact_is_escaped() -> None:
    html = draw_fact(facts.value("x", link='/a"b'), clock=CLOCK)
    assert 'href="/a&quot;b"' in html


def test_a_status_is_a_shape_and_a_word() -> None:
    html = draw_status("warn", "near")
    assert '<use href="#s-warn"/>' in html
    assert ">near<" in html
    assert 'aria-hidden="true"' in html


def test_short_counts_keep_three_digits_and_exact_ones_stay_in_the_title() -> None:
    shown = [facts.short_count(n) for n in (0, 999, 9_999, 10_000, 412_345, 999_600, 1_020_000)]
    assert shown == ["0", "999", "9,999", "10.0K", "412K", "1.00M", "1.02M"]
    assert 'title="1,234,567"' in draw_fact(facts.number(1_234_567), clock=CLOCK)


@pytest.mark.parametrize(
    ("age", "form", "words"),
    [
        (6, "ago", "6 s ago"),
        (125, "ago", "2 min ago"),
        (125, "span", "2 min 5 s"),
        (7_740, "span", "2 h 9 min"),
        (7_740, "ago", "2 h ago"),
        (86_400, "span", "1 day"),
        (86_400 * 12, "ago", "12 days ago"),
        (-11, "in", "in 11 s"),
        (11, "in", "overdue by 11 s"),
        (-120, "ago", "in 2 min"),
        (99, "at", "14:03:21"),
        (86_400, "at", "22 Sep, 14:05"),
        (86_400 * 400, "at", "19 Aug 2025, 14:05"),
        (99, "full", "23 Sep 2026, 14:03:21 UTC+2"),
    ],
)
def test_moments_read_the_same_everywhere(age: int, form: str, words: str) -> None:
    assert moment_words(NOW - timedelta(seconds=age), form, CLOCK) == words


def test_a_moment_carries_its_instant_and_its_exact_form() -> None:
    assert draw_moment(SILENT, CLOCK) == (
        '<time datetime="2026-09-23T12:03:21Z" title="23 Sep 2026, 14:03:21 UTC+2">1 min ago</time>'
    )


def test_the_query_wins_over_the_cookie_and_odd_zones_are_ignored() -> None:
    clock = read_clock({"tz": "utc"}, {"tz": "reader"}, company=BERLIN, now=NOW)
    assert (clock.mode, clock.offset) == ("utc", "UTC")
    odd = read_clock({"tz": "mars"}, {"zone": "../../etc/passwd"}, company=BERLIN, now=NOW)
    assert (odd.mode, odd.reader) == ("company", UTC)
    assert zone_named("Asia/Kolkata") == ZoneInfo("Asia/Kolkata")
    assert Clock(now=NOW, mode="reader", reader=ZoneInfo("Asia/Kolkata")).offset == "UTC+5:30"
