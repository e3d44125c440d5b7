"""The runs of a report: their names, and what they have in common."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bearinmind_bench.compare import Comparison
from bearinmind_bench.inference import MINIMUM_QUERIES
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.report.charts import Element, tag
from bearinmind_bench.report.formats import cut
from bearinmind_bench.results import QueryRow, Result
from bearinmind_bench.summary import OVERALL

COLOURS = 6  #: of the palette in style.css; a seventh run has the first one's, and its own letter
_ALPHABET = 26

Facet = Callable[[Result], str]
#: What tells runs apart, the plainest first.
_FACETS: Mapping[str, Facet] = {
    "data": lambda result: result.manifest.data,
    "split": lambda result: result.manifest.split,
    "retriever": lambda result: result.manifest.retriever,
}
#: What tells them apart when those do not.
_MORE_FACETS: Sequence[Facet] = (
    lambda result: result.manifest.store,
    lambda result: result.manifest.revision or result.manifest.bearinmind,
    lambda result: result.manifest.code[:8],
    lambda result: result.manifest.created_at,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A result with its place in the report."""

    index: int
    label: str
    result: Result
    answerable: Mapping[str, QueryRow]  #: the queries that ranked metrics are about, by id

    @property
    def letter(self) -> str:
        """What stands for the run where there is little room: A, B, ..., Z, A2, ..."""
        turn, place = divmod(self.index, _ALPHABET)
        return chr(ord("A") + place) + (str(turn + 1) if turn else "")

    @property
    def style(self) -> str:
        """The class that gives the run its colour."""
        return f"run-{self.index % COLOURS + 1}"

    @property
    def name(self) -> str:
        """The letter and the label."""
        return f"{self.letter} {self.label}"

    def figures(self, stratum: str) -> Mapping[str, float]:
        """The figures of a stratum or of all queries; empty when the run has no such stratum."""
        result = self.result
        return result.overall if stratum == OVERALL else result.strata.get(stratum, {})

    def interval(self, stratum: str, metric: str) -> tuple[float, float] | None:
        """The interval of a figure; None when there is none."""
        return self.result.intervals.get(stratum, {}).get(metric)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that the page is made of."""

    runs: tuple[Run, ...]
    metrics: tuple[str, ...]  #: of all runs, the headline first
    comparisons: dict[int, Comparison]  #: with the first run, by the index of the other

    @property
    def reference(self) -> Run:
        """The run that the others are held against."""
        return self.runs[0]

    def why_no_verdict(self, run: Run) -> str:
        """Why a run is not compared with the reference."""
        reference = self.reference.result
        if not same_queries(reference, run.result):
            return "the two did not answer the same queries of the same set"
        if reference.faults or run.result.faults:
            return "one of the two broke a promise of its ranking, so its figures decide nothing"
        queries = len(run.answerable)
        if queries < MINIMUM_QUERIES:
            return (
                f"{queries} answerable queries are too few; at least {MINIMUM_QUERIES} are needed"
            )
        return "no comparison was made"

    @property
    def strata(self) -> tuple[str, ...]:
        """The strata of all runs, in the order in which they appear."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.result.strata))


def gather(results: Sequence[Result], comparisons: Sequence[Comparison]) -> Material:
    """The material of a page; the n-th comparison is the n-th comparable result's."""
    runs = tuple(
        Run(
            index=index,
            label=label,
            result=result,
            answerable={row.query_id: row for row in result.rows if row.metrics},
        )
        for index, (label, result) in enumerate(zip(labels(results), results, strict=True))
    )
    names = dict.fromkeys(name for result in results for name in result.overall)
    chosen = [name for name in names if name not in ("queries", HEADLINE)]
    others = [run.index for run in runs[1:] if is_comparable(runs[0].result, run.result)]
    return Material(
        runs=runs,
        metrics=(HEADLINE, *chosen) if HEADLINE in names else tuple(chosen),
        comparisons=dict(zip(others, comparisons, strict=False)),
    )


def is_comparable(reference: Result, other: Result) -> bool:
    """Whether both answered the same queries of the same set, and kept their promises."""
    return not reference.faults and not other.faults and same_queries(reference, other)


def same_queries(reference: Result, other: Result) -> bool:
    """Whether both answered the same queries of the same set."""
    return reference.manifest.fingerprint == other.manifest.fingerprint and [
        row.query_id for row in reference.rows
    ] == [row.query_id for row in other.rows]


def comparable(results: Sequence[Result]) -> tuple[Result, ...]:
    """The results that can be compared with the first, in the order of their comparisons."""
    return tuple(other for other in results[1:] if is_comparable(results[0], other))


def labels(results: Sequence[Result]) -> tuple[str, ...]:
    """A name for each result: what was measured, and as much more as tells it from the others."""
    parts: list[list[str]] = [[] for _ in results]
    for name, facet in (*_FACETS.items(), ("settings", _settings_of(results))):
        _add(parts, results, facet, always=name == "retriever")
    for facet in _MORE_FACETS:
        if len({tuple(part) for part in parts}) < len(parts):
            _add(parts, results, facet)
    return _distinct([" · ".join(part) for part in parts])


def badge(run: Run) -> Element:
    """The letter of a run in its colour."""
    return tag("span", run.letter, class_=f"badge {run.style}")


def chip(run: Run, limit: int = 44) -> Element:
    """A run in running text: its letter and its shortened name."""
    return tag(
        "span", badge(run), " ", tag("bdi", cut(run.label, limit)), class_="chip", title=run.name
    )


def _settings_of(results: Sequence[Result]) -> Facet:
    """Names the settings of a result that not all results share."""
    values = [{k: _brief(v) for k, v in r.manifest.settings.items()} for r in results]
    shared = set.intersection(*({*each.items()} for each in values)) if values else set()

    def facet(result: Result) -> str:
        given = {k: _brief(v) for k, v in result.manifest.settings.items()}
        return ", ".join(f"{k}={v}" for k, v in given.items() if (k, v) not in shared)

    return facet


def _brief(value: object) -> str:
    """A value of a setting where there is little room."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_brief(each)}" for key, each in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else as_text(value)


def as_text(value: object) -> str:
    """A value of a setting as it is typed."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _add(
    parts: list[list[str]], results: Sequence[Result], facet: Facet, *, always: bool = False
) -> None:
    values = [facet(result) for result in results]
    if always or len({*values}) > 1:
        for part, value in zip(parts, values, strict=True):
            part.extend([value] if value else [])


def _distinct(names: list[str]) -> tuple[str, ...]:
    counts = Counter(names)
    seen: Counter[str] = Counter()
    chosen = []
    for name in names:
        seen[name] += 1
        chosen.append(f"{name} ({seen[name]})" if counts[name] > 1 else name)
    return tuple(chosen)


def legend(runs: Sequence[Run]) -> Element | None:
    """Which colour is which run; nothing when there is only one."""
    if len(runs) == 1:
        return None
    return tag("p", *(chip(run) for run in runs), class_="legend")
