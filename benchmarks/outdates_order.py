"""Fit what the number of the pair reader says, and when a newer memory comes before an older one.

    python benchmarks/outdates_order.py    # writes `model_weights.json` and `order_weights.json`

The pair reader of `bearinmind-encoder` was trained on none of the sets that are read here, so that
its numbers of the development topics of `changes` are those of memories that it has not seen. From
them follows how probable a change is. Then the development questions of `changes` and of
`agent-store` without its links are recalled, and each two of the best candidates teach whether the
lower one should have come first. The weights of stores without an encoder, whose links words alone
found, stay as they were fitted before (docs/adr/0047). Needs scikit-learn; run it after any change
of the pair reader, of a leg, of the fusion or of the encoder.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import outdates_scorer
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.models.factory import pair_reader
from bearinmind.outdates.scorer import ModelWeights
from bearinmind.outdates.verdicts import judgement_of
from bearinmind.recall import groups
from bearinmind.recall.groups import CURRENT, EARLIER, OrderWeights, Probabilities, order_evidence
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.trace import Asks, Judged
from bearinmind.types import Group, LinkKind, MemoryId
from bearinmind_bench import corpus
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import ONLY_USER, EvaluationSet, load
from bearinmind_bench.product import settings_for

DATA = Path(__file__).parent / "data"
PACKAGE = Path(__file__).parents[1] / "src" / "bearinmind"
COST = 1.25  # of a wrong swap, in right ones: most questions have nothing to do with change
STRENGTH = 0.1  # of the data against weights near nothing
NEIGHBOUR_COUNTS = 0.1  # of a labelled pair: then hardly a near-miss reaches `MARK` (docs/adr/0056)
BATCH = 256  # pairs that are read at once
RATES = (0.02, 0.05, 0.10)


# ---- how probable a change is --------------------------------------------------------------------


def fit_model() -> ModelWeights:
    """The weights of the model's number; prints how well each world is told by the others."""
    examples = [*outdates_scorer.development()]
    read = pair_reader(EmbeddersOfRun().of(Settings()).configured())
    if read is None:
        raise SystemExit("bearinmind-encoder has no pair reader: build it and install it.")
    pairs = [(x.older, x.newer) for x in examples]
    read_all = (read(pairs[begin : begin + BATCH]) for begin in range(0, len(pairs), BATCH))
    numbers = np.clip(np.concatenate([*read_all]), 1e-6, 1 - 1e-6)
    values = np.stack([np.log(numbers / (1 - numbers)), [math.log1p(x.days) for x in examples]], 1)
    right = np.array([x.outdates for x in examples])
    counts = np.array([1.0 if x.labelled else NEIGHBOUR_COUNTS for x in examples])
    worlds = np.array([x.world for x in examples])
    labelled = np.array([x.labelled for x in examples])
    odds = np.zeros(len(examples))
    for world in sorted({*worlds}):
        own = worlds == world
        model = LogisticRegression().fit(values[~own], right[~own], counts[~own])
        odds[own] = model.decision_function(values[own])
        area = roc_auc_score(right[own & labelled], odds[own & labelled])
        print(f"{world:14} {sum(own & labelled):4} pairs  AUC {area:.3f}")
    wrong = np.sort(odds[labelled & ~right])[::-1]
    for rate in RATES:
        found = np.mean(odds[right] > wrong[int(rate * len(wrong))])
        print(f"{found:.3f} of the changes at {rate:.0%} of the near-misses")
    model = LogisticRegression().fit(values, right, counts)
    return ModelWeights(float(model.intercept_[0]), *map(float, model.coef_[0]))


# ---- which of two candidates comes first ---------------------------------------------------------


class Swap(NamedTuple):
    """A candidate that may be put before a better one, and whether that is right."""

    world: str
    evidence: tuple[float, ...]
    right: bool


def swaps(data: EvaluationSet, store: SqliteStore) -> Iterator[Swap]:
    """Every two of the best candidates of a question of which the lower may come first."""
    embedders = EmbeddersOfRun()
    stored = corpus.fill(store, data, lambda _more: None, withhold=[LinkKind.SUPERSEDES])
    minds: dict[str, Mind] = {}
    for user in data.users:
        settings = settings_for(user, stored.bounds, {})
        minds[user] = Mind(store, settings, embedders=embedders.of(settings))
    next(iter(minds.values())).work.wait()
    for query in data.of_split("dev"):
        mind = minds[query.user]
        world = query.user if query.user != ONLY_USER else data.name
        answer = mind.recall(query.text, limit=10, all=True, group=Group.OFF, as_of=query.as_of)
        memories = {hit.memory.id: hit.memory for hit in (*answer.hits, *answer.weak)}
        judged = sorted(map(_unlifted, answer.trace.judged), key=lambda x: (-x.score, x.id))
        past = answer.trace.time is not None and answer.trace.time.asks is Asks.THEN
        best = judged[: groups.ORDERED]
        probabilities = _probabilities(mind, [x.id for x in best])
        for higher, lower in combinations(best, 2):
            one, other = memories[lower.id], memories[higher.id]
            newer, older = (other, one) if past else (one, other)
            grade, over = (query.grades.get(stored.names[x.id], 0) for x in (lower, higher))
            if newer.created_at <= older.created_at or grade == over or lower.score <= 0:
                continue
            days = (newer.created_at - older.created_at).total_seconds() / 86_400
            if frozenset((one.id, other.id)) not in probabilities and days < groups.LEAST_DAYS:
                continue
            evidence = order_evidence(judged, lower, higher, probabilities, days)
            yield Swap(world, evidence, grade > over)
    embedders.close()


def _probabilities(mind: Mind, ids: list[MemoryId]) -> Probabilities:
    links = mind._parts.store.links(mind.scope, ids)
    return {
        frozenset((x.source, x.target)): judgement_of(x).probability
        for x in links
        if x.kind is LinkKind.OUTDATES
    }


def _unlifted(candidate: Judged) -> Judged:
    """A candidate with the score that it had before it was put before another."""
    lifts = [candidate.factors.get(name, 1.0) for name in (CURRENT, EARLIER)]
    return candidate._replace(score=candidate.score / (lifts[0] * lifts[1]))


def fit_order(chosen: list[Swap]) -> OrderWeights:
    """The weights that these swaps teach."""
    values = np.array([x.evidence for x in chosen])
    mean, deviation = values.mean(0), values.std(0)
    right = np.array([x.right for x in chosen])
    model = LogisticRegression(C=STRENGTH)
    model.fit((values - mean) / deviation, right, np.where(right, 1.0, COST))
    weights = model.coef_[0] / deviation
    return OrderWeights(float(model.intercept_[0] - weights @ mean), *map(float, weights))


def main() -> None:
    """Fit both, show how well each world is told by the others, and write the weights."""
    _write(PACKAGE / "outdates" / "model_weights.json", _rounded(fit_model()))
    every: list[Swap] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("changes", "agent-store"):
            with closing(SqliteStore(Path(folder) / f"{name}.db")) as store:
                every += swaps(load(DATA / name), store)
    for world in sorted({x.world for x in every}):
        own = [x for x in every if x.world == world]
        weights = fit_order([x for x in every if x.world != world])
        odds = [weights.odds(x.evidence) for x in own]
        right = [x.right for x, each in zip(own, odds, strict=True) if each > 0]
        area = roc_auc_score([x.right for x in own], odds)
        print(
            f"{world:14} {len(own):5} AUC {area:.3f}  swapped {len(right):4}, right {sum(right):4}"
        )
    path = PACKAGE / "recall" / "order_weights.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    _write(path, {**kept, groups.READ: _rounded(fit_order(every))})


def _rounded(weights: ModelWeights | OrderWeights) -> dict[str, float]:
    return {name: round(value, 4) for name, value in weights._asdict().items()}


def _write(path: Path, weights: dict[str, Any]) -> None:
    path.write_text(json.dumps(weights) + "\n", encoding="utf-8")
    print(f"{path.name}: {weights}")


if __name__ == "__main__":
    main()
