"""Every published number is a row: what was run, on which data, and what it gave.

    [[condition]]
    name = "locomo-facts"
    data = "locomo-facts"            # a folder under one of the data folders
    fingerprint = "8b6f..."          # of its content
    split = "test"
    retriever = "fts5-porter"        # left out: the product
    against = "product"              # the condition of this name is compared with this row
    settings = { pool = 100 }
    withhold = ["supersedes"]        # links of the set that are not stored
    tolerance = 0.0005
    expected = { "ndcg@10" = 0.5933, queries = 592 }
    verdict = "better"               # of that condition over this row, in nDCG@10

Files hold rows like this one; `bearinmind bench check` runs them again and says what differs.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bearinmind.errors import FileMissing, IncomparableResults, InvalidData, TooFewQueries
from bearinmind.errors.flaws import shortened, wrong
from bearinmind.types import LinkKind
from bearinmind_bench.compare import Compared, Comparison, compare, corrected
from bearinmind_bench.evaluation import EvaluationSet, load
from bearinmind_bench.inference import difference, verdict
from bearinmind_bench.metrics import CURRENT_FIRST, HEADLINE, STALE_ABOVE, STALE_WITHOUT
from bearinmind_bench.results import Result
from bearinmind_bench.runner import PRODUCT, Plan, run, run_arms, writing
from bearinmind_bench.summary import OVERALL


class Condition(BaseModel):
    """One published row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    data: str
    fingerprint: str = ""
    split: str = "test"
    retriever: str = PRODUCT
    against: str | None = None  #: the name of the condition that is compared with this row
    settings: dict[str, Any] = Field(default_factory=dict)
    withhold: tuple[LinkKind, ...] = ()  #: links of the set that are not stored
    expected: dict[str, float] = Field(default_factory=dict)
    tolerance: float = 0.0005
    verdict: str | None = None  #: of that condition over this row, in nDCG@10

    @property
    def label(self) -> str:
        """What was measured, without the data: the name up to `: ` says on which."""
        return self.name.partition(": ")[2] or self.retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A row, what it gave now, and how that differs from what is published."""

    condition: Condition
    result: Result | None  #: None when the data is not at hand
    compared: Compared | None
    strata: tuple[Compared, ...]  #: of each stratum, corrected for each other
    differences: tuple[str, ...]


def read(paths: Iterable[Path]) -> list[Condition]:
    """The rows of files, or of every file of a folder.

    Raises:
        FileMissing: there is no such file.
        InvalidData: a row has another shape, or two have the same name.
    """
    rows = [row for path in paths for file in files(path) for row in _read_file(file)]
    for name, count in Counter(row.name for row in rows).items():
        if count > 1:
            raise InvalidData(f"{count} conditions are named {name!r}", hint="Name each one apart.")
    return rows


def chosen(rows: Sequence[Condition], names: Sequence[str] | None) -> list[Condition]:
    """The rows of these names and those that they are compared with; all when none is named."""
    if not names:
        return [*rows]
    against = {row.against for row in rows if row.name in names}
    return [row for row in rows if row.name in names or row.name in against]


def files(path: Path) -> list[Path]:
    """A file of conditions, or those of a folder.

    Raises:
        FileMissing: there is none.
    """
    if path.is_dir():
        return sorted(path.glob("*.toml"))
    if not path.is_file():
        raise FileMissing(f"there is no file {str(path)!r}")
    return [path]


def _read_file(path: Path) -> Iterator[Condition]:
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("condition", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise InvalidData(f"{str(path)!r} cannot be read: {exc}") from exc
    if not isinstance(rows, list):
        raise InvalidData(f"{path.name} has no rows", hint="Begin each one with [[condition]].")
    for number, row in enumerate(rows, start=1):
        try:
            yield Condition.model_validate(row)
        except ValidationError as exc:
            problem = exc.errors()[0]
            where = ".".join(map(str, problem["loc"]))
            said = wrong(problem, shortened(problem["input"]))
            raise InvalidData(f"{path.name}, condition {number}: {where}: {said}") from exc


def check(
    conditions: Sequence[Condition],
    folders: Sequence[Path],
    *,
    started: Callable[[Condition, int], Callable[[int], None]],
) -> list[Checked]:
    """Run every row again; `started` gives the progress of the one that begins."""
    sets = {name: _find(name, folders) for name in {row.data for row in conditions}}
    results: dict[str, Result | None] = {}
    for rows in _that_share_a_store(conditions):
        results.update(_run(rows, sets[rows[0].data], started))
    comparisons = _comparisons(conditions, results)
    headlines = corrected([comparison.headline for comparison in comparisons.values()])
    compared = dict(zip(comparisons, headlines, strict=True))
    return [
        Checked(
            condition=condition,
            result=results[condition.name],
            compared=compared.get(condition.name),
            strata=comparisons[condition.name].rows[1:] if condition.name in compared else (),
            differences=tuple(
                _differences(condition, results[condition.name], compared.get(condition.name))
            ),
        )
        for condition in conditions
    ]


def _find(name: str, folders: Sequence[Path]) -> EvaluationSet | None:
    for folder in folders:
        if (folder / name).is_dir():
            return load(folder / name)
    return None


def _that_share_a_store(conditions: Sequence[Condition]) -> list[list[Condition]]:
    """Rows of the product whose stores would be the same; every other one alone."""
    shared: dict[object, list[Condition]] = {}
    for row in conditions:
        alike = (row.data, row.split, row.withhold, repr(writing(row.settings)))
        key = alike if row.retriever == PRODUCT else row.name
        shared.setdefault(key, []).append(row)
    return [*shared.values()]


def _run(
    rows: Sequence[Condition],
    data: EvaluationSet | None,
    started: Callable[[Condition, int], Callable[[int], None]],
) -> dict[str, Result | None]:
    if data is None:
        return dict.fromkeys(row.name for row in rows)
    first = rows[0]
    plan = Plan(data=data, split=first.split, withhold=frozenset(first.withhold))
    if first.retriever != PRODUCT:
        plan = replace(plan, retriever=first.retriever, settings=first.settings)
        return {first.name: run(plan, started(first, plan.steps))}

    def progress(more: int) -> None:
        of_row(more)

    results = run_arms(plan, [row.settings for row in rows], progress, keep_queries=False)
    found: dict[str, Result | None] = {}
    steps = plan.steps
    for row in rows:
        of_row = started(row, steps)
        found[row.name] = next(results)
        steps = len(data.of_split(first.split))  # of the others: the store is filled
    next(results, None)  # which removes the store
    return found


def _comparisons(
    conditions: Sequence[Condition], results: Mapping[str, Result | None]
) -> dict[str, Comparison]:
    """The other condition against each row that names one."""
    comparisons: dict[str, Comparison] = {}
    for condition in conditions:
        before = results[condition.name]
        after = results.get(condition.against or "")
        if before and after:
            with suppress(IncomparableResults, TooFewQueries):  # the row says "not compared"
                comparisons[condition.name] = compare(before, after, [HEADLINE])
    return comparisons


def together(checked: Sequence[Checked]) -> dict[str, Compared]:
    """By label: how what it is compared with does on the queries of all sets at once."""
    results = {row.condition.name: row.result for row in checked}
    pairs: dict[str, tuple[list[float], list[float]]] = {}
    for row in checked:
        after = results.get(row.condition.against or "")
        if row.compared and row.result and after:
            first, second = pairs.setdefault(row.condition.label, ([], []))
            first += _headlines(row.result)
            second += _headlines(after)
    compared = [
        Compared(
            stratum=OVERALL,
            metric=HEADLINE,
            difference=(gap := difference(first, second)),
            corrected_p=gap.p,
            verdict=verdict(gap, gap.p),
        )
        for first, second in pairs.values()
    ]
    return dict(zip(pairs, corrected(compared), strict=True))


def _headlines(result: Result) -> list[float]:
    return [row.metrics[HEADLINE] for row in result.rows if row.answerable]


def _differences(
    condition: Condition, result: Result | None, compared: Compared | None
) -> Iterator[str]:
    if result is None:
        yield f"the data {condition.data!r} is not at hand"
        return
    if condition.fingerprint and result.manifest.fingerprint != condition.fingerprint:
        yield f"the data is another: its fingerprint is {result.manifest.fingerprint}"
    figures = _figures(result)
    for name, expected in condition.expected.items():
        measured = figures.get(name)
        if measured is None:
            yield f"{name} was not measured"
        elif abs(measured - expected) > condition.tolerance:
            yield f"{name} is {measured:.4f}, published {expected:.4f}"
    yield from result.faults
    if condition.verdict and (compared is None or compared.verdict != condition.verdict):
        outcome = str(compared.verdict) if compared else "not compared"
        yield f"the verdict is {outcome!r}, published {condition.verdict!r}"


def _figures(result: Result) -> dict[str, float]:
    """What a run gave over all queries, and over all labelled pairs."""
    return {**result.overall, **(result.pairs.figures if result.pairs else {})}


#: The figures of a row; whatever else was measured is in the results.
PUBLISHED = (
    *("queries", "recall@5", "recall@10", HEADLINE, "mrr"),
    *(CURRENT_FIRST, STALE_ABOVE, STALE_WITHOUT, "wrongly_outdated", "changes_found"),
)
_DIGITS = 4


def update(paths: Iterable[Path], checked: Sequence[Checked]) -> None:
    """Replace the expected figures, fingerprints and verdicts; comments and order are kept.

    Raises:
        InvalidData: a file cannot be written.
    """
    measured = {row.condition.name: row for row in checked if row.result}
    for path in paths:
        for file in files(path):
            try:
                document = tomlkit.parse(file.read_text(encoding="utf-8"))
                _update(document, measured)
                file.write_text(tomlkit.dumps(document), encoding="utf-8")
            except OSError as exc:
                raise InvalidData(f"{str(file)!r} cannot be written: {exc.strerror}") from exc


def _update(document: Mapping[str, Any], measured: Mapping[str, Checked]) -> None:
    for table in document.get("condition", []):
        row = measured.get(str(table["name"]))
        if row is None or row.result is None:
            continue
        table["fingerprint"] = row.result.manifest.fingerprint
        if row.compared:
            table["verdict"] = str(row.compared.verdict)
        expected = tomlkit.inline_table()
        figures = _figures(row.result)
        for name in PUBLISHED:
            if name in figures:
                expected[name] = round(figures[name], _DIGITS)
        table["expected"] = expected
