"""Facts, moments and status words as HTML; the only place that writes ``data-fact``.

The ``fact`` tag and the live socket both draw through :func:`draw_fact`, so a patched cell is the
same markup as a loaded one. What must stay true: every text passes :func:`safe_text`, so it is
escaped, its control characters are shown and it cannot turn the direction of its neighbours.
"""

import re
from datetime import UTC, datetime
from typing import Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from runtime.facts import Fact, FactState
from runtime.moments import Clock, moment_words

SETTINGS: Final = ("cell", "inline", "figure")

TONES: Final = {
    "warn": "warn",
    "critical": "critical",
    "draining": "warn",
    "paused": "",
    "unknown": "unknown",
}
"""The ink a mark brings when the fact names none: ordinary states stay in ordinary ink."""

# C0, C1 and DEL; bidirectional and other invisible formatting; lone surrogates (no UTF-8 form);
# tags. ZWJ and ZWNJ stay: scripts and emoji need them.
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with each invisible or direction-turning character shown as a symbol."""
    return _UNSEEN.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"


def safe_text(text: str) -> str:
    """Untrusted text ready for markup: control characters shown, then escaped."""
    return escape(visible(text))


def draw_symbol(name: str) -> SafeString:
    """A shape of ``templates/_symbols.html``; decoration, so a word always stands beside it."""
    return mark_safe(
        f'<svg class="i i-{escape(name)}" aria-hidden="true"><use href="#s-{escape(name)}"/></svg>'
    )


def draw_moment(at: datetime, clock: Clock, form: str = "ago") -> SafeString:
    """A ``<time>`` in the given form, titled with the exact moment; the browser keeps it true."""
    stamp = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    title = "" if form == "full" else f' title="{moment_words(at, "full", clock)}"'
    kind = "" if form == "ago" else f' data-form="{escape(form)}"'
    return mark_safe(
        f'<time datetime="{stamp}"{kind}{title}>{moment_words(at, form, clock)}</time>'
    )


def draw_status(mark: str, word: str, tone: str = "") -> SafeString:
    """A status word: shape, then word, then (last) ink."""
    ink = tone or TONES.get(mark, "")
    return mark_safe(
        f'<span class="status{f" t-{escape(ink)}" if ink else ""}">'
        f"{_mark(mark)}<span>{safe_text(word)}</span></span>"
    )


def draw_fact(fact: Fact, *, clock: Clock, id: str = "", setting: str = "cell") -> SafeString:
    """One fact as the element that carries it.

    Args:
        fact: what to say.
        clock: the moment and zone the page is read in.
        id: the element's id, by which live frames find it; "" where it is never patched.
        setting: "cell" (two lines), "inline" (a sentence) or "figure" (28 px, note below).

    Raises:
        ValueError: a setting that does not exist.
    """
    if setting not in SETTINGS:
        message = f"a fact is drawn as one of {', '.join(SETTINGS)}, not {setting!r}"
        raise ValueError(message)
    mark, words, note = _PARTS[fact.state](fact, clock, setting)
    ink = fact.tone or TONES.get(fact.mark, "")
    classes = f"fact f-{setting}{f' t-{escape(ink)}' if ink else ''}"
    if mark or setting == "figure":
        words = f'<span class="f-line">{mark}<span class="f-text">{words}</span></span>'
    if note or setting == "figure":
        words = f'{words} <span class="f-note">{note}</span>'
    ident = f' id="{escape(id)}"' if id else ""
    return mark_safe(
        f'<span class="{classes}"{ident} data-fact="{fact.state.value}">{words}</span>'
    )


type Parts = tuple[str, str, str]
"""Mark, first line and second line, each ready markup."""


def _mark(name: str) -> str:
    if not name:
        return ""
    return '<b class="q" aria-hidden="true">?</b>' if name == "unknown" else draw_symbol(name)


def _bdi(text: str, fact: Fact, setting: str) -> str:
    if not text:
        return ""
    title = f' title="{escape(fact.exact)}"' if fact.exact else ""
    drawn = f"<bdi{' class=mono' if fact.mono else ''}{title}>{safe_text(text)}</bdi>"
    # A figure stays a figure: the words under it lead on.
    return drawn if setting == "figure" and fact.note else _linked(drawn, fact)


def _linked(drawn: str, fact: Fact) -> str:
    return f'<a href="{escape(fact.link)}">{drawn}</a>' if fact.link else drawn


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _first_line(fact: Fact, clock: Clock, setting: str) -> str:
    when = draw_moment(fact.moment, clock, fact.form) if fact.moment else ""
    after = f'<span class="f-after">{safe_text(fact.after)}</span>' if fact.after else ""
    return _join(_bdi(fact.text, fact, setting), when, after)


def _second_line(fact: Fact, clock: Clock, setting: str) -> str:
    when = draw_moment(fact.note_moment, clock, fact.note_form) if fact.note_moment else ""
    alone = fact.moment and not fact.text and not fact.note and not when and setting == "cell"
    if alone and fact.moment and fact.form not in {"at", "full"}:
        return draw_moment(fact.moment, clock, "at")
    note = f"<bdi>{safe_text(fact.note)}</bdi>" if fact.note else ""
    return _join(_linked(note, fact) if note and setting == "figure" else note, when)


def _said(fact: Fact, clock: Clock, setting: str) -> Parts:
    return _mark(fact.mark), _first_line(fact, clock, setting), _second_line(fact, clock, setting)


def _unsaid(fact: Fact, clock: Clock, setting: str) -> Parts:
    del clock, setting
    return (
        "",
        '<span class="dash" aria-hidden="true">—</span>',
        safe_text(fact.note or "did not say"),
    )


def _unknown(fact: Fact, clock: Clock, setting: str) -> Parts:
    since: str = f"since {draw_moment(fact.since, clock, 'at')}" if fact.since else ""
    last: str = ""
    if fact.note or fact.note_moment:
        last = _second_line(fact, clock, setting)
    elif fact.last:
        at = (
            f"at {draw_moment(fact.as_of, clock, 'at')}" if fact.as_of and setting != "cell" else ""
        )
        last = _join(f'last <span class="k">known</span> <bdi>{safe_text(fact.last)}</bdi>', at)
    if fact.text:
        said = f'<span class="vh">could not be asked:</span> {_bdi(fact.text, fact, setting)}'
    elif setting == "cell" and since:
        said = f'<span class="vh">could not be asked</span> {since}'
        since = ""
    else:
        said = (
            "could not be asked,"
            if setting == "inline" and (last or since)
            else "could not be asked"
        )
    return _mark("unknown"), f'<span class="w">{said}</span>', last or since


def _stale(fact: Fact, clock: Clock, setting: str) -> Parts:
    if not fact.as_of:
        return _mark("stale"), _first_line(fact, clock, setting), "of an unknown moment"
    ago = draw_moment(fact.as_of, clock, "ago")
    full = f"as of {draw_moment(fact.as_of, clock, 'at')}, {ago}"
    second = _second_line(fact, clock, setting)
    note: str
    if setting == "inline" and not fact.brief:
        note = ago
    elif fact.brief or second:
        note = _join(second, f'<span class="vh">{full}</span>')
    else:
        note = full
    return _mark("stale"), _first_line(fact, clock, setting), note


def _floor(fact: Fact, clock: Clock, setting: str) -> Parts:
    words = f'<span class="f-least">at least</span> {_first_line(fact, clock, setting)}'
    return _mark(fact.mark), words, _second_line(fact, clock, setting)


def _denied(fact: Fact, clock: Clock, setting: str) -> Parts:
    del clock
    needs = f"needs the {safe_text(fact.text)} role"
    if setting == "inline":
        return _mark("lock"), needs, ""
    return _mark("lock"), '<span class="w">not shown</span>', needs


def _loading(fact: Fact, clock: Clock, setting: str) -> Parts:
    del fact, clock
    words = '<span class="bone" aria-hidden="true"></span><span class="vh">being read</span>'
    return "", words, '<span class="bone" aria-hidden="true"></span>' if setting == "cell" else ""


_PARTS: Final = {
    FactState.VALUE: _said,
    FactState.NONE: _said,
    FactState.UNSAID: _unsaid,
    FactState.UNKNOWN: _unknown,
    FactState.STALE: _stale,
    FactState.FLOOR: _floor,
    FactState.DENIED: _denied,
    FactState.LOADING: _loading,
}
