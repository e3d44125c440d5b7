"""The gate: a change that makes recall worse on our own set does not pass.

The reference is a stored run; `make gate` stores a new one, when a change is meant and measured. It
also stores what the model that reads two texts says: what costs most of the time here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from bearinmind_bench.compare import compare
from bearinmind_bench.evaluation import load
from bearinmind_bench.inference import Verdict
from bearinmind_bench.results import Result
from bearinmind_bench.runner import Plan, run, run_arms
from support.kept_readings import KeptReadings, kept_readings

pytestmark = pytest.mark.long(seconds=7)  # together: most of it is before the first

KEEP = "BEARINMIND_KEEP_READINGS" in os.environ  #: `make gate`

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
GATED = ("ndcg@10", "recall@10")
ARMS: dict[str, dict[str, object]] = {
    "as shipped": {},
    "meaning alone": {"leg_weights": {"lexical": 0}},
    "reciprocal ranks": {"fusion": "rrf"},
    "importance outweighs relevance": {"importance_weight": 1.0},
    "words alone": {"embedder": "none"},  # it writes less, so it has a store of its own
}


@pytest.fixture(scope="module")
def reference() -> Result:
    return Result.read(BENCHMARKS / "results" / "gate.json.gz")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(data=load(BENCHMARKS / "data" / "agent-store"))


@pytest.fixture(scope="module")
def readings() -> Iterator[KeptReadings]:
    """What the model said of most pairs when they were last kept."""
    readings = kept_readings()
    if not KEEP:
        readings.give()
    yield readings
    readings.reader.forget()


@pytest.fixture(scope="module")
def arms(plan: Plan, readings: KeptReadings) -> dict[str, Result]:
    """By name: every arm, over a corpus that is embedded once, for the docs too."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(BENCHMARKS.parent / ".cache"))
        measured = dict(zip(ARMS, run_arms(plan, [*ARMS.values()]), strict=True))
    if KEEP:
        readings.keep()
    return measured


@pytest.fixture(scope="module")
def now(arms: dict[str, Result]) -> Result:
    return arms["as shipped"]


def test_the_reference_was_measured_on_the_set_as_it_is(reference: Result, now: Result) -> None:
    assert reference.manifest.fingerprint == now.manifest.fingerprint
    assert reference.manifest.retriever == now.manifest.retriever == "bearinmind"
    assert not reference.manifest.settings


@pytest.mark.usefixtures("arms")
def test_the_model_still_reads_what_was_kept_of_it(readings: KeptReadings) -> None:
    differences = readings.differences()

    assert len(readings.kept) > 1_000, "another model, or another set: run `make gate`"
    assert len(differences) >= 0.9 * len(readings.again), "other pairs are read: run `make gate`"
    assert mean(differences) <= 0.01  # processors round otherwise


def test_no_stratum_is_worse_than_the_reference(reference: Result, now: Result) -> None:
    worse = [
        f"{row.stratum} {row.metric} {row.difference.mean:+.3f}"
        for row in compare(reference, now, GATED).rows
        if row.verdict is Verdict.WORSE
    ]

    assert worse == []


@pytest.mark.parametrize("metric", GATED)
def test_the_means_stay_within_the_intervals_of_the_reference(
    reference: Result, now: Result, metric: str
) -> None:
    for stratum, means in {"overall": now.overall, **now.strata}.items():
        low, high = reference.intervals[stratum][metric]
        assert low <= means[metric] <= high, f"{stratum}: if this is meant, run `make gate`"


def test_the_answers_keep_the_promises_of_the_ranking(now: Result) -> None:
    assert now.faults == ()
    assert now.warnings == ()


def test_the_earlier_lexical_path_is_beaten(plan: Plan, now: Result) -> None:
    earlier = replace(plan, retriever="research.baselines:EarlierLexical")
    compared = compare(run(earlier), now, GATED)

    assert compared.headline.verdict is Verdict.BETTER
    assert Verdict.WORSE not in {row.verdict for row in compared.rows}


@pytest.mark.parametrize("other", ["words alone", "reciprocal ranks"])
def test_fusion_is_better_than_words_and_than_reciprocal_ranks_and_nowhere_worse(
    arms: dict[str, Result], other: str
) -> None:
    compared = compare(arms[other], arms["as shipped"], GATED)

    assert compared.headline.verdict is Verdict.BETTER
    assert Verdict.WORSE not in {row.verdict for row in compared.rows}


def test_fusion_is_better_than_meaning_and_finds_no_less_anywhere(arms: dict[str, Result]) -> None:
    """Where no word is shared the dense leg alone ranks a little better, and finds no more."""
    compared = compare(arms["meaning alone"], arms["as shipped"], GATED)

    assert compared.headline.verdict is Verdict.BETTER
    worse = {(x.stratum, x.metric) for x in compared.rows if x.verdict is Verdict.WORSE}
    assert worse <= {("paraphrase", "ndcg@10")}


def test_identifiers_are_found_as_well_as_by_words_alone(arms: dict[str, Result]) -> None:
    """An earlier system lost 0.0185 here when it added meaning."""
    words, both = (arms[name].strata["exact"]["ndcg@10"] for name in ("words alone", "as shipped"))
    assert both >= words - 0.005


def test_paraphrases_keep_what_the_dense_leg_finds(arms: dict[str, Result]) -> None:
    """Reciprocal ranks let chance matches by words bury two thirds of it."""
    dense, both, ranks = (
        arms[name].strata["paraphrase"]["recall@10"]
        for name in ("meaning alone", "as shipped", "reciprocal ranks")
    )
    assert both >= 0.95 * dense
    assert ranks < 0.6 * dense


@pytest.mark.parametrize("harm", ["importance outweighs relevance", "reciprocal ranks"])
def test_a_harmful_setting_does_not_pass(
    reference: Result, arms: dict[str, Result], harm: str
) -> None:
    compared = compare(reference, arms[harm], GATED)

    assert Verdict.WORSE in {row.verdict for row in compared.rows}
