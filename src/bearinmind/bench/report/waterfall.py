"""Gains and losses of single queries, from the greatest gain to the greatest loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from bearinmind.bench.report.elements import Child, Element, number, tag
from bearinmind.bench.report.figures import WIDE, Frame, chart, line, text, y_axis
from bearinmind.bench.report.runs import Run, badge
from bearinmind.bench.report.scales import Linear, nice_step
from bearinmind.bench.report.wording import MINUS, count, metric_name, percent, plural

_ROOM_FOR_WORDS = 120  # pixels; a narrower part is told in the line above


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDifference:
    """One query under two runs."""

    query_id: str
    stratum: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """How much the second run is ahead."""
        return self.after - self.before


def balance(reference: Run, run: Run, found: Sequence[QueryDifference]) -> Element:
    """Wins, losses and ties in words."""
    wins, losses = _wins(found), _losses(found)
    ties = len(found) - wins - losses
    return tag(
        "p",
        badge(run),
        f" is ahead on {plural(wins, 'query', 'queries')}, ",
        badge(reference),
        f" on {count(losses)}; {count(ties)} are tied.",
        class_="meaning",
    )


def waterfall(
    name: str, reference: Run, run: Run, metric: str, found: Sequence[QueryDifference]
) -> Element:
    """The sorted differences as a drawing; the area of a colour is what that run is ahead by."""
    frame = Frame(width=WIDE, height=250, left=60, right=8, top=12, bottom=26)
    ticks = _ticks([item.change for item in found])
    down = Linear(ticks[-1], ticks[0], frame.top, frame.y_end)
    along = Linear(0, max(len(found), 1), frame.left, frame.x_end)
    wins, losses = _wins(found), _losses(found)
    return chart(
        name,
        frame,
        [
            y_axis(frame, down, ticks, _tick),
            _area(found[:wins], 0, along, down, f"area {run.style}"),
            _area(
                found[len(found) - losses :],
                len(found) - losses,
                along,
                down,
                f"area {reference.style}",
            ),
            line(frame.left, down(0), frame.x_end, down(0), "zero"),
            *_words(run, reference, (wins, losses, len(found)), along, frame),
        ],
        title=f"{metric_name(metric)}: differences of single queries, {run.letter} against "
        f"{reference.letter}",
        description=f"{run.letter} is ahead on {wins} of {len(found)} queries and behind on "
        f"{losses}.",
    )


def _ticks(changes: Sequence[float]) -> list[float]:
    """Round steps that hold every change, and at least one on both sides of none."""
    step = nice_step(max(map(abs, changes), default=0), steps=4)
    below = max(1, math.ceil(-min(changes, default=0) / step - 1e-9))
    above = max(1, math.ceil(max(changes, default=0) / step - 1e-9))
    return [step * place for place in range(-below, above + 1)]


def _wins(found: Sequence[QueryDifference]) -> int:
    return sum(item.change > 0 for item in found)


def _losses(found: Sequence[QueryDifference]) -> int:
    return sum(item.change < 0 for item in found)


def _tick(tick: float) -> str:
    return "0" if tick == 0 else f"{tick:+g}".replace("-", MINUS)


def _area(
    items: Sequence[QueryDifference], first: int, along: Linear, down: Linear, class_: str
) -> Element | None:
    """Steps from query to query; equal ones are one step, which keeps the page small."""
    if not items:
        return None
    steps = [f"M{number(along(first))} {number(down(0))}"]
    place = first
    for change, equal in groupby(item.change for item in items):
        place += len([*equal])
        steps.append(f"V{number(down(change))}H{number(along(place))}")
    return tag("path", d=f"{''.join(steps)}V{number(down(0))}Z", class_=class_)


def _words(
    run: Run, reference: Run, counts: tuple[int, int, int], along: Linear, frame: Frame
) -> Iterator[Child]:
    wins, losses, total = counts
    parts = (
        (0, wins, f"{run.letter} ahead"),
        (wins, total - losses, "tied"),
        (total - losses, total, f"{reference.letter} ahead"),
    )
    for begin, end, what in parts:
        left, right = along(begin), along(end)
        if right - left >= _ROOM_FOR_WORDS:
            said = f"{what}: {count(end - begin)} ({percent((end - begin) / total)})"
            yield text((left + right) / 2, frame.height - 8, said, class_="tick middle")
