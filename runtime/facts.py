"""A fact: one thing the screen says, in exactly one of eight states.

What must stay true: a page prints a store's word through a :class:`Fact` and the ``fact`` tag,
never as a bare string. "Could not ask" and "did not say" are states of their own, so neither can be
drawn as zero, as blank or as a missing row. This module knows no HTML: see ``runtime.drawing``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum


class FactState(StrEnum):
    """The eight states; the value is what stands in ``data-fact``."""

    VALUE = "value"
    """The store said so, within the fact's freshness budget."""
    NONE = "none"
    """The store said there is none."""
    UNSAID = "unsaid"
    """The store answered, but the publisher left this fact out of its report."""
    UNKNOWN = "unknown"
    """The store could not be asked."""
    STALE = "stale"
    """Known, but older than its budget."""
    FLOOR = "floor"
    """A count that is only a lower bound."""
    DENIED = "denied"
    """The reader's role may not see it."""
    LOADING = "loading"
    """The first read is not back yet; never used for a re-read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact as the page will draw it.

    The first line is ``text``, then ``moment`` in its ``form``, then ``after`` in a smaller size
    ("23" "of 25"). The second line is ``note``, then ``note_moment`` in its ``note_form``.

    Args:
        state: which of the eight states.
        text: the fact itself; untrusted, escaped and isolated when drawn.
        note: its evidence (when, by whom, of what); the second line.
        mark: name of the symbol before the text ("ok", "warn", "paused"); never without a word.
        tone: ink of the first line: "", "ok", "warn", "critical", "accent", "quiet".
        mono: an id, handle, hash, revision or path.
        link: where the text leads; a same-origin path.
        exact: the exact form of a shortened number.
        moment: an instant belonging to the first line (aware, UTC).
        form: how ``moment`` reads: "ago", "span", "in", "at", "full".
        since: for unknown, when the store fell silent; ``None`` when that was never measured.
        as_of: when this value, or for unknown the ``last`` one, was true.
        last: for unknown, the last answer ("5", "23 of 25"), or "" when there never was one.
        brief: for stale, the page says above what moment the mark stands for, so the cell says it
            to screen readers alone.
    """

    state: FactState
    text: str = ""
    note: str = ""
    mark: str = ""
    tone: str = ""
    mono: bool = False
    link: str = ""
    exact: str = ""
    after: str = ""
    moment: datetime | None = None
    form: str = "ago"
    note_moment: datetime | None = None
    note_form: str = "at"
    since: datetime | None = None
    as_of: datetime | None = None
    last: str = ""
    brief: bool = False

    def turned_stale(self, as_of: datetime) -> "Fact":
        """The same fact past its budget; what was unsaid, unknown or denied stays what it was.

        The page says once, above, what moment the mark stands for.
        """
        if self.state in {FactState.VALUE, FactState.NONE, FactState.FLOOR}:
            text = f"at least {self.text}" if self.state is FactState.FLOOR else self.text
            return replace(
                self, state=FactState.STALE, text=text, as_of=as_of, mark="", tone="", brief=True
            )
        return self

    def turned_unknown(
        self, since: datetime | None, as_of: datetime | None, *, text: str = ""
    ) -> "Fact":
        """The same fact when the store cannot be asked, its last answer kept and labelled.

        Args:
            since: when the store fell silent.
            as_of: when the last answer was true.
            text: what the reader may rely on meanwhile ("held for now"); default "could not be
                asked".

        Returns:
            An unknown fact; what was unsaid or denied stays so, for nobody's silence changed that.
        """
        if self.state in {FactState.UNSAID, FactState.DENIED, FactState.UNKNOWN}:
            return self
        last = " ".join(part for part in (self.text, self.after) if part).rstrip(",")
        if self.state is FactState.FLOOR:
            last = f"at least {last}"
        turned = unknown(since, last=last, as_of=as_of, text=text, mono=self.mono, link=self.link)
        if not last and self.moment:
            # A fact that is an instant and nothing else: its last answer is that instant.
            return replace(turned, note="last known", note_moment=self.moment)
        return turned


def value(
    text: str,
    note: str = "",
    *,
    mark: str = "",
    tone: str = "",
    mono: bool = False,
    link: str = "",
    exact: str = "",
    after: str = "",
    moment: datetime | None = None,
    form: str = "ago",
    note_moment: datetime | None = None,
    note_form: str = "at",
    as_of: datetime | None = None,
) -> Fact:
    """What the store said, in time. The arguments are those of :class:`Fact`."""
    return Fact(
        state=FactState.VALUE,
        text=text,
        note=note,
        mark=mark,
        tone=tone,
        mono=mono,
        link=link,
        exact=exact,
        after=after,
        moment=moment,
        form=form,
        note_moment=note_moment,
        note_form=note_form,
        as_of=as_of,
    )


def number(count: int, note: str = "", *, after: str = "", link: str = "") -> Fact:
    """A counted number, shortened above 9,999 with its exact form kept; 0 is a value."""
    short = short_count(count)
    exact = f"{count:,}"
    return value(short, note, after=after, link=link, exact="" if short == exact else exact)


def none(text: str = "none", note: str = "", *, mark: str = "", link: str = "") -> Fact:
    """The store said there is none; ``text`` is the word for it ("none", "not paused")."""
    return Fact(state=FactState.NONE, text=text, note=note, mark=mark, link=link)


def unsaid(note: str = "") -> Fact:
    """The publisher left it out of its report. ``note`` replaces "did not say"."""
    return Fact(state=FactState.UNSAID, note=note)


def unknown(
    since: datetime | None,
    *,
    last: str = "",
    as_of: datetime | None = None,
    text: str = "",
    note: str = "",
    mono: bool = False,
    link: str = "",
) -> Fact:
    """The store could not be asked.

    Args:
        since: when it fell silent.
        last: the last answer, drawn under the fact and labelled; "" when there never was one.
        as_of: when that last answer was true.
        text: what may be relied on meanwhile ("held for now"), else "could not be asked".
        note: replaces the line with the last answer.
        mono: the text is an id.
        link: where the text leads.
    """
    return Fact(
        state=FactState.UNKNOWN,
        since=since,
        last=last,
        as_of=as_of,
        text=text,
        note=note,
        mono=mono,
        link=link,
    )


def stale(
    text: str,
    as_of: datetime,
    note: str = "",
    *,
    mono: bool = False,
    link: str = "",
    after: str = "",
    moment: datetime | None = None,
    form: str = "ago",
) -> Fact:
    """A value older than its budget. Without a note the second line says as of when."""
    return Fact(
        state=FactState.STALE,
        text=text,
        note=note,
        as_of=as_of,
        mono=mono,
        link=link,
        after=after,
        moment=moment,
        form=form,
    )


def floor(count: int | str, note: str, *, after: str = "", link: str = "") -> Fact:
    """A lower bound; ``note`` says why it is one ("1 node did not say")."""
    text = short_count(count) if isinstance(count, int) else count
    return Fact(state=FactState.FLOOR, text=text, note=note, after=after, link=link)


def denied(role: str) -> Fact:
    """The reader may not see it; ``role`` is the one that may."""
    return Fact(state=FactState.DENIED, text=role)


def loading() -> Fact:
    """The first read is not back yet."""
    return Fact(state=FactState.LOADING)


def total(parts: Iterable[int | None], *, noun: str = "node", note: str = "") -> Fact:
    """A sum that inherits its worst input: a part that is ``None`` was not said.

    Args:
        parts: one count for each input; ``None`` where the input did not say.
        noun: what an input is, singular.
        note: the second line when every input spoke.
    """
    counts = list(parts)
    known = [part for part in counts if part is not None]
    silent = len(counts) - len(known)
    if not silent:
        return number(sum(known), note)
    return floor(sum(known), f"{silent} {noun}{'' if silent == 1 else 's'} did not say")


def short_count(count: int) -> str:
    """Three digits and a unit above 9,999 ("412K", "1.02M"); exact with separators below."""
    if abs(count) < 10_000:
        return f"{count:,}"
    size = float(count)
    for unit in ("", "K", "M", "G", "T"):
        if abs(size) < 999.5 or unit == "T":
            break
        size /= 1000
    digits = 0 if abs(size) >= 99.95 else 1 if abs(size) >= 9.995 else 2
    return f"{size:.{digits}f}{unit}"
