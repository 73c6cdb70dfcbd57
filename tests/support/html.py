"""Reading a page as a browser would: elements by id, their attributes and words."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import override

_VOID = frozenset({"input", "br", "img", "meta", "link", "col", "hr", "use", "path", "circle"})


@dataclass
class Element:
    """One element and the text inside it."""

    tag: str
    attributes: dict[str, str]
    parts: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Its text, white space folded."""
        return " ".join(" ".join(self.parts).split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[Element] = []
        self.all: list[Element] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag=tag, attributes={name: value or "" for name, value in attrs})
        self.all.append(element)
        if tag not in _VOID:
            self.open.append(element)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append(Element(tag=tag, attributes={name: value or "" for name, value in attrs}))

    @override
    def handle_endtag(self, tag: str) -> None:
        while self.open:
            if self.open.pop().tag == tag:
                return

    @override
    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.parts.append(data)


def elements(html: str) -> list[Element]:
    """Every element of a page, in order."""
    reader = _Reader()
    reader.feed(html)
    return reader.all


def fact(html: str, element: str) -> tuple[str, str]:
    """State and words of the fact with this id."""
    for each in elements(html):
        if each.attributes.get("id") == element and "data-fact" in each.attributes:
            return each.attributes["data-fact"], each.words
    message = f"no fact {element}"
    raise AssertionError(message)


def facts(html: str) -> dict[str, str]:
    """State by id of every fact that has one."""
    return {
        each.attributes["id"]: each.attributes["data-fact"]
        for each in elements(html)
        if "data-fact" in each.attributes and "id" in each.attributes
    }
