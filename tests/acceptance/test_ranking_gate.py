"""The gate: a change that makes recall worse on our own set does not pass.

The reference is a stored run; `make gate` stores a new one, when a change is meant and measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from recollect.bench.compare import compare
from recollect.bench.evaluation import load
from recollect.bench.inference import Verdict
from recollect.bench.results import Result
from recollect.bench.runner import Plan, run

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
GATED = ("ndcg@10", "recall@10")


@pytest.fixture(scope="module")
def reference() -> Result:
    return Result.read(BENCHMARKS / "results" / "gate.json.gz")


@pytest.fixture(scope="module")
def now() -> Result:
    return measure()


def measure(settings: Mapping[str, object] | None = None, retriever: str | None = None) -> Result:
    data = load(BENCHMARKS / "data" / "agent-store")
    return run(Plan(data=data, settings=settings or {}, retriever=retriever))


def test_the_reference_was_measured_on_the_set_as_it_is(reference: Result, now: Result) -> None:
    assert reference.manifest.fingerprint == now.manifest.fingerprint
    assert reference.manifest.retriever == now.manifest.retriever == "recollect"
    assert not reference.manifest.settings


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


def test_the_earlier_lexical_path_is_beaten(now: Result) -> None:
    compared = compare(measure(retriever="earlier"), now, GATED)

    assert compared.headline.verdict is Verdict.BETTER
    assert Verdict.WORSE not in {row.verdict for row in compared.rows}


@pytest.mark.parametrize(
    "harm",
    [{"importance_weight": 1.0}, {"lexical": {"inflected": 0.0}}],
    ids=["importance outweighs relevance", "other forms of a word count for nothing"],
)
def test_a_harmful_setting_does_not_pass(reference: Result, harm: dict[str, object]) -> None:
    compared = compare(reference, measure(harm), GATED)

    assert Verdict.WORSE in {row.verdict for row in compared.rows}
