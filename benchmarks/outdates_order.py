"""Fit when a newer memory comes before an older one that the query ranks higher.

    python benchmarks/outdates_order.py    # writes src/bearinmind/recall/order_weights.json

It recalls the questions of the training pairs, each world as a store of its own, and those of the
development splits of `changes` and of `agent-store` without its links. It learns from each two of
the best candidates whether the lower one should have come first. How probable it is that one
outdates the other is said by scorers that did not see the world of the two. Needs scikit-learn; run
it after `outdates_scorer.py train`, and after any change of a leg, of the fusion or of the encoder.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import outdates_scorer
from bearinmind.app import Mind
from bearinmind.outdates.scorer import NO_COSINE, features, read
from bearinmind.outdates.verdicts import KEEP, begins
from bearinmind.recall import groups
from bearinmind.recall.groups import CURRENT, EARLIER, OrderWeights, order_evidence
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.trace import Asks, Judged
from bearinmind.types import Group, LinkKind, Memory
from bearinmind_bench import corpus
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import ONLY_USER, EvaluationSet, load
from bearinmind_bench.product import settings_for
from outdates_scorer import Example

DATA = Path(__file__).parent / "data"
WEIGHTS = Path(__file__).parents[1] / "src" / "bearinmind" / "recall" / "order_weights.json"
FOLDS = 3  # of the worlds; each is scored by what the others teach
COST = 2.0  # of a wrong swap, in right ones: most questions have nothing to do with change
LATEST = datetime.fromisoformat("2026-06-01")
STRENGTH = 0.1  # of the data against weights near nothing


class Swap(NamedTuple):
    """A candidate that may be put before a better one, and whether that is right."""

    world: str
    evidence: tuple[float, ...]
    right: bool


class Scorers:
    """Trees of each fold, which did not see the worlds of that fold."""

    def __init__(self, every: list[Example]) -> None:
        worlds = sorted({x.world for x in every})
        self._fold = {world: place % FOLDS for place, world in enumerate(worlds)}
        self._trees = [
            outdates_scorer.Table.of([x for x in every if self._fold[x.world] != fold]).fit()
            for fold in range(FOLDS)
        ]

    def probability(self, world: str, newer: Memory, older: Memory, cosine: float) -> float:
        """How probable it is that one memory outdates the other."""
        days = (newer.created_at - older.created_at).total_seconds() / 86_400
        values = [*features(read(newer.content), read(older.content), days, cosine).values()]
        trees = self._trees[self._fold.get(world, 0)]
        return float(trees.predict_proba([values])[0, 1])


def training_set(folder: Path) -> EvaluationSet:
    """The training pairs as memories of their worlds, with a question for each."""
    rows: dict[str, list[dict[str, Any]]] = {"corpus": [], "queries": [], "qrels": []}
    for place, pair in enumerate(outdates_scorer._rows("train")):
        world, newest = f"train {pair['world']}", LATEST - timedelta(hours=2 * place)
        times = {"newer": newest, "older": newest - timedelta(days=pair["days"])}
        for side, time in times.items():
            rows["corpus"].append(
                {
                    "id": f"{place}-{side}",
                    "user_id": world,
                    "content": pair[side],
                    "category": "facts",
                    "created_at": time.isoformat(timespec="seconds"),
                }
            )
        sides = ("newer",) if pair["outdates"] else ("newer", "older")
        relevant = [f"{place}-{side}" for side in sides]
        query = {"query_id": f"{place}", "relevant_ids": relevant}
        rows["qrels"].append({**query, "grades": dict.fromkeys(relevant, 3)})
        about = {"user_id": world, "text": pair["question"], "stratum": "now", "split": "dev"}
        rows["queries"].append({**query, **about})
    for name, lines in rows.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return load(folder)


def swaps(data: EvaluationSet, scorers: Scorers, store: SqliteStore) -> Iterator[Swap]:
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
        probabilities = {
            frozenset((one.id, other.id)): _probability(
                mind, scorers, world, memories[one.id], memories[other.id]
            )
            for one, other in combinations(best, 2)
        }
        for higher, lower in combinations(best, 2):
            one, other = memories[lower.id], memories[higher.id]
            newer, older = (other, one) if past else (one, other)
            grade, over = (query.grades.get(stored.names[x.id], 0) for x in (lower, higher))
            if newer.created_at <= older.created_at or grade == over or lower.score <= 0:
                continue
            days = (newer.created_at - older.created_at).total_seconds() / 86_400
            is_linked = probabilities[frozenset((one.id, other.id))] >= KEEP
            if not is_linked and days < groups.LEAST_DAYS:
                continue
            evidence = order_evidence(judged, lower, higher, probabilities, days)
            yield Swap(world, evidence, grade > over)
    embedders.close()


def _unlifted(candidate: Judged) -> Judged:
    """A candidate with the score that it had before it was put before another."""
    lifts = [candidate.factors.get(name, 1.0) for name in (CURRENT, EARLIER)]
    return candidate._replace(score=candidate.score / (lifts[0] * lifts[1]))


def _probability(mind: Mind, scorers: Scorers, world: str, one: Memory, other: Memory) -> float:
    older, newer = sorted((one, other), key=begins)
    return scorers.probability(world, newer, older, _cosine(mind, one, other))


def _cosine(mind: Mind, one: Memory, other: Memory) -> float:
    embedder = mind.work.embedder()
    if embedder is None:
        return NO_COSINE
    vectors = mind._parts.store.vectors_of(mind.scope, embedder.space, [one.id, other.id])
    return float(vectors[one.id] @ vectors[other.id])


def fit(chosen: list[Swap]) -> OrderWeights:
    """The weights that these swaps teach."""
    values = np.array([x.evidence for x in chosen])
    mean, deviation = values.mean(0), values.std(0)
    right = np.array([x.right for x in chosen])
    model = LogisticRegression(C=STRENGTH)
    model.fit((values - mean) / deviation, right, np.where(right, 1.0, COST))
    weights = model.coef_[0] / deviation
    return OrderWeights(float(model.intercept_[0] - weights @ mean), *map(float, weights))


def main() -> None:
    """Fit, show how well each world is told by the others, and write the weights."""
    scorers = Scorers(outdates_scorer.examples())
    every: list[Swap] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sets = [training_set(folder), load(DATA / "changes"), load(DATA / "agent-store")]
        for place, data in enumerate(sets):
            with closing(SqliteStore(folder / f"{place}.db")) as store:
                every += swaps(data, scorers, store)
    for world in sorted({x.world for x in every}):
        own = [x for x in every if x.world == world]
        weights = fit([x for x in every if x.world != world])
        odds = [weights.odds(x.evidence) for x in own]
        right = [x.right for x, each in zip(own, odds, strict=True) if each > 0]
        area = roc_auc_score([x.right for x in own], odds)
        print(
            f"{world:14} {len(own):5} AUC {area:.3f}  swapped {len(right):4}, right {sum(right):4}"
        )
    rounded = {name: round(value, 4) for name, value in fit(every)._asdict().items()}
    WEIGHTS.write_text(json.dumps(rounded) + "\n", encoding="utf-8")
    print(f"{WEIGHTS.name}: {rounded}")


if __name__ == "__main__":
    main()
