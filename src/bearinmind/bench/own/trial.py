"""Two configurations on one's own memories: which is better, and can that be said at all?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from bearinmind.bench.compare import Compared, compare
from bearinmind.bench.evaluation import ALL, EvaluationSet
from bearinmind.bench.inference import MINIMUM_QUERIES
from bearinmind.bench.metrics import HEADLINE
from bearinmind.bench.own.arms import DEEP, Arm
from bearinmind.bench.own.folder import Folder
from bearinmind.bench.own.records import Figure, Trial
from bearinmind.bench.results import Result
from bearinmind.bench.runner import Plan, run_arms
from bearinmind.errors import InvalidInput, TooFewQueries

#: Few, because each one more makes all of them harder to be sure of.
METRICS = (HEADLINE, "recall@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The part of a set that figures can be made from."""

    data: EvaluationSet  #: without the queries that nobody judged
    split: str
    unjudged: int  #: those queries

    @property
    def steps(self) -> int:
        """How many memories and queries two runs go through."""
        return len(self.data.corpus) + 2 * len(self.data.of_split(self.split))


def judged(folder: Folder, split: str, minimum: int = MINIMUM_QUERIES) -> Judged:
    """The judged queries of a split.

    Raises:
        TooFewQueries: there are not enough with a relevant memory to conclude anything.
    """
    data = folder.load()
    asked = data.of_split(split)
    known = [query for query in asked if query.grades]
    answerable = sum(bool(query.relevant) for query in known)
    if answerable < minimum:
        raise TooFewQueries(
            f"{answerable} queries of the split {split!r} have a memory that is judged relevant; "
            f"below {minimum} nothing is concluded",
            hint=_more(len(asked) - len(known), split),
        )
    kept = tuple(query for query in data.queries if query.grades)
    return Judged(
        data=dataclasses.replace(data, queries=kept),
        split=split,
        unjudged=len(asked) - len(known),
    )


def _more(unjudged: int, split: str) -> str:
    if split != ALL:
        return "`--split all` takes every query."
    if unjudged:
        return (
            f"{unjudged} more are there and not judged: `bearinmind bench own judge` lets a model "
            "do it, `bearinmind bench own label` you."
        )
    return (
        "Let `bearinmind bench own build` find more: capture queries (the `capture_queries` "
        "setting), link memories, give them keywords, or add --llm."
    )


def compare_arms(
    measured: Judged, before: Arm, after: Arm, progress: Callable[[int], None]
) -> Trial:
    """Run both and say what the second one changes.

    Raises:
        InvalidInput: both are the same.
        TooFewQueries: there are not enough queries.
    """
    if before.settings == after.settings:
        raise InvalidInput(
            "both configurations are the same", hint="Change one with --set NAME=VALUE."
        )
    plan = Plan(data=measured.data, split=measured.split)
    first, second = run_arms(plan, [before.settings, after.settings], progress)
    found = compare(first, second, metrics=METRICS)
    return Trial(
        at=second.manifest.created_at,
        bearinmind=second.manifest.bearinmind,
        code=second.manifest.code,
        fingerprint=second.manifest.fingerprint,
        split=measured.split,
        before=before.settings,
        after=after.settings,
        against=before.changed,
        changed=after.changed,
        figures=tuple(_figure(row) for row in found.rows),
        verdict=found.headline.verdict,
        unjudged={"before": holes(first), "after": holes(second)},
        given={"before": _given(first), "after": _given(second)},
    )


def holes(result: Result) -> int:
    """How many memories of a first ten nobody judged; they count as not relevant."""
    return sum(id_ not in row.grades for row in result.rows for id_ in row.ranked[:DEEP])


def _given(result: Result) -> int:
    return sum(len(row.ranked[:DEEP]) for row in result.rows)


def _figure(row: Compared) -> Figure:
    found = row.difference
    return Figure(
        stratum=row.stratum,
        metric=row.metric,
        queries=found.queries,
        before=found.before,
        after=found.after,
        difference=found.mean,
        low=found.low,
        high=found.high,
        p=found.p,
        corrected_p=row.corrected_p,
        wins=found.wins,
        losses=found.losses,
        verdict=row.verdict,
    )
