"""The top of the page: what was measured, what came out, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterator

from bearinmind.bench.compare import Compared
from bearinmind.bench.inference import Verdict
from bearinmind.bench.metrics import HEADLINE
from bearinmind.bench.report.elements import Child, Element, tag
from bearinmind.bench.report.notices import notices, what_differs
from bearinmind.bench.report.runs import Material, Run, badge
from bearinmind.bench.report.wording import (
    count,
    cut,
    date,
    metric_name,
    milliseconds,
    p_value,
    plural,
    shorten,
    signed,
    signed_span,
    span,
    value,
    verdict_class,
)
from bearinmind.bench.summary import OVERALL

_SHORT_HASH = 12
_MORE = ("recall@10", "mrr")  # what is shown beside the headline
_IN_A_ROW = 4  # cards
_IN_THE_SUBTITLE = ("queries", "memories")


def opening(material: Material) -> Element:
    """The header of the page."""
    shared = _shared_facts(material)
    facts = {name: fact for name, fact in shared.items() if name not in _IN_THE_SUBTITLE}
    return tag(
        "header",
        tag("p", "Bear in Mind benchmark", class_="eyebrow"),
        tag("h1", *_title(material)),
        tag("p", _subtitle(shared, len(material.runs)), class_="subtitle"),
        tag("dl", *_pairs(facts), class_="facts"),
        tag(
            "div", *(_card(run, material, shared) for run in material.runs), class_=_cards(material)
        ),
        *_verdicts(material),
        *notices(material),
        what_differs(material),
    )


def _cards(material: Material) -> str:
    many = len(material.runs) > _IN_A_ROW
    return "cards many" if many else "cards single" if len(material.runs) == 1 else "cards"


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


def _subtitle(shared: dict[str, str], runs: int) -> str:
    said = [f"{shared[name]} {name}" for name in _IN_THE_SUBTITLE if name in shared]
    return " · ".join([*said, plural(runs, "run", "runs")])


def _queries(run: Run) -> str:
    rows = run.result.rows
    unanswerable = sum(not row.answerable for row in rows)
    said = f"{count(len(rows) - unanswerable)} answerable"
    return f"{said} and {count(unanswerable)} unanswerable" if unanswerable else said


def _memories(run: Run) -> str:
    return count(run.result.sizes.memories)


def _facts(run: Run) -> dict[str, str]:
    manifest = run.result.manifest
    return {
        "queries": _queries(run),
        "memories": _memories(run),
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
        tag("dl", *_pairs(_more_figures(run))),
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


def _more_figures(run: Run) -> dict[str, str]:
    overall, latency = run.result.overall, run.result.latency
    return {
        **{metric_name(m): value(overall[m]) for m in _MORE if m in overall},
        "p50 / p95": f"{milliseconds(latency.p50)} / {milliseconds(latency.p95)}",
    }


def _pairs(facts: dict[str, str]) -> Iterator[Element]:
    for name, fact in facts.items():
        yield tag("div", tag("dt", name), tag("dd", shorten(fact, 40), title=fact))


def _verdicts(material: Material) -> Iterator[Element]:
    for run in material.runs[1:]:
        comparison = material.comparisons.get(run.index)
        if comparison:
            yield _verdict(material.reference, run, comparison.headline)
        else:
            yield _no_verdict(material, run)


def _no_verdict(material: Material, run: Run) -> Element:
    return tag(
        "p",
        badge(run),
        tag("strong", " is not compared with "),
        badge(material.reference),
        f": {material.why_no_verdict(run)}.",
        class_="verdict",
    )


def _verdict(reference: Run, run: Run, found: Compared) -> Element:
    difference = found.difference
    words = {
        Verdict.BETTER: "is better than",
        Verdict.WORSE: "is worse than",
        Verdict.CANNOT_TELL: "cannot be told from",
        Verdict.TOO_FEW: "was asked too few queries to be told from",
    }[found.verdict]
    return tag(
        "p",
        badge(run),
        tag("strong", f" {words} "),
        badge(reference),
        f": {metric_name(found.metric)} {value(difference.before)} → {value(difference.after)}, "
        f"{signed(difference.mean)} ({signed_span(difference.low, difference.high)}), "
        f"corrected p {p_value(found.corrected_p)} on "
        f"{plural(difference.queries, 'query', 'queries')}.",
        class_=f"verdict {verdict_class(found.verdict)}",
    )
