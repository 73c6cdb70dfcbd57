"""Long tables drawn in one go: a page of 200 rows is 1,600 facts, too many template nodes."""

from django import template
from django.template import Context
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from fleet.pages.dom import Cell
from runtime import drawing
from runtime.templatetags.facts import clock_of

register = template.Library()


@register.simple_tag(takes_context=True)
def cells(context: Context, cells: tuple[Cell, ...]) -> SafeString:
    """The cells of one row, each with the label it has on a card."""
    clock = clock_of(context)
    parts = []
    for cell in cells:
        drawn = drawing.draw_fact(cell.fact, clock=clock, id=cell.id, setting=cell.setting)
        css = f' class="{cell.css}"' if cell.css else ""
        parts.append(f'<td{css} data-label="{escape(cell.label)}">{drawn}</td>')
    return mark_safe("".join(parts))
