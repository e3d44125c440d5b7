"""What each leg brought to the answers, and how long recalls took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bearinmind_bench.report.charts import (
    WIDE,
    Child,
    Element,
    Frame,
    Linear,
    Logarithmic,
    chart,
    decades,
    folded,
    line,
    path,
    section,
    steps_to,
    table,
    tag,
    text,
    x_axis,
    y_axis,
)
from bearinmind_bench.report.formats import (
    NONE,
    count,
    milliseconds,
    percent,
    seconds,
    shorten,
    size,
)
from bearinmind_bench.report.runs import Material, Run, badge, legend
from bearinmind_bench.results import Contribution, QueryRow, Result

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
    counts = dict.fromkeys(BANDS, 0)
    for row in rows:
        ranks = {id_: rank for rank, id_ in enumerate(row.ranked, start=1)}
        proposed = {id_ for leg in row.legs.values() for id_ in leg}
        for id_, grade in row.grades.items():
            if grade > 0:
                counts[_band(ranks.get(id_), proposed=id_ in proposed)] += 1
    return counts


def _band(rank: int | None, *, proposed: bool) -> str:
    if rank is not None:
        return next((name for last, name in _BANDS if rank <= last), _DEEPER)
    return _DEEPER if proposed else _NOT_FOUND


def _histogram(runs: Sequence[Run]) -> Element:
    frame = Frame(width=WIDE, height=270, left=52, right=8, top=22, bottom=44)
    shares = []
    for counts in (bands(run.result.rows) for run in runs):
        total = sum(counts.values()) or 1
        shares.append({band: amount / total for band, amount in counts.items()})
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
        counts = bands(run.result.rows)
        cells = (tag("td", count(counts[band])) for band in BANDS)
        rows.append(tag("tr", tag("th", badge(run), scope="row"), *cells))
    return table(["run", *BANDS], rows, "Relevant memories by rank")


def _leg_table(runs: Sequence[Run]) -> Element:
    head = ["leg", "run", "found", "found alone", "reached the first ten", "time (p50)"]
    silent = [run for run in runs if not run.result.legs]
    rows = [
        _leg_row(leg, run, brought)
        for leg in _legs(runs)
        for run in runs
        if (brought := run.result.legs.get(leg))
    ]
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
    figure = f"{count(number)} "
    return tag(
        "td", tag("span", figure, tag("small", percent(share)), class_="amount"), bar, class_="data"
    )


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


def _curves(runs: Sequence[Run]) -> Element | None:
    times = [sorted(row.milliseconds for row in run.result.rows) for run in runs]
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
            x_axis(frame, along, ticks, "{:g}".format, "milliseconds of one recall"),
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
