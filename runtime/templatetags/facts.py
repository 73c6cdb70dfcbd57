"""Template tags of the look: facts, moments, status words, counts, symbols.

``{% load facts %}`` then ``{% fact f id="seat-ada-state" as="cell" %}``. Times are read in
``frame.clock`` (or ``clock``) of the context, and in UTC where neither stands there.
"""

from datetime import UTC, datetime

from django import template
from django.template import Context
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from runtime import drawing, toasts, wording
from runtime.facts import Fact, short_count
from runtime.frame import Frame
from runtime.moments import Clock

register = template.Library()


def clock_of(context: Context) -> Clock:
    """The clock the page is read in."""
    clock = context.get("clock")
    if isinstance(clock, Clock):
        return clock
    frame = context.get("frame")
    if isinstance(frame, Frame):
        return frame.clock
    return Clock(now=datetime.now(UTC))


@register.simple_tag(takes_context=True)
def fact(context: Context, fact: Fact, id: str = "", **options: str) -> SafeString:
    """One fact. Options: ``id``, and ``as`` one of cell (default), inline, figure."""
    setting = options.pop("as", "cell")
    if options:
        message = f"a fact takes id and as, not {', '.join(sorted(options))}"
        raise template.TemplateSyntaxError(message)
    return drawing.draw_fact(fact, clock=clock_of(context), id=id, setting=setting)


@register.simple_tag(takes_context=True)
def moment(context: Context, at: datetime, form: str = "ago") -> SafeString:
    """A moment: ago (default), span, in, at, full."""
    return drawing.draw_moment(at, clock_of(context), form)


@register.simple_tag
def status(mark: str, word: str = "", tone: str = "") -> SafeString:
    """A status word with its shape; the word defaults to the mark's own name."""
    return drawing.draw_status(mark, word or mark, tone)


@register.simple_tag
def symbol(name: str) -> SafeString:
    """A shape alone; the word beside it is the template's."""
    return drawing.draw_symbol(name)


@register.simple_tag
def count(number: int) -> SafeString:
    """A counted number in its short form, exact in the title."""
    return mark_safe(f'<span class="n" title="{number:,}">{short_count(number)}</span>')


@register.filter
def visible(text: object) -> str:
    """Untrusted text with its control characters shown; escaping follows as usual."""
    return drawing.visible(str(text))


@register.filter
def isolate(text: object) -> SafeString:
    """Untrusted text shown, escaped and kept from turning its neighbours' direction."""
    return mark_safe(f"<bdi>{drawing.safe_text(str(text))}</bdi>")


register.filter("undo_of", toasts.undo_of)


@register.simple_tag
def meanwhile(topics: str) -> tuple[wording.Direction, ...]:
    """The safe directions of these topics (space separated), from the one table."""
    return wording.directions(*topics.split())


@register.simple_tag(takes_context=True)
def keep_query(context: Context, *drop: str) -> SafeString:
    """Hidden inputs that carry the page's query through a GET form, but for the names given."""
    request = context.get("request")
    if request is None:
        return SafeString("")
    pairs = (
        (name, value)
        for name, values in request.GET.lists()
        if name not in drop
        for value in values
    )
    return mark_safe(
        "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in pairs
        )
    )
