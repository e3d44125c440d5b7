"""How long a recall takes, how fast the corpus was taken in and what it takes up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bearinmind.bench.report.elements import Child, Element, tag
from bearinmind.bench.report.figures import (
    WIDE,
    Frame,
    chart,
    legend,
    line,
    path,
    section,
    table,
    text,
    x_axis,
    y_axis,
)
from bearinmind.bench.report.runs import Material, Run, badge
from bearinmind.bench.report.scales import Linear, Logarithmic, decades
from bearinmind.bench.report.wording import count, milliseconds, percent, seconds, size
from bearinmind.bench.results import Result

_POINTS = 200  # of a curve
_MARKED = (0.5, 0.95)

Facts = Sequence[tuple[str, Callable[[Result], str]]]
_TIMES: Facts = (
    ("p50", lambda r: milliseconds(r.latency.p50)),
    ("p90", lambda r: milliseconds(r.latency.p90)),
    ("p95", lambda r: milliseconds(r.latency.p95)),
    ("p99", lambda r: milliseconds(r.latency.p99)),
    ("slowest", lambda r: milliseconds(r.latency.max)),
    ("mean", lambda r: milliseconds(r.latency.mean)),
)
_SIZES: Facts = (
    ("taking in the corpus", lambda r: seconds(r.ingest.seconds)),
    ("memories per second", lambda r: count(r.ingest.memories_per_second)),
    ("memories", lambda r: count(r.sizes.memories)),
    ("merged: said the same as another", lambda r: count(r.ingest.merged)),
    ("refused", lambda r: count(r.ingest.refused)),
    ("users", lambda r: count(r.sizes.users)),
    ("content", lambda r: size(r.sizes.content_bytes)),
    ("store", lambda r: size(r.sizes.store_bytes)),
    ("peak memory of the process", lambda r: size(r.sizes.peak_memory_bytes)),
)


def speed_section(material: Material) -> Element:
    """The latency curve and everything that has a size."""
    return section(
        "speed",
        "Speed and size",
        "The share of recalls that took no longer than this; the axis is logarithmic. Dots mark "
        "p50 and p95.",
        legend(material.runs),
        _curves(material.runs),
        tag(
            "div",
            _table(material.runs, _TIMES, "Time of one recall"),
            _table(material.runs, _SIZES, "Corpus and store"),
            class_="pair",
        ),
    )


def _table(runs: Sequence[Run], facts: Facts, caption: str) -> Element:
    head: list[Child] = ["", *(badge(run) for run in runs)]
    rows = (
        tag("tr", tag("th", name, scope="row"), *(tag("td", fact(run.result)) for run in runs))
        for name, fact in facts
    )
    return table(head, rows, caption)


def _times(run: Run) -> list[float]:
    return sorted(row.milliseconds for row in run.result.rows)


def _curves(runs: Sequence[Run]) -> Element | None:
    times = [_times(run) for run in runs]
    every = [time for each in times for time in each]
    if not every:
        return None
    frame = Frame(width=WIDE, height=300, left=52, right=20)
    begin, end, ticks = decades(every)
    along = Logarithmic(begin, end, frame.left, frame.x_end)
    up = Linear(0, 1, frame.y_end, frame.top)
    described = (
        f"{run.letter}: p50 {milliseconds(run.result.latency.p50)}, "
        f"p95 {milliseconds(run.result.latency.p95)}"
        for run in runs
    )
    return chart(
        "latency",
        frame,
        [
            x_axis(frame, along, ticks, _tick, "milliseconds of one recall"),
            y_axis(frame, up, [0, 0.25, 0.5, 0.75, 1], percent),
            *_marked_lines(frame, up),
            *(
                path(_steps(each, along, up), f"curve {run.style}")
                for run, each in zip(runs, times, strict=True)
            ),
            *(mark for run in runs for mark in _marks(run, along, up)),
        ],
        title="How long a recall takes",
        description="; ".join(described),
    )


def _tick(tick: float) -> str:
    return f"{tick:g}"


def _marked_lines(frame: Frame, up: Linear) -> Iterator[Element]:
    for share in _MARKED:
        y = up(share)
        yield line(frame.left, y, frame.x_end, y, "mark")
        yield text(frame.left + 6, y - 5, f"p{share * 100:.0f}", class_="tick")


def _steps(times: Sequence[float], along: Logarithmic, up: Linear) -> Iterator[tuple[float, float]]:
    """The share of recalls that are done by a time, at no more than so many times."""
    stride = max(1, len(times) // _POINTS)
    chosen = sorted({*range(0, len(times), stride), len(times) - 1})
    yield along(times[0]), up(0)
    for place in chosen:
        yield along(times[place]), up((place + 1) / len(times))


def _marks(run: Run, along: Logarithmic, up: Linear) -> Iterator[Element]:
    latency = run.result.latency
    for share, time in zip(_MARKED, (latency.p50, latency.p95), strict=True):
        yield tag(
            "circle",
            tag("title", f"{run.name}: p{share * 100:.0f} {milliseconds(time)}"),
            cx=along(time),
            cy=up(share),
            r=4.5,
            class_=f"dot {run.style}",
        )
