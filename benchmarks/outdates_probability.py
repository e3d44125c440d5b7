"""Fit what the number of the model that reads two memories says: how probable a change is.

    python benchmarks/outdates_probability.py    # writes `model_weights.json`

The pair reader of `bearinmind-encoder` was trained on none of the sets that are read here, so that
its numbers of the development topics of `changes` are those of memories that it has not seen. Needs
scikit-learn; run it after any change of the pair reader.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import outdates_scorer
from bearinmind.config import Settings
from bearinmind.models.factory import pair_reader
from bearinmind.outdates.scorer import ModelWeights
from bearinmind.protocols import Reads
from bearinmind_bench.corpus import EmbeddersOfRun

WEIGHTS = Path(__file__).parents[1] / "src" / "bearinmind" / "outdates" / "model_weights.json"
NEIGHBOUR_COUNTS = 0.3  # of a labelled pair: then no near-miss reaches `MARK` (docs/adr/0057)
BATCH = 256  # pairs that are read at once
RATES = (0.02, 0.05, 0.10)


def fit_model() -> ModelWeights:
    """The weights of the model's number; prints how well each world is told by the others."""
    examples = [*outdates_scorer.development()]
    read = pair_reader(EmbeddersOfRun().of(Settings()).configured())
    if read is None:
        raise SystemExit("bearinmind-encoder has no pair reader: build it and install it.")
    pairs = [(x.older, x.newer) for x in examples]
    parts = (pairs[begin : begin + BATCH] for begin in range(0, len(pairs), BATCH))
    read_all = (read(Reads.OUTDATES, part) for part in parts)
    numbers = np.clip(np.concatenate([*read_all]), 1e-6, 1 - 1e-6)
    values = np.log(numbers / (1 - numbers))[:, np.newaxis]
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


def main() -> None:
    """Fit the weights, show how well each world is told by the others, and write them."""
    weights = {name: round(value, 4) for name, value in fit_model()._asdict().items()}
    WEIGHTS.write_text(json.dumps(weights) + "\n", encoding="utf-8")
    print(f"{WEIGHTS.name}: {weights}")


if __name__ == "__main__":
    main()
