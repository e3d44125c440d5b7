"""HTML and SVG as trees: data can only ever be text or the value of an attribute."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files
from xml.etree import ElementTree as ET

Element = ET.Element
Child = Element | str | None
Attribute = str | float | bool | None

#: Characters that HTML cannot hold; data may.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
#: Their text is not escaped, so only the package's own files may be in them.
_RAW = ("script", "style")


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Element:
    """An element; `class_` is `class`, `aria_label` is `aria-label`, and None is left out."""
    if name in _RAW:
        raise ValueError(f"{name} is made by asset() alone")
    element = ET.Element(name)
    for key, value in attributes.items():
        if value is not None and value is not False:
            element.set(key.rstrip("_").replace("_", "-"), _attribute(value))
    return extend(element, children)


def extend(element: Element, children: Iterable[Child]) -> Element:
    """The element with more children."""
    for child in children:
        if isinstance(child, str):
            _add_text(element, clean(child))
        elif child is not None:
            element.append(child)
    return element


def number(value: float) -> str:
    """A number of a drawing: a hundredth of a pixel is all that can be seen."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def clean(text: str) -> str:
    """The text with a mark in the place of what cannot be shown."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def asset(name: str, file: str) -> Element:
    """A style or a script that ships with the package, inline."""
    element = ET.Element(name)
    element.text = asset_text(file)
    return element


def asset_text(file: str) -> str:
    """The text of a file that ships with the report."""
    return files("bearinmind.bench.report").joinpath(file).read_text(encoding="utf-8")


def policy(script: str) -> str:
    """A content security policy under which nothing is fetched and only this script runs."""
    digest = b64encode(sha256(asset_text(script).encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def document(root: Element) -> str:
    """The text of a page."""
    return "<!doctype html>\n" + ET.tostring(root, encoding="unicode", method="html")


def _attribute(value: str | float | bool) -> str:
    if isinstance(value, str):
        return clean(value)
    return "" if value is True else number(value)


def _add_text(element: Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
