"""What every chart has: a frame, axes, a title and a description for those who do not see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bearinmind.bench.report.elements import Attribute, Child, Element, number, tag
from bearinmind.bench.report.runs import Run, chip
from bearinmind.bench.report.scales import Scale
from bearinmind.bench.report.wording import shorten

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


def legend(runs: Sequence[Run]) -> Element | None:
    """Which colour is which run; nothing when there is only one."""
    if len(runs) == 1:
        return None
    return tag("p", *(chip(run) for run in runs), class_="legend")


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
