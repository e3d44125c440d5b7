"""Fit the scorer of sentences that last.

    python benchmarks/lasting_scorer.py    # writes src/bearinmind/learn/lasting.json

It learns from the development splits of the labelled messages and of prompts, and prints what it is
worth on folds of them that it did not see, whole messages left out. Needs scikit-learn.
`benchmarks/learning.py` says what comes of it on messages that nothing was fitted on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from bearinmind.learn.lasting import BY_BOTH, BY_WORDS, TOKEN, features
from bearinmind.learn.sentences import sentences
from learning import FILES, FOLDER, PROMPTS, encoder

WEIGHTS = Path(__file__).parents[1] / "src" / "bearinmind" / "learn" / "lasting.json"
KNOWN = 5  # sentences that have a word of which more is known than its shape
SEEN = 3  # sentences that have a run of words which counts
STRENGTH = 0.3  # of the data against weights near nothing
OF_VECTORS = 6.0  # what a vector counts beside the runs
FOLDS = 5
LEAST = 0.005  # of a weight that is kept


class Example(NamedTuple):
    """A sentence and what it is."""

    message: int
    text: str
    lasts: bool
    kind: str | None  #: of what lasts, where that is labelled


def examples() -> list[Example]:
    """The sentences of the development messages, and of prompts, which teach nothing."""
    paths = [*(FOLDER / name for name in FILES), *PROMPTS]
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in map(json.loads, lines) if row["split"] == "dev" and "before" not in row]
    return [
        Example(number, each.text, lasts, row.get("kind") if lasts else None)
        for number, row in enumerate(rows)
        for each in sentences(row["text"])
        if each.own
        for lasts in [_is_meant(each.text, row.get("expect", ()))]
    ]


def _is_meant(text: str, expected: Sequence[Mapping[str, Sequence[str]]]) -> bool:
    text = text.casefold()
    return any(all(word.casefold() in text for word in each["has"]) for each in expected)


def often(each_has: Sequence[set[str]], least: int) -> list[str]:
    """What at least so many have."""
    counts = Counter(one for some in each_has for one in some)
    return sorted(one for one, count in counts.items() if count >= least)


def weights(
    names: Sequence[str], matrix: NDArray[np.float64], labels: Sequence[bool]
) -> dict[str, Any]:
    """The weights of the runs, in their order, and of what stands behind them."""
    model = _regression().fit(matrix, labels)
    runs = zip(names, model.coef_[0], strict=False)
    return {
        "always": round(model.intercept_[0], 3),
        "runs": {name: round(weight, 3) for name, weight in runs if abs(weight) >= LEAST},
        "vector": [round(each * OF_VECTORS, 3) for each in model.coef_[0][len(names) :]],
    }


def _regression() -> LogisticRegression:
    return LogisticRegression(C=STRENGTH, max_iter=3_000)


def worth(every: Sequence[Example], matrix: NDArray[np.float64], floor: float) -> str:
    """What comes of folds that were not seen."""
    lasts = np.array([each.lasts for each in every])
    unseen = cross_val_predict(
        _regression(),
        matrix,
        lasts,
        groups=[each.message for each in every],
        cv=GroupKFold(FOLDS),
        method="predict_proba",
    )[:, 1]
    taken = unseen >= floor
    return (
        f"AUROC {roc_auc_score(lasts, unseen):.3f}; from {floor} on precision "
        f"{lasts[taken].mean():.3f}, recall {taken[lasts].mean():.3f}, and "
        f"{taken[~lasts].mean():.3f} of what does not last"
    )


def main() -> None:
    """Write the weights, and print what they are worth."""
    every = examples()
    known = often([{word.lower() for word in TOKEN.findall(each.text)} for each in every], KNOWN)
    found = [features(each.text, {*known}) for each in every]
    names = often(found, SEEN)
    by_words = np.array([[float(name in some) for name in names] for some in found])
    with encoder() as embed:
        vectors = np.array([embed(each.text) for each in every])
    by_both = np.hstack([by_words, vectors * OF_VECTORS])
    print(f"{len(every):,} sentences, {sum(each.lasts for each in every):,} of which last")
    print("by words:", worth(every, by_words, BY_WORDS))
    print("by words and vectors:", worth(every, by_both, BY_BOTH))
    lasts = [each.lasts for each in every]
    labelled = [each.kind is not None for each in every]
    updates = [each.kind == "update" for each in every if each.kind]
    model = {
        "words": known,
        "by_words": weights(names, by_words, lasts),
        "by_both": weights(names, by_both, lasts),
        "update": weights(names, by_words[labelled], updates),
    }
    WEIGHTS.write_text(json.dumps(model, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
