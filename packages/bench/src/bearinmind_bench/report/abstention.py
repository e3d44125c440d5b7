"""Whether a floor for confidence tells unanswerable queries from the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bearinmind_bench.report.charts import (
    HALF,
    Child,
    Element,
    Frame,
    Linear,
    chart,
    folded,
    line,
    path,
    section,
    shares,
    table,
    tag,
    text,
    x_axis,
    y_axis,
)
from bearinmind_bench.report.formats import count, percent, share_tick, value
from bearinmind_bench.report.runs import Material, Run, badge, chip, legend
from bearinmind_bench.results import Abstention, Verdicts
from bearinmind_bench.summary import OVERALL

_APART = (34, 15)  # pixels between two labels of floors, across and down
_LINES = (("abstained", "rightly silent"), ("silenced", "wrongly silent"), ("recall", "recall@10"))


def abstention_section(material: Material) -> Element | None:
    """What floors for confidence would do; nothing when every query has an answer."""
    abstentions = [(run, run.result.unanswerable) for run in material.runs]
    known = [(run, abstention) for run, abstention in abstentions if abstention is not None]
    if not known:
        return None
    curved = [(run, abstention) for run, abstention in known if abstention.curve]
    return section(
        "abstention",
        "Unanswerable queries",
        _lead(curved),
        _summary(known),
        *(_strata(run, run.result.verdicts) for run, _ in known if run.result.verdicts),
        legend([run for run, _ in curved]) if curved else None,
        tag("div", _curve(curved), *(_floors(*each) for each in curved), class_="grid-2")
        if curved
        else None,
        folded(
            "Every floor as a table",
            tag("div", *(_table(*each) for each in curved), class_="pair"),
        )
        if curved
        else None,
    )


def _summary(known: Sequence[tuple[Run, Abstention]]) -> Element:
    rows = (
        tag(
            "tr",
            tag("th", chip(run), scope="row"),
            tag("td", count(abstention.queries)),
            tag("td", percent(abstention.answered_now)),
            tag("td", value(abstention.area), class_="value")
            if abstention.area is not None
            else tag("td", "does not say how sure it is", class_="quiet"),
        )
        for run, abstention in known
    )
    head = ["run", "unanswerable queries", "verdict not nothing", "area"]
    return table(head, rows, "Unanswerable queries", heard_only=True)


def _strata(run: Run, verdicts: Verdicts) -> Element:
    """By stratum without an answer: how often the verdict is `nothing`, and how well it tells."""
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            tag("td", percent(share)),
            tag("td", value(verdicts.areas[name]) if name in verdicts.areas else ""),
        )
        for name, share in verdicts.nothing.items()
    ]
    kept = verdicts.kept.get(OVERALL)
    caption = f"Verdicts of {run.name}: calibration error {value(verdicts.calibration_error)}"
    if kept is not None:
        caption += f", {percent(kept)} of relevant memories among the first ten kept"
    return table(["without an answer", "nothing", "area"], rows, caption)


def _lead(curved: Sequence[tuple[Run, Abstention]]) -> str:
    area = (
        "The area is the chance that an answerable query has a surer answer than an unanswerable "
        "one; 0.5 is guessing."
    )
    if not curved:
        return f"Unanswerable queries should get nothing. {area}"
    whose = f" of {curved[0][0].letter}" if len(curved) > 1 else ""
    return (
        "Unanswerable queries should get nothing. A floor for confidence silences them, and some "
        f"answerable ones with them: the curve shows both, and the numbers along it are the floors"
        f"{whose}. {area}"
    )


def _square() -> tuple[Frame, Linear, Linear]:
    frame = Frame(width=HALF, height=350, left=66, right=24, top=14)
    return (
        frame,
        Linear(0, 1, frame.left, frame.x_end),
        Linear(0, 1, frame.y_end, frame.top),
    )


def _curve(curved: Sequence[tuple[Run, Abstention]]) -> Element:
    frame, along, up = _square()
    curves = (
        child
        for place, (run, abstention) in reversed([*enumerate(curved)])
        for child in _one_curve(run, abstention, (along, up), labelled=place == 0)
    )
    return chart(
        "abstention-curve",
        frame,
        [
            x_axis(frame, along, shares(), percent, "answerable queries silenced, wrongly"),
            y_axis(frame, up, shares(), percent, "unanswerable queries silenced, rightly"),
            line(along(0), up(0), along(1), up(1), "mark"),
            *curves,
        ],
        title="What floors for confidence silence",
        description="; ".join(
            f"{run.letter}: area {value(abstention.area)}" for run, abstention in curved
        ),
    )


def _one_curve(
    run: Run, abstention: Abstention, scales: tuple[Linear, Linear], *, labelled: bool
) -> Iterator[Child]:
    along, up = scales
    places = [(along(point.silenced), up(point.abstained)) for point in abstention.curve]
    yield path(places, f"curve {run.style}")
    for point, (x, y) in zip(abstention.curve, places, strict=True):
        tip = (
            f"{run.name}, floor {point.floor:g}: {percent(point.abstained)} rightly silent, "
            f"{percent(point.silenced)} wrongly silent"
        )
        yield tag("circle", tag("title", tip), cx=x, cy=y, r=3, class_=f"dot {run.style}")
    if labelled:
        yield from _floor_labels(abstention, places, scales)


def _floor_labels(
    abstention: Abstention, places: Sequence[tuple[float, float]], scales: tuple[Linear, Linear]
) -> Iterator[Element]:
    """As many floors as there is room for."""
    along, up = scales
    taken: list[tuple[float, float]] = []
    for point, (x, y) in zip(abstention.curve, places, strict=True):
        spot = (min(x + 7, along.end - 4), min(y + 14, up.begin - 5))
        if not any(_collide(spot, other) for other in taken):
            taken.append(spot)
            yield text(*spot, f"{point.floor:g}", class_="tick")


def _collide(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return abs(one[0] - other[0]) < _APART[0] and abs(one[1] - other[1]) < _APART[1]


def _floors(run: Run, abstention: Abstention) -> Element:
    """What each floor does in one run."""
    frame, along, up = _square()
    lines = (
        path(
            ((along(point.floor), up(getattr(point, what))) for point in abstention.curve),
            f"curve {run.style} {what}",
        )
        for what, _ in _LINES
    )
    names = ", ".join(words for _, words in _LINES)
    return tag(
        "figure",
        chart(
            f"floors-{run.letter}",
            frame,
            [
                x_axis(frame, along, shares(), share_tick, "floor for confidence"),
                y_axis(frame, up, shares(), percent),
                *lines,
            ],
            title=f"What each floor does in {run.name}",
            description=f"Lines by floor: {names}.",
        ),
        tag("figcaption", badge(run), *(_key(run, what, words) for what, words in _LINES)),
    )


def _key(run: Run, what: str, words: str) -> Element:
    """A piece of a line and what it means."""
    sample = tag(
        "svg",
        line(0, 6, 26, 6, f"curve {run.style} {what}"),
        viewBox="0 0 26 12",
        width=26,
        height=12,
        aria_hidden="true",
    )
    return tag("span", sample, f" {words}", class_="key-item")


def _table(run: Run, abstention: Abstention) -> Element:
    rows = (
        tag(
            "tr",
            tag("th", f"{point.floor:g}", scope="row"),
            tag("td", percent(point.abstained)),
            tag("td", percent(point.silenced)),
            tag("td", value(point.recall)),
        )
        for point in abstention.curve
    )
    head = ["floor", "rightly silent", "wrongly silent", "recall@10"]
    return table(head, rows, f"Floors in {run.name}")
