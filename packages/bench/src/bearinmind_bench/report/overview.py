"""How the page begins: the runs, their headline figures, what to know about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from bearinmind_bench.compare import Compared
from bearinmind_bench.inference import LEVEL, RESAMPLES, Verdict
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.report.charts import (
    Child,
    Element,
    Linear,
    line,
    section,
    shares,
    table,
    tag,
    text,
)
from bearinmind_bench.report.formats import (
    NONE,
    count,
    cut,
    date,
    metric_meaning,
    metric_name,
    milliseconds,
    p_value,
    plural,
    share_tick,
    shorten,
    signed,
    signed_span,
    span,
    value,
    verdict_class,
)
from bearinmind_bench.report.runs import Material, Run, as_text, badge, chip, legend
from bearinmind_bench.results import Manifest, Result
from bearinmind_bench.summary import OVERALL

_SHORT_HASH = 12
_MORE = ("recall@10", "mrr")  # what is shown beside the headline
_IN_A_ROW = 4  # cards
_IN_THE_SUBTITLE = ("queries", "memories")


def opening(material: Material) -> Element:
    """The header of the page."""
    shared = _shared_facts(material)
    facts = {name: fact for name, fact in shared.items() if name not in _IN_THE_SUBTITLE}
    sizes = [f"{shared[name]} {name}" for name in _IN_THE_SUBTITLE if name in shared]
    runs = len(material.runs)
    style = "cards single" if runs == 1 else "cards many" if runs > _IN_A_ROW else "cards"
    return tag(
        "header",
        tag("p", "Bear in Mind benchmark", class_="eyebrow"),
        tag("h1", *_title(material)),
        tag("p", " · ".join([*sizes, plural(runs, "run", "runs")]), class_="subtitle"),
        tag("dl", *_pairs(facts), class_="facts"),
        tag("div", *(_card(run, material, shared) for run in material.runs), class_=style),
        *_verdicts(material),
        *notices(material),
        what_differs(material),
    )


def title_text(material: Material) -> str:
    """The title of the page in plain text."""
    names = " against ".join(run.label for run in material.runs[:2])
    more = f" and {len(material.runs) - 2} more" if len(material.runs) > 2 else ""  # noqa: PLR2004
    return f"{', '.join(_sets(material))}: {names}{more}"


def _sets(material: Material) -> list[str]:
    return [*dict.fromkeys(run.result.manifest.data for run in material.runs)]


def _title(material: Material) -> Iterator[Child]:
    yield "How well recall does on "
    for place, name in enumerate(_sets(material)):
        yield ", " if place else None
        yield tag("bdi", shorten(name, 48), title=name)


def _queries(run: Run) -> str:
    rows = run.result.rows
    unanswerable = sum(not row.answerable for row in rows)
    counted = f"{count(len(rows) - unanswerable)} answerable"
    return f"{counted} and {count(unanswerable)} unanswerable" if unanswerable else counted


def _facts(run: Run) -> dict[str, str]:
    manifest = run.result.manifest
    return {
        "queries": _queries(run),
        "memories": count(run.result.sizes.memories),
        "set": manifest.data,
        "split": manifest.split,
        "fingerprint": manifest.fingerprint[:_SHORT_HASH],
        "revision": manifest.revision or "installed package",
        "version": manifest.bearinmind,
        "measured": date(manifest.created_at),
    }


def _shared_facts(material: Material) -> dict[str, str]:
    """What is true of all runs: it is told once."""
    first = _facts(material.reference)
    return {
        name: fact
        for name, fact in first.items()
        if all(_facts(run)[name] == fact for run in material.runs)
    }


def _card(run: Run, material: Material, shared: dict[str, str]) -> Element:
    own = {name: fact for name, fact in _facts(run).items() if name not in shared}
    overall, latency = run.result.overall, run.result.latency
    more = {metric_name(name): value(overall[name]) for name in _MORE if name in overall}
    more["p50 / p95"] = f"{milliseconds(latency.p50)} / {milliseconds(latency.p95)}"
    reference = run is material.reference and len(material.runs) > 1
    return tag(
        "article",
        tag(
            "h2",
            badge(run),
            " ",
            tag("bdi", cut(run.label, 48), title=run.label),
            tag("span", "reference", class_="pill") if reference else None,
        ),
        _headline(run),
        tag("dl", *_pairs(more)),
        tag("dl", *_pairs(own)) if own else None,
        class_=f"card {run.style}",
    )


def _headline(run: Run) -> Element:
    figure = run.result.overall.get(HEADLINE)
    interval = run.interval(OVERALL, HEADLINE)
    return tag(
        "p",
        tag("span", metric_name(HEADLINE), class_="headline-name"),
        tag("span", value(figure), class_="headline-value"),
        tag("span", span(interval), class_="quiet", title="95% interval"),
        class_="headline",
    )


def _pairs(facts: dict[str, str]) -> Iterator[Element]:
    for name, fact in facts.items():
        yield tag("div", tag("dt", name), tag("dd", shorten(fact, 40), title=fact))


def _verdicts(material: Material) -> Iterator[Element]:
    for run in material.runs[1:]:
        comparison = material.comparisons.get(run.index)
        if comparison:
            yield _verdict(material.reference, run, comparison.headline)
            continue
        yield tag(
            "p",
            badge(run),
            tag("strong", " is not compared with "),
            badge(material.reference),
            f": {material.why_no_verdict(run)}.",
            class_="verdict",
        )


def _verdict(reference: Run, run: Run, compared: Compared) -> Element:
    difference = compared.difference
    words = {
        Verdict.BETTER: "is better than",
        Verdict.WORSE: "is worse than",
        Verdict.CANNOT_TELL: "cannot be told from",
        Verdict.TOO_FEW: "was asked too few queries to be told from",
    }[compared.verdict]
    return tag(
        "p",
        badge(run),
        tag("strong", f" {words} "),
        badge(reference),
        f": {metric_name(compared.metric)} {value(difference.before)} → {value(difference.after)}, "
        f"{signed(difference.mean)} ({signed_span(difference.low, difference.high)}), "
        f"corrected p {p_value(compared.corrected_p)} on "
        f"{plural(difference.queries, 'query', 'queries')}.",
        class_=f"verdict {verdict_class(compared.verdict)}",
    )


_WIDTHS = {1: 340, 2: 320, 3: 260, 4: 230}  # of the column of intervals, by the number of runs
_NARROW = 170
_PAD = 8
_BEYOND = 16  # so far grid lines reach into the padding of the cell
_PITCH = 11  # between the intervals of two runs


def overall_section(material: Material) -> Element:
    """The table of all metrics."""
    if not material.metrics:
        return section(
            "overall", "Overall", "No answerable query was measured: there are no ranked metrics."
        )
    head: list[Child] = ["metric", *(badge(run) for run in material.runs), _axis(material.runs)]
    return section(
        "overall",
        "Overall",
        f"The mean over all answerable queries with its {LEVEL:.0%} interval, from "
        f"{count(RESAMPLES)} resamples of the queries. Unanswerable queries are kept apart.",
        legend(material.runs),
        table(
            head,
            (_row(material, metric) for metric in material.metrics),
            "All metrics",
            heard_only=True,
        ),
    )


def _row(material: Material, metric: str) -> Element:
    return tag(
        "tr",
        tag("th", metric_name(metric), tag("small", metric_meaning(metric)), scope="row"),
        *(
            tag(
                "td",
                tag("span", value(run.result.overall.get(metric)), class_="value"),
                tag("small", span(run.interval(OVERALL, metric))),
            )
            for run in material.runs
        ),
        tag("td", _forest(material.runs, metric), class_="forest"),
        class_="headline-row" if metric == HEADLINE else None,
    )


def _scale(runs: Sequence[Run]) -> Linear:
    return Linear(0, 1, _PAD, _WIDTHS.get(len(runs), _NARROW) - _PAD)


def _axis(runs: Sequence[Run]) -> Element:
    """The ticks above the column of intervals."""
    scale = _scale(runs)
    ticks = (text(scale(tick), 12, share_tick(tick), class_="tick middle") for tick in shares())
    return _drawing(ticks, scale, 16)


def _forest(runs: Sequence[Run], metric: str) -> Element:
    """The intervals of all runs on one axis."""
    scale = _scale(runs)
    height = _PITCH * len(runs) + 9
    radius = 3 if len(runs) in (1, 2) else 2.2
    grid = (line(scale(tick), -_BEYOND, scale(tick), height + _BEYOND, "grid") for tick in shares())
    marks = (
        mark for place, run in enumerate(runs) for mark in _mark(run, metric, scale, place, radius)
    )
    return _drawing((*grid, *marks), scale, height)


def _drawing(children: Iterable[Element], scale: Linear, height: int) -> Element:
    """A drawing of what the cells beside it say in numbers."""
    width = scale.end + _PAD
    box = f"0 0 {width:g} {height}"
    return tag("svg", *children, viewBox=box, width=width, height=height, aria_hidden="true")


def _mark(run: Run, metric: str, scale: Linear, place: int, radius: float) -> Iterator[Element]:
    figure = run.result.overall.get(metric)
    y = _PITCH * (place + 0.5) + 4.5
    interval = run.interval(OVERALL, metric)
    if interval:
        yield line(scale(interval[0]), y, scale(interval[1]), y, f"interval {run.style}")
    if figure is not None:
        yield tag(
            "circle",
            tag("title", f"{run.name}: {value(figure)}, {span(interval)}"),
            cx=scale(figure),
            cy=y,
            r=radius,
            class_=f"dot {run.style}",
        )


#: On the cards and in the notices.
_SHOWN_ELSEWHERE = frozenset(
    {"adaptations", "created_at", "data", "fingerprint", "bearinmind", "revision", "split"}
)
_KINDS: Sequence[tuple[str, str, Callable[[Result], Sequence[str]]]] = (
    ("faults", "Broken promises: these figures decide nothing", lambda r: r.faults),
    ("warnings", "Warnings", lambda r: r.warnings),
    ("adaptations", "Adapted for this measurement", lambda r: r.manifest.adaptations),
)


def notices(material: Material) -> Iterator[Element]:
    """Everything that a reader of the figures should know, with the runs it is about."""
    for kind, title, texts in _KINDS:
        items: dict[str, list[Run]] = {}
        for run in material.runs:
            for message in texts(run.result):
                items.setdefault(message, []).append(run)
        if items:
            yield tag(
                "aside",
                tag("h2", title),
                tag("ul", *(_notice(material, text, runs) for text, runs in items.items())),
                class_=f"notice {kind}",
            )


def _notice(material: Material, text: str, runs: Sequence[Run]) -> Element:
    shown = [badge(run) for run in runs] if len(material.runs) > 1 else []
    return tag("li", *shown, " " if shown else None, tag("bdi", text))


def what_differs(material: Material) -> Element | None:
    """The settings of a single run, or what is not the same in all of them."""
    facts = [flat(run.result.manifest) for run in material.runs]
    several = len(facts) > 1
    own = ("settings.", "recipe.", "models")
    chosen = (
        _differing(facts)
        if several
        else [name for name, fact in facts[0].items() if fact and name.startswith(own)]
    )
    if not chosen:
        return None
    rows = [
        tag(
            "tr",
            tag("th", shorten(name, 40), scope="row", title=name),
            *(_fact(name, each.get(name)) for each in facts),
        )
        for name in chosen
    ]
    head: list[Child] = ["", *(badge(run) for run in material.runs)] if several else []
    caption = "What differs between the runs" if several else "Settings and recipe of this run"
    return table(head, rows, caption)


def _differing(facts: Sequence[dict[str, str]]) -> list[str]:
    names = dict.fromkeys(name for each in facts for name in each if name not in _SHOWN_ELSEWHERE)
    differing = [name for name in names if len({each.get(name) for each in facts}) > 1]
    return sorted(differing, key=lambda name: not name.startswith("settings."))


def _fact(name: str, fact: str | None) -> Element:
    if fact is None:
        return tag("td", "default" if name.startswith("settings.") else NONE, class_="fact quiet")
    return tag("td", tag("bdi", shorten(fact, 120)), class_="fact", title=fact)


def manifests_section(material: Material) -> Element:
    """The manifest of each run in full."""
    return section(
        "manifests",
        "Manifests",
        "Code, data, versions, seeds and settings: what it takes to measure the same again.",
        *(
            tag(
                "details",
                tag("summary", chip(run, 80)),
                tag("dl", *_manifest_rows(run), class_="manifest"),
            )
            for run in material.runs
        ),
    )


def flat(manifest: Manifest) -> dict[str, str]:
    """Every field of a manifest as text; parts of a field have its name in front of theirs."""
    return dict(_fields(manifest))


def _fields(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for name, field in manifest.model_dump().items():
        if isinstance(field, dict):
            yield from ((f"{name}.{part}", as_text(each)) for part, each in field.items())
        elif isinstance(field, list | tuple):
            yield name, "\n".join(map(str, field))
        else:
            yield name, "" if field is None else as_text(field)


def _manifest_rows(run: Run) -> Iterator[Element]:
    for name, field in flat(run.result.manifest).items():
        yield tag("div", tag("dt", name), tag("dd", field or "none"))
