"""The interval of a difference, drawn around no difference."""

from __future__ import annotations

from collections.abc import Iterable

from bearinmind.bench.compare import Compared
from bearinmind.bench.inference import Difference
from bearinmind.bench.report.elements import Element, tag
from bearinmind.bench.report.figures import line
from bearinmind.bench.report.scales import Linear, nice_step

_WIDTH = 150
_HEIGHT = 18
_PAD = 6


def widest(rows: Iterable[Compared]) -> float:
    """How far the axis must reach on both sides to hold every interval."""
    edges = (abs(edge) for row in rows for edge in (row.difference.low, row.difference.high))
    return nice_step(max(edges), steps=1)


def difference_interval(found: Difference, reach: float) -> Element:
    """A difference and its interval; a line where there is none."""
    scale = Linear(-reach, reach, _PAD, _WIDTH - _PAD)
    middle = _HEIGHT / 2
    return tag(
        "svg",
        line(scale(0), 0, scale(0), _HEIGHT, "zero"),
        line(scale(found.low), middle, scale(found.high), middle, "interval"),
        tag("circle", cx=scale(found.mean), cy=middle, r=3, class_="dot"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        aria_hidden="true",
    )
