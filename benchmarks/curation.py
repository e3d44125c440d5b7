"""What consolidation finds, and what it must not: planted near-duplicates and near-misses.

    python benchmarks/curation.py [--model NAME] [--words]

A pair is merged when the words say that it is one fact and, where there is an encoder, when the
meanings are near as well. It is shown for review when the meanings are near and both name the same
things. Word groups and thresholds were chosen on the development half; the other half is only
counted. One merged near-miss makes this fail.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bearinmind.config import Settings
from bearinmind.curate.differences import compare, may_be_same, read
from bearinmind.models import factory

PLANTED = Path(__file__).parent / "data/consolidation/facts.jsonl"
THRESHOLDS = (0.80, 0.85, 0.90, 0.925, 0.95, 0.975)


class Pair(NamedTuple):
    """Two texts, and whether they say the same."""

    one: str
    other: str
    differs_in: str  #: nothing when they say the same
    split: str


class Counted(NamedTuple):
    """What became of some pairs."""

    same: int
    merged: int  #: of the same ones
    reviewed: int  #: likewise
    misses: int
    wrong: int  #: misses that were merged
    doubted: int  #: misses that were shown for review

    @property
    def precision(self) -> float:
        """Of what was merged, how much is the same."""
        said = self.merged + self.wrong
        return self.merged / said if said else 1.0


def main() -> int:
    """Print what is merged and reviewed, by threshold and by what the near-misses differ in."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default=factory.DEFAULT_EMBEDDER, help="the local encoder")
    parser.add_argument("--words", action="store_true", help="go by words alone")
    options = parser.parse_args()
    pairs = load()
    shipped = Settings().curate_cosine
    cosines = dict.fromkeys(pairs, 1.0)
    print(f"{len(pairs)} pairs; near-misses differ in {_kinds(pairs)}\n")
    print(f"{'':30}merged  recall  with review  near-misses  merged  reviewed")
    for split in ("dev", "test"):
        _line(f"{split}, words alone", count(pairs, cosines, split, None))
    if not options.words:
        cosines = dict(zip(pairs, _cosines(pairs, options.model), strict=True))
        for threshold in THRESHOLDS:
            _line(f"dev, cosine {threshold}", count(pairs, cosines, "dev", threshold))
        _line(f"test, cosine {shipped} (shipped)", count(pairs, cosines, "test", shipped))
    wrong = sum(count(pairs, cosines, split, None).wrong for split in ("dev", "test"))
    print(f"\nnear-misses that were merged: {wrong}")
    return 1 if wrong else 0


def load() -> list[Pair]:
    """The planted pairs."""
    pairs: list[Pair] = []
    for line in PLANTED.read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        pairs += [Pair(fact["fact"], text, "", fact["split"]) for text in fact["same"]]
        pairs += [Pair(fact["fact"], x["text"], x["in"], fact["split"]) for x in fact["differ"]]
    return pairs


def count(
    pairs: Sequence[Pair], cosines: dict[Pair, float], split: str, at_least: float | None
) -> Counted:
    """What becomes of the pairs of one half."""
    seen: Counter[tuple[bool, str]] = Counter()
    for pair in pairs:
        if pair.split == split:
            near = at_least is None or cosines[pair] >= at_least
            seen[not pair.differs_in, _fate(pair, near=near, reviews=at_least is not None)] += 1
    return Counted(
        same=sum(number for (same, _), number in seen.items() if same),
        merged=seen[True, "merged"],
        reviewed=seen[True, "reviewed"],
        misses=sum(number for (same, _), number in seen.items() if not same),
        wrong=seen[False, "merged"],
        doubted=seen[False, "reviewed"],
    )


def _fate(pair: Pair, *, near: bool, reviews: bool) -> str:
    comparison = compare(pair.one, pair.other)
    if comparison.is_same and near:
        return "merged"
    if reviews and near and may_be_same(read(pair.one), read(pair.other)):
        return "reviewed"
    return "left"


def _line(name: str, counted: Counted) -> None:
    recall = counted.merged / counted.same
    shown = (counted.merged + counted.reviewed) / counted.same
    print(
        f"{name:30}{counted.merged:6}{recall:8.3f}{shown:13.3f}"
        f"{counted.misses:13}{counted.wrong:8}{counted.doubted:10}"
    )


def _kinds(pairs: Sequence[Pair]) -> str:
    kinds = Counter(pair.differs_in for pair in pairs if pair.differs_in)
    return ", ".join(f"{kind} {number}" for kind, number in kinds.most_common())


def _cosines(pairs: Sequence[Pair], model: str) -> list[float]:
    """How near the texts of each pair are to an encoder."""
    embedder = factory.choose_embedder(model, factory.EmbedderOptions())
    if embedder is None:
        raise SystemExit(f"{model!r} is no encoder")
    ones = sorted({pair.one for pair in pairs})
    places = {text: place for place, text in enumerate(ones)}
    first = embedder.embed_memories(ones)[[places[pair.one] for pair in pairs]]
    second = embedder.embed_memories([pair.other for pair in pairs])
    embedder.close()
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return [float(x) for x in np.einsum("ij,ij->i", first, second) / norms]


if __name__ == "__main__":
    raise SystemExit(main())
