"""HTML elements, scales and the parts of which drawings are made."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from xml.etree import ElementTree as ET

from bearinmind_bench.report.formats import shorten

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
            shown = clean(value) if isinstance(value, str) else number(value)
            element.set(key.rstrip("_").replace("_", "-"), "" if value is True else shown)
    return extend(element, children)


def extend(element: Element, children: Iterable[Child]) -> Element:
    """The element with more children."""
    for child in children:
        if isinstance(child, Element):
            element.append(child)
        elif child is not None and len(element):
            element[-1].tail = (element[-1].tail or "") + clean(child)
        elif child is not None:
            element.text = (element.text or "") + clean(child)
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
    return files("bearinmind_bench.report").joinpath(file).read_text(encoding="utf-8")


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


_LEAST = 1e-3  # a thousandth of a millisecond: no clock says less, and zero has no logarithm
_WIDE = 200.0  # ticks at 1, 2 and 5 up to this ratio, at the powers of ten beyond it


@dataclass(frozen=True, slots=True)
class Linear:
    """Equal steps are equally long."""

    low: float
    high: float
    begin: float  #: where `low` is drawn
    end: float

    def __call__(self, value: float) -> float:
        """Where a value is drawn."""
        span = self.high - self.low
        return self.begin + (value - self.low) / span * (self.end - self.begin)


@dataclass(frozen=True, slots=True)
class Logarithmic:
    """Equal ratios are equally long."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value is drawn."""
        share = math.log(max(value, _LEAST) / self.low) / math.log(self.high / self.low)
        return self.begin + share * (self.end - self.begin)


Scale = Linear | Logarithmic


def shares(steps: int = 5) -> list[float]:
    """Ticks from 0 to 1."""
    return [step / steps for step in range(steps + 1)]


def nice_step(greatest: float, steps: int = 5) -> float:
    """A round number; at most so many of them are needed to reach the greatest value."""
    if greatest <= 0:
        return 1 / steps
    rough = greatest / steps * (1 - 1e-9)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough)


def steps_to(greatest: float, steps: int = 5) -> list[float]:
    """Ticks from 0 by round steps; the last is no smaller than the greatest value."""
    step = nice_step(greatest, steps)
    needed = max(1, math.ceil(greatest / step * (1 - 1e-9)))
    return [step * place for place in range(needed + 1)]


def decades(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """The ends and the ticks of a logarithmic axis that holds all values."""
    low, high = max(min(values), _LEAST), max(*values, _LEAST)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    fine = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    begin = max(tick for tick in fine if tick <= low)
    end = min(tick for tick in fine if tick >= high and tick > begin)
    ladder = fine if end / begin <= _WIDE else [10.0**power for power in powers]
    return begin, end, [tick for tick in ladder if begin <= tick <= end]


WIDE = 960  #: pixels of a chart over the whole width of the page
HALF = 464


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The size of a chart, and the room around what is plotted."""

    width: float
    height: float
    left: float = 44
    right: float = 16
    top: float = 12
    bottom: float = 44

    @property
    def x_end(self) -> float:
        """The right edge of what is plotted."""
        return self.width - self.right

    @property
    def y_end(self) -> float:
        """The lower edge of what is plotted."""
        return self.height - self.bottom


def chart(
    name: str, frame: Frame, children: Iterable[Child], *, title: str, description: str
) -> Element:
    """A drawing with its title and description; the name is unique on the page."""
    return tag(
        "div",
        tag(
            "svg",
            tag("title", title, id=f"{name}-title"),
            tag("desc", description, id=f"{name}-desc"),
            *children,
            viewBox=f"0 0 {number(frame.width)} {number(frame.height)}",
            width=frame.width,
            height=frame.height,
            role="img",
            aria_labelledby=f"{name}-title",
            aria_describedby=f"{name}-desc",
        ),
        class_="chart",
        id=name,
    )


def text(x: float, y: float, content: str, **attributes: Attribute) -> Element:
    """A text at a place."""
    return tag("text", content, x=x, y=y, **attributes)


def label(x: float, y: float, content: str, limit: int, **attributes: Attribute) -> Element:
    """A text that fits; the whole of it is its tooltip."""
    shown = shorten(content, limit)
    whole = tag("title", content) if shown != content else None
    return tag("text", whole, shown, x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def x_axis(
    frame: Frame,
    scale: Scale,
    ticks: Sequence[float],
    tick_label: Callable[[float], str],
    caption: str = "",
) -> Element:
    """Vertical grid lines with their values below."""
    axis = tag("g", class_="axis")
    for tick in ticks:
        x = scale(tick)
        axis.append(line(x, frame.top, x, frame.y_end, "grid"))
        axis.append(text(x, frame.y_end + 16, tick_label(tick), class_="tick middle"))
    if caption:
        middle = (frame.left + frame.x_end) / 2
        axis.append(text(middle, frame.height - 6, caption, class_="caption middle"))
    return axis


def y_axis(
    frame: Frame,
    scale: Scale,
    ticks: Sequence[float],
    tick_label: Callable[[float], str],
    caption: str = "",
) -> Element:
    """Horizontal grid lines with their values on the left."""
    axis = tag("g", class_="axis")
    for tick in ticks:
        y = scale(tick)
        axis.append(line(frame.left, y, frame.x_end, y, "grid"))
        axis.append(text(frame.left - 8, y + 4, tick_label(tick), class_="tick end"))
    if caption:
        middle = (frame.top + frame.y_end) / 2
        turned = f"rotate(-90 12 {number(middle)})"
        axis.append(text(12, middle, caption, class_="caption middle", transform=turned))
    return axis


def path(points: Iterable[tuple[float, float]], class_: str) -> Element:
    """A line through points."""
    places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return tag("polyline", points=places, class_=class_)


def chooser(name: str, caption: str, panels: Sequence[tuple[str, Element]]) -> Element:
    """One of several panels at a time; works by style alone, with mouse and keyboard."""
    group = tag("div", class_="chooser", role="radiogroup", aria_label=caption)
    for place, (title, panel) in enumerate(panels):
        identity = f"{name}-{place}"
        group.append(tag("input", type="radio", name=name, id=identity, checked=place == 0))
        group.append(tag("label", title, for_=identity))
        group.append(tag("div", panel, class_="panel"))
    return group


def folded(summary: str, *children: Child) -> Element:
    """What is shown on demand."""
    return tag("details", tag("summary", summary), *children)


def table(
    head: Sequence[Child], rows: Iterable[Element], caption: str, *, heard_only: bool = False
) -> Element:
    """A table that can be scrolled when it is wide; the caption may be for screen readers alone."""
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption, class_="unseen" if heard_only else None),
            tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
            if head
            else None,
            tag("tbody", *rows),
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def section(identity: str, title: str, lead: str, *children: Child) -> Element:
    """A part of the page."""
    return tag(
        "section",
        tag("h2", title),
        tag("p", lead, class_="lead") if lead else None,
        *children,
        id=identity,
        aria_label=title,
    )
