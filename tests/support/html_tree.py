"""Reads a page the way a browser does, into a tree that tests can ask."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree.ElementTree import Element

_VOID = {"meta", "input", "wbr", "br", "link", "img", "hr"}


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        parent = self.open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + data
        else:
            parent.text = (parent.text or "") + data


def parsed(html: str) -> Element:
    """The tree of a page; every element in it is closed by its own end tag."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert len(builder.open) == 1, f"{builder.open[-1].tag} is never closed"
    return builder.open[0]


def text_of(element: Element) -> str:
    """What can be read in an element, with single spaces."""
    return " ".join("".join(element.itertext()).split())


def with_class(element: Element, name: str, tag: str | None = None) -> list[Element]:
    """The elements below that have a class."""
    return [e for e in element.iter(tag) if name in e.get("class", "").split()]


def by_id(element: Element, identity: str) -> Element:
    """The one element below that has an id."""
    (found,) = (e for e in element.iter() if e.get("id") == identity)
    return found


def has_id(element: Element, identity: str) -> bool:
    """Whether an element below has an id."""
    return any(e.get("id") == identity for e in element.iter())


def attributes(element: Element) -> Iterator[tuple[str, str]]:
    """Every attribute of every element below."""
    for each in element.iter():
        yield from each.items()
