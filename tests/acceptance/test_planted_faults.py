"""Faults planted into the real thing: each must be noticed by the benchmark, and by name.

A benchmark that cannot tell a broken ranking from a good one is worse than none. Each section
plants a fault that an earlier system lived with, or one that a benchmark may have itself.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from typer.testing import CliRunner

from bearinmind import config, errors
from bearinmind.app import wiring
from bearinmind.config import Settings
from bearinmind.models import factory
from bearinmind.models.embedders import ActiveSpace
from bearinmind.protocols import Leg, Page, Store
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.recall.lockout import locked_out
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.scores import Adjustments, Calibrated, ConvexCombination, ReciprocalRank
from bearinmind.recall.selection import Selection
from bearinmind.surfaces.cli import app
from bearinmind.trace import Dropped, Judged, LegReport
from bearinmind.types import Candidate, Fused, MemoryId, Query, Ranking
from bearinmind_bench import metrics
from bearinmind_bench.compare import compare
from bearinmind_bench.inference import Verdict
from bearinmind_bench.results import Result
from support.bench_sets import Row, measure, rows_of, small_set, with_rankings, words, write_set


@pytest.fixture(autouse=True)
def _quick_to_embed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every leg takes part, and the faults are the same with an embedder that needs no model."""
    monkeypatch.setattr(factory, "DEFAULT_EMBEDDER", "hash")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty queries that the product answers well."""
    return small_set(tmp_path / "harbour")


def told(*args: object) -> tuple[int, str]:
    """The exit code of a command, and everything that it said."""
    ran = CliRunner().invoke(app, [*map(str, args)])
    assert "Traceback" not in ran.output
    return ran.exit_code, ran.output


# ---- 1. a leg locked out by its weight ---------------------------------------------------------


class WithinLeg:
    """A second way of finding memories: those with the query inside of a longer word."""

    name = "within"

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        began = perf_counter()
        found = [
            memory.id
            for memory in self._store.browse(query.filter, Page(limit=1_000))
            if query.text in memory.content and query.text not in memory.content.split()
        ]
        candidates = tuple(Candidate(id_, 1 / rank, 1.0) for rank, id_ in enumerate(found, start=1))
        milliseconds = (perf_counter() - began) * 1e3
        report = LegReport(leg=self.name, found=len(found), milliseconds=milliseconds)
        return Ranking(leg=self.name, candidates=candidates[: query.pool]), report


def two_legs(store: Store, _active: ActiveSpace, settings: Settings) -> tuple[Leg, ...]:
    every: tuple[Leg, ...] = (LexicalLeg(store), WithinLeg(store))
    return tuple(leg for leg in every if settings.leg_weights.get(leg.name, 1.0))


@pytest.fixture
def with_a_second_leg(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product with two legs that never agree, and no graph that follows them."""
    monkeypatch.setattr(config, "LEGS", ("lexical", "within"))
    monkeypatch.setattr(wiring, "_legs", two_legs)
    recall_of = wiring.recall_of

    def without_graph(*parts: Any) -> Recall:
        return replace(recall_of(*parts), following=())

    monkeypatch.setattr(wiring, "recall_of", without_graph)


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """Each query is a word of memories that do not answer it, and part of a word of one that does.

    The two legs never find the same memory.
    """
    corpus: list[Row] = []
    queries: list[Row] = []
    for number, subject in enumerate(words(40)):
        corpus += [
            {"id": f"d{number}-{copy}", "content": f"{subject} is it{' again' * copy}"}
            for copy in range(12)
        ]
        corpus.append({"id": f"m{number}", "content": f"un{subject}ed"})
        queries.append({"query_id": f"q{number}", "text": subject, "relevant_ids": [f"m{number}"]})
    return write_set(tmp_path / "apart", corpus=corpus, queries=queries)


EARLIER_WEIGHTS: dict[str, Any] = {
    "fusion": "rrf",
    "leg_weights": {"within": 0.35},
}


def test_the_weights_of_the_earlier_system_lock_a_leg_out() -> None:
    """The real fusion on candidates that are apart: 0.35/61 is below 1/110."""
    heavy = tuple(Candidate(MemoryId(f"h{n:02}"), 50.0 - n, 1.0) for n in range(50))
    given = [
        Ranking(leg="lexical", candidates=heavy),
        Ranking(leg="within", candidates=(Candidate(MemoryId("alone"), 9.0, 1.0),)),
    ]
    fusion = ReciprocalRank(weights={"within": 0.35})
    assert [fused.id for fused in fusion(given)][-1] == "alone"

    legs = [replace(each, candidates=()) for each in given]
    assert [*locked_out(fusion, legs, 10)] == ["within"]
    assert [*locked_out(fusion, legs, 50)] == ["within"]
    assert locked_out(ConvexCombination(weights={"within": 0.35}), legs, 10) == {}


@pytest.mark.usefixtures("with_a_second_leg")
def test_a_run_reports_a_leg_that_is_locked_out(apart: Path) -> None:
    result = measure(apart, settings=EARLIER_WEIGHTS)
    warned = "\n".join(result.warnings)

    assert "the within leg is locked out" in warned
    assert "the within leg alone found 40 relevant memories, and none that it alone found" in warned
    assert result.legs["within"].alone == 40
    assert result.legs["within"].placed_alone == 0
    assert result.overall["recall@10"] == 0.0


@pytest.mark.usefixtures("with_a_second_leg")
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
def test_a_leg_that_counts_is_not_reported(apart: Path, fusion: str) -> None:
    result = measure(apart, settings={"fusion": fusion})
    assert result.warnings == ()
    assert result.legs["within"].placed_alone == 40
    assert result.overall["recall@10"] == 1.0


# ---- 2. a shuffled ranking ---------------------------------------------------------------------


def test_the_same_run_with_shuffled_rankings_is_worse(folder: Path) -> None:
    result = measure(folder)
    chance = random.Random(5)
    shuffled = with_rankings(
        result, metrics.score, lambda row: chance.sample(row.ranked, len(row.ranked))
    )
    compared = compare(result, shuffled)
    assert compared.headline.verdict is Verdict.WORSE
    assert compare(shuffled, result).headline.verdict is Verdict.BETTER


def test_a_shuffle_inside_the_product_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5)
    select = Selection.__call__

    def shuffled(*args: Any) -> tuple[list[Judged], list[Dropped]]:
        chosen, dropped = select(*args)
        return chance.sample(chosen, len(chosen)), dropped

    monkeypatch.setattr(Selection, "__call__", shuffled)
    result = measure(folder)
    assert "an answer is not in the order of its scores" in "\n".join(result.faults)


# ---- 3. a prior applied twice ------------------------------------------------------------------


def judged_twice(self: Recall, *args: Any) -> list[Judged]:
    """As `Recall._judge`, with the importance once more than the factors say."""
    judged = once(self, *args)
    twice = [
        candidate._replace(score=candidate.score * candidate.factors["importance"])
        for candidate in judged
    ]
    return sorted(twice, key=lambda candidate: (-candidate.score, candidate.id))


once = Recall._judge
factors_of = Adjustments.__call__


def squared(self: Adjustments, *args: Any) -> dict[str, float]:
    factors = factors_of(self, *args)
    return factors | {"importance": factors["importance"] ** 2}


def under_another_name(self: Adjustments, *args: Any) -> dict[str, float]:
    factors = factors_of(self, *args)
    return factors | {"standing": factors["importance"]}


fused_of = Calibrated.__call__


def hidden_in_fusion(self: Calibrated, rankings: Sequence[Ranking]) -> list[Fused]:
    """As `Calibrated`, with a liking for some memories that no leg has."""
    liked = [
        fused._replace(score=fused.score * (2 + sum(map(ord, fused.id)) % 7))
        for fused in fused_of(self, rankings)
    ]
    return sorted(liked, key=lambda fused: (-fused.score, fused.id))


PRIORS: list[tuple[type, str, Callable[..., Any], str]] = [
    (Calibrated, "__call__", hidden_in_fusion, "a fused score is not the weighted sum"),
    (Recall, "_judge", judged_twice, "a score is not its fused score times its factors"),
    (Adjustments, "__call__", squared, "the importance prior is not 1 - weight + weight"),
    (Adjustments, "__call__", under_another_name, "the factor 'standing', which no setting gives"),
]


@pytest.mark.parametrize(("kind", "name", "planted", "fault"), PRIORS)
def test_a_prior_applied_twice_is_a_fault_and_decides_nothing(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type,
    name: str,
    planted: Callable[..., Any],
    fault: str,
) -> None:
    sound = measure(folder)
    sound.write(tmp_path / "sound.json")
    monkeypatch.setattr(kind, name, planted)

    code, output = told("bench", "run", "--data", folder, "--json", tmp_path / "twice.json")
    assert code == 1
    assert "FAULT: " in output
    assert fault in output
    assert "(40 answers)" in output
    assert fault in "\n".join(Result.read(tmp_path / "twice.json").faults)

    code, output = told("bench", "compare", tmp_path / "sound.json", tmp_path / "twice.json")
    assert code == 4
    assert "the second result broke a promise of the ranking" in output


def test_the_product_as_it_is_has_no_fault_with_any_setting(folder: Path) -> None:
    """The audit would be worth nothing if it cried wolf."""
    for settings in (
        {"importance_weight": 1.0},
        {"importance_weight": 0.0, "fusion": "rrf"},
        {"exact_bonus": 0.5, "trust_factors": {"agent": 0.7}},
        {"decay_days": {"facts": 30.0}},
    ):
        assert measure(folder, settings=settings).faults == ()


# ---- 4. judgements of memories that are not there ----------------------------------------------


def test_judgements_of_missing_memories_stop_a_run_and_are_named(tmp_path: Path) -> None:
    corpus, queries = rows_of()
    qrels: list[Row] = [
        {"query_id": row["query_id"], "relevant_ids": [*row["relevant_ids"], f"gone{number}"]}
        for number, row in enumerate(queries)
    ]
    bad = write_set(tmp_path / "bad", corpus=corpus, queries=queries, qrels=qrels)

    with pytest.raises(errors.InvalidData, match="'gone0', which is not in the corpus"):
        measure(bad)
    code, output = told("bench", "run", "--data", bad)
    assert code == 2
    assert "'gone0'" in output
    assert "and 37 more" in output

    code, output = told("bench", "data", "validate", bad, "--json")
    assert code == 2
    problems = [problem["text"] for problem in json.loads(output)["problems"] if problem["fatal"]]
    assert len(problems) == 40
    assert all(f"'gone{number}'" in "\n".join(problems) for number in range(40))


# ---- 5. too few queries ------------------------------------------------------------------------


def test_too_few_queries_are_refused_with_their_number_and_the_minimum(tmp_path: Path) -> None:
    few = small_set(tmp_path / "few", 29)
    measure(few).write(tmp_path / "a.json")
    measure(few, settings={"importance_weight": 1.0}).write(tmp_path / "b.json")

    code, output = told("bench", "compare", tmp_path / "a.json", tmp_path / "b.json")
    assert code == 2
    assert "29 answerable queries were measured; below 30 nothing is concluded" in output
    assert "better" not in output
    assert "worse" not in output


def test_a_small_stratum_says_that_it_is_too_small(folder: Path, tmp_path: Path) -> None:
    measure(folder).write(tmp_path / "a.json")
    measure(folder, settings={"budget_bytes": 1}).write(tmp_path / "b.json")

    code, output = told("bench", "compare", tmp_path / "a.json", tmp_path / "b.json", "--json")
    assert code == 0
    verdicts = {(row["stratum"], row["verdict"]) for row in json.loads(output)["rows"]}
    assert ("overall", "worse") in verdicts
    assert {verdict for stratum, verdict in verdicts if stratum != "overall"} == {"too few queries"}
