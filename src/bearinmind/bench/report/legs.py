"""Which leg found what, and where relevant memories ended up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bearinmind.bench.report.elements import Child, Element, tag
from bearinmind.bench.report.figures import (
    WIDE,
    Frame,
    chart,
    folded,
    legend,
    section,
    table,
    text,
    y_axis,
)
from bearinmind.bench.report.runs import Material, Run, badge
from bearinmind.bench.report.scales import Linear, steps_to
from bearinmind.bench.report.wording import NONE, count, milliseconds, percent, shorten
from bearinmind.bench.results import Contribution, QueryRow

_BANDS = ((1, "1"), (5, "2 to 5"), (10, "6 to 10"), (20, "11 to 20"))
_DEEPER = "deeper"
_NOT_FOUND = "not found"
BANDS = (*(name for _, name in _BANDS), _DEEPER, _NOT_FOUND)
_ALONE = (
    "Found alone: no other leg found it. The graph leg goes on from what the others found; "
    "that it found the same does not count against them."
)
_BAR_WIDTH = 110
_ROOM_FOR_FIGURE = 24  # pixels of "12%" and a little air
_HUNDREDTH = 0.01


def legs_section(material: Material) -> Element:
    """Where relevant memories were placed, and by whom they were found."""
    return section(
        "legs",
        "Ranks and legs",
        "Every relevant memory of every query, by the rank at which it was given back. Deeper: a "
        "leg proposed it, and it did not come among the memories asked for. Not found: no leg "
        "proposed it.",
        legend(material.runs),
        _histogram(material.runs),
        folded("The same as a table", _rank_table(material.runs)),
        tag("h3", "Which leg found what"),
        _leg_table(material.runs),
        tag("p", _ALONE, class_="meaning") if "graph" in _legs(material.runs) else None,
    )


def bands(rows: Sequence[QueryRow]) -> dict[str, int]:
    """How many relevant memories ended up in each band of ranks."""
    found = dict.fromkeys(BANDS, 0)
    for row in rows:
        ranks = {id_: rank for rank, id_ in enumerate(row.ranked, start=1)}
        proposed = {id_ for leg in row.legs.values() for id_ in leg}
        for id_, grade in row.grades.items():
            if grade > 0:
                found[_band(ranks.get(id_), proposed=id_ in proposed)] += 1
    return found


def _band(rank: int | None, *, proposed: bool) -> str:
    if rank is not None:
        return next((name for last, name in _BANDS if rank <= last), _DEEPER)
    return _DEEPER if proposed else _NOT_FOUND


def _histogram(runs: Sequence[Run]) -> Element:
    frame = Frame(width=WIDE, height=270, left=52, right=8, top=22, bottom=44)
    found = [bands(run.result.rows) for run in runs]
    shares = [_shares(each) for each in found]
    ticks = steps_to(max(share for each in shares for share in each.values()))
    up = Linear(0, ticks[-1], frame.y_end, frame.top)
    columns = (
        column
        for place, band in enumerate(BANDS)
        for column in _columns(runs, shares, band, place, (up, frame))
    )
    names = (
        text(_centre(frame, place), frame.y_end + 16, band, class_="name middle")
        for place, band in enumerate(BANDS)
    )
    caption = text(
        (frame.left + frame.x_end) / 2, frame.height - 6, "rank", class_="caption middle"
    )
    described = (
        f"{run.letter}: " + ", ".join(f"{band} {percent(each[band])}" for band in BANDS)
        for run, each in zip(runs, shares, strict=True)
    )
    return chart(
        "ranks",
        frame,
        [y_axis(frame, up, ticks, percent), *columns, *names, caption],
        title="Ranks of relevant memories",
        description="; ".join(described),
    )


def _shares(found: dict[str, int]) -> dict[str, float]:
    total = sum(found.values()) or 1
    return {band: number / total for band, number in found.items()}


def _centre(frame: Frame, place: int) -> float:
    return frame.left + (place + 0.5) * (frame.x_end - frame.left) / len(BANDS)


def _columns(
    runs: Sequence[Run],
    shares: Sequence[dict[str, float]],
    band: str,
    place: int,
    within: tuple[Linear, Frame],
) -> Iterator[Element]:
    up, frame = within
    room = (frame.x_end - frame.left) / len(BANDS) * 0.78
    thick = min(room / len(runs), 60.0)
    begin = _centre(frame, place) - thick * len(runs) / 2
    for number, (run, each) in enumerate(zip(runs, shares, strict=True)):
        x = begin + number * thick
        top = up(each[band])
        yield tag(
            "g",
            tag("title", f"{run.name}, rank {band}: {percent(each[band])}"),
            tag(
                "rect",
                x=x + 1,
                y=top,
                width=thick - 2,
                height=up(0) - top,
                class_=f"bar {run.style}",
            ),
            text(x + thick / 2, top - 5, _whole(each[band]), class_="figure middle small")
            if thick >= _ROOM_FOR_FIGURE
            else None,
        )


def _whole(share: float) -> str:
    """A share without decimals: there is no room for them."""
    return "<1%" if 0 < share < _HUNDREDTH else f"{share:.0%}"


def _rank_table(runs: Sequence[Run]) -> Element:
    rows = []
    for run in runs:
        found = bands(run.result.rows)
        cells = (tag("td", count(found[band])) for band in BANDS)
        rows.append(tag("tr", tag("th", badge(run), scope="row"), *cells))
    return table(["run", *BANDS], rows, "Relevant memories by rank")


def _leg_table(runs: Sequence[Run]) -> Element:
    head: list[Child] = [
        "leg",
        "run",
        "found",
        "found alone",
        "reached the first ten",
        "time (p50)",
    ]
    silent = [run for run in runs if not run.result.legs]
    rows = [row for leg in _legs(runs) for run in runs for row in _leg_rows(leg, run)]
    if not rows:
        return tag("p", "No run says which leg found what.", class_="meaning")
    note = None
    if silent:
        names = (child for run in silent for child in (badge(run), " "))
        note = tag(
            "p",
            *names,
            "does not say which leg found what: what it did not give back counts as not found.",
            class_="meaning",
        )
    return tag("div", table(head, rows, "Contribution of each leg", heard_only=True), note)


def _legs(runs: Sequence[Run]) -> list[str]:
    return [*dict.fromkeys(leg for run in runs for leg in run.result.legs)]


def _leg_rows(leg: str, run: Run) -> Iterator[Element]:
    brought = run.result.legs.get(leg)
    if brought is not None:
        yield _leg_row(leg, run, brought)


def _leg_row(leg: str, run: Run, brought: Contribution) -> Element:
    total = sum(bands(run.result.rows).values())
    cells = (
        _amount(number, total, run) for number in (brought.found, brought.alone, brought.first_ten)
    )
    return tag(
        "tr",
        tag("th", shorten(leg, 24), scope="row", title=leg),
        tag("td", badge(run)),
        *cells,
        tag("td", milliseconds(brought.milliseconds_p50) if brought.milliseconds_p50 else NONE),
    )


def _amount(number: int, total: int, run: Run) -> Element:
    """A number with a bar: the share of all relevant memories."""
    share = number / total if total else 0
    bar = tag(
        "svg",
        tag("rect", x=0, y=0, width=_BAR_WIDTH, height=8, class_="track"),
        tag("rect", x=0, y=0, width=_BAR_WIDTH * share, height=8, class_=f"bar {run.style}"),
        viewBox=f"0 0 {_BAR_WIDTH} 8",
        width=_BAR_WIDTH,
        height=8,
        aria_hidden="true",
    )
    said = f"{count(number)} "
    return tag(
        "td", tag("span", said, tag("small", percent(share)), class_="amount"), bar, class_="data"
    )
