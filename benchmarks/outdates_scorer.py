"""Train the scorer that says how probable it is that one memory outdates another.

    python benchmarks/outdates_scorer.py check    # each world left out in turn
    python benchmarks/outdates_scorer.py train    # writes src/bearinmind/outdates/weights.json

It learns from `benchmarks/data/changes`: the training pairs, the labelled pairs of the development
topics, and pairs of neighbours that nobody labelled, of these topics and of ordinary stores in
which nothing changes; those are taken for two things. The test topics are never read. `--more` adds
`train2.jsonl` and `background2.jsonl`, with which nothing got better (docs/adr/0047). Needs
scikit-learn (`pip install scikit-learn`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from bearinmind.config import Settings
from bearinmind.outdates.scorer import NO_COSINE, features, read
from bearinmind_bench.corpus import EmbeddersOfRun

DATA = Path(__file__).parent / "data" / "changes"
WEIGHTS = Path(__file__).parents[1] / "src" / "bearinmind" / "outdates" / "weights.json"
SEED = 17
NEIGHBOURS = 25  # of each memory that a pair may be made with
LESS = 0.3  # what a pair of neighbours counts that is taken for two things
RATES = (0.02, 0.05, 0.10, 0.20)
TREES = {
    "n_estimators": 200,
    "max_depth": 4,
    "subsample": 0.6,
    "learning_rate": 0.06,
    "min_samples_leaf": 20,
    "max_features": 0.3,
    "random_state": SEED,
}


Record = dict[str, Any]
Vectors = dict[str, Any]  #: by text, of length 1
Embed = Callable[[list[str]], Vectors]


class Example(NamedTuple):
    """A pair, labelled or not."""

    world: str
    newer: str
    older: str
    days: float
    cosine: float
    outdates: bool
    labelled: bool


def examples(*, more: bool = False) -> list[Example]:
    """Every pair to learn from."""
    embed = _embedder()
    added = [*_training(embed, "train2"), *_background(embed, "background2")] if more else []
    return [*_training(embed), *development(embed), *_background(embed), *added]


def _embedder() -> Embed:
    embedder = EmbeddersOfRun().of(Settings()).configured()
    if embedder is None:
        raise SystemExit("No embedder is configured.")
    return lambda texts: dict(zip(texts, embedder.embed_memories(texts), strict=True))


def _training(embed: Embed, name: str = "train") -> Iterator[Example]:
    records = _rows(name)
    vectors = embed([*dict.fromkeys(x[side] for x in records for side in ("newer", "older"))])
    for x in records:
        cosine = float(vectors[x["newer"]] @ vectors[x["older"]])
        world = f"train {x['world']}"
        yield Example(world, x["newer"], x["older"], x["days"], cosine, x["outdates"], True)


def _background(embed: Embed, name: str = "background") -> Iterator[Example]:
    memories = [{**x, "id": str(place)} for place, x in enumerate(_rows(name))]
    vectors = embed([x["content"] for x in memories])
    for newer, older in _neighbours(memories, vectors, set()):
        yield _example(newer, older, vectors, outdates=False, labelled=False)


def development(embed: Embed | None = None) -> Iterator[Example]:
    """The labelled pairs of the development topics, and their neighbours."""
    embed = embed or _embedder()
    pairs = _rows("pairs")
    unseen = {x[end] for x in pairs for end in ("newer", "older") if x["split"] == "test"}
    memories = [x for x in _rows("corpus") if x["id"] not in unseen]
    vectors = embed([*dict.fromkeys(x["content"] for x in memories)])
    labels = {(x["newer"], x["older"]): x["label"] == "outdates" for x in pairs}
    chained = _chained({pair for pair, outdates in labels.items() if outdates})
    for newer, older in _neighbours(memories, vectors, labels):
        pair = (newer["id"], older["id"])
        if pair in chained and pair not in labels:
            continue  # two states of one thing with others between
        outdates = labels.get(pair, False)
        yield _example(newer, older, vectors, outdates=outdates, labelled=pair in labels)


def _example(
    newer: Record, older: Record, vectors: Vectors, *, outdates: bool, labelled: bool
) -> Example:
    days = (_time(newer) - _time(older)).total_seconds() / 86_400
    texts = (newer["content"], older["content"])
    cosine = float(vectors[texts[0]] @ vectors[texts[1]])
    return Example(newer["user_id"], *texts, days, cosine, outdates, labelled)


def _neighbours(
    memories: list[Record], vectors: Vectors, labelled: Iterable[tuple[str, str]]
) -> Iterator[tuple[Record, Record]]:
    """The labelled pairs and those of near memories of a world, each once, the newer first."""
    by_id = {x["id"]: x for x in memories}
    found = {pair for pair in labelled if pair[0] in by_id and pair[1] in by_id}
    for world in sorted({x["user_id"] for x in memories}):
        own = [x for x in memories if x["user_id"] == world]
        matrix = np.stack([vectors[x["content"]] for x in own])
        for place, row in enumerate(matrix @ matrix.T):
            for other in np.argsort(-row)[1 : NEIGHBOURS + 1]:
                two = sorted((own[place], own[other]), key=lambda x: (_time(x), x["id"]))
                found.add((two[1]["id"], two[0]["id"]))
    return ((by_id[newer], by_id[older]) for newer, older in sorted(found))


def _chained(direct: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Every pair of states of one thing."""
    pairs = {*direct}
    while more := {(a, d) for a, b in pairs for c, d in direct if b == c} - pairs:
        pairs |= more
    return pairs


def _time(record: Record) -> datetime:
    return datetime.fromisoformat(record["created_at"])


def _rows(name: str) -> list[Record]:
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Table(NamedTuple):
    """Examples as numbers: with their cosine, and once more without."""

    values: Any
    labels: Any
    weights: Any

    @classmethod
    def of(cls, chosen: list[Example]) -> Table:
        """A row for each example."""
        weights = np.array([1.0 if x.labelled else LESS for x in chosen])
        values = [_values(x) for x in chosen] + [_values(x, blind=True) for x in chosen]
        labels = np.array([x.outdates for x in chosen] * 2)
        return cls(np.array(values), labels, np.tile(weights, 2))

    def fit(self) -> GradientBoostingClassifier:
        """Trees that were trained on it."""
        return GradientBoostingClassifier(**TREES).fit(self.values, self.labels, self.weights)


def _values(x: Example, *, blind: bool = False) -> list[float]:
    cosine = NO_COSINE if blind else x.cosine
    return [*features(read(x.newer), read(x.older), x.days, cosine).values()]


def left_out(every: list[Example], *, blind: bool = False) -> list[tuple[Example, float]]:
    """The log odds of each labelled pair by trees that did not see its world."""
    odds: list[tuple[Example, float]] = []
    for world in sorted({x.world for x in every if x.labelled}):
        trees = Table.of([x for x in every if x.world != world]).fit()
        own = [x for x in every if x.world == world and x.labelled]
        scores = trees.decision_function(np.array([_values(x, blind=blind) for x in own]))
        odds += zip(own, map(float, scores), strict=True)
    return odds


def check(every: list[Example]) -> None:
    """Print how well each world is told by what the others teach."""
    for blind in (False, True):
        odds = left_out(every, blind=blind)
        print("without the cosine" if blind else "with the cosine")
        for world in sorted({x.world for x, _ in odds}):
            part = [(x.outdates, score) for x, score in odds if x.world == world]
            area = roc_auc_score(*zip(*part, strict=True))
            print(f"  {world:14} {len(part):4} pairs  AUC {area:.3f}")
        dev = [(x.outdates, score) for x, score in odds if not x.world.startswith("train")]
        wrong = sorted((score for outdates, score in dev if not outdates), reverse=True)
        for rate in RATES:
            least = wrong[int(rate * len(wrong))]
            right = [score > least for outdates, score in dev if outdates]
            print(f"  dev: {np.mean(right):.3f} of the changes at {rate:.0%} of the near-misses")


def train(every: list[Example]) -> None:
    """Write the weights."""
    trees = Table.of(every).fit()
    names = [*features(read(""), read(""), 0.0, 0.0)]
    written = {
        "features": names,
        "base": round(float(trees._raw_predict_init(np.zeros((1, len(names))))[0, 0]), 4),
        "trees": [_tree(each.tree_, 0, trees.learning_rate) for each in trees.estimators_[:, 0]],
    }
    WEIGHTS.write_text(json.dumps(written, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes")


def _tree(tree: Any, node: int, rate: float) -> Any:  # noqa: ANN401  scikit-learn's, and ours
    if tree.children_left[node] < 0:
        return round(float(tree.value[node, 0, 0]) * rate, 4)
    below = [_tree(tree, child[node], rate) for child in (tree.children_left, tree.children_right)]
    return [int(tree.feature[node]), round(float(tree.threshold[node]), 4), *below]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["check", "train"])
    parser.add_argument("--more", action="store_true", help="with the second training files")
    options = parser.parse_args()
    {"check": check, "train": train}[options.what](examples(more=options.more))
