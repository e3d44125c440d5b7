"""Which names are one concept: rules, the embedder, and both, on labelled pairs.

    python benchmarks/canonical.py [--model NAME]

The threshold is chosen on development pairs, as the lowest at which the embedder is right so often
about what it calls the same; the other pairs are only counted with it. Whether the embedder adds
anything is to be seen in what it finds that no rule does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bearinmind.concepts import Kind
from bearinmind.graph import canonical
from bearinmind.graph.rules import kind_of
from bearinmind.graph.spellings import CERTAIN, Named, are_distinct, judge
from bearinmind.models import factory

LABELLED = Path(__file__).parents[1] / "tests/unit/labelled/same_concept.jsonl"
WANTED = 0.98  # precision on development pairs
THRESHOLDS = [round(0.90 + step * 0.005, 3) for step in range(20)]


class Pair(NamedTuple):
    """Two labels, and whether they name one concept."""

    one: str
    other: str
    kind: str
    same: bool
    split: str


class Counted(NamedTuple):
    """How often something was right in calling pairs the same."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """Of those that it calls the same, how many are."""
        said = self.right + self.wrong
        return self.right / said if said else 1.0

    @property
    def recall(self) -> float:
        """Of those that are the same, how many it finds."""
        return self.right / (self.right + self.missed)


def main() -> int:
    """Print precision and recall by threshold, and of the chosen one on the other pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default=factory.DEFAULT_EMBEDDER, help="the local encoder")
    options = parser.parse_args()
    pairs = load()
    near = dict(zip(pairs, cosines(pairs, options.model), strict=True))
    dev = [pair for pair in pairs if pair.split == "dev"]
    test = [pair for pair in pairs if pair.split == "test"]
    print(f"{len(dev)} development pairs, {len(test)} test pairs, encoder {options.model}\n")
    _show("development", dev, near, THRESHOLDS)
    chosen = threshold(dev, near)
    print(f"\nchosen threshold {chosen} (shipped: {canonical.THRESHOLD})\n")
    _show("test", test, near, [chosen])
    return 0


def load() -> list[Pair]:
    """The labelled pairs."""
    lines = LABELLED.read_text(encoding="utf-8").splitlines()
    return [Pair(**json.loads(line)) for line in lines]


def threshold(pairs: Sequence[Pair], near: dict[Pair, float]) -> float:
    """The lowest at which the embedder is right often enough, there and at all higher ones."""
    lowest = 1.0
    for value in reversed(THRESHOLDS):
        if count(pairs, partial(is_near, near=near, at_least=value)).precision < WANTED:
            break
        lowest = value
    return lowest


def count(pairs: Sequence[Pair], says_same: Callable[[Pair], bool]) -> Counted:
    """How often it is right."""
    said = [(says_same(pair), pair.same) for pair in pairs]
    return Counted(said.count((True, True)), said.count((True, False)), said.count((False, True)))


def by_rules(pair: Pair, at_least: float) -> bool:
    """Whether the rules are this sure that two labels are one concept."""
    verdict = judge(_named(pair.one), _named(pair.other))
    return verdict is not None and verdict.score >= at_least


def is_near(pair: Pair, near: dict[Pair, float], at_least: float) -> bool:
    """Whether the embedder may compare two labels, and finds them near."""
    return is_compared(pair) and near[pair] >= at_least


def is_compared(pair: Pair) -> bool:
    """Whether two labels share a block, and nothing tells them apart."""
    share = canonical.blocks_of(pair.one) & canonical.blocks_of(pair.other)
    return bool(share) and not are_distinct(pair.one, pair.other)


def _show(
    name: str, pairs: Sequence[Pair], near: dict[Pair, float], thresholds: Sequence[float]
) -> None:
    print(f"{name:34}precision  recall  right  wrong")
    _line("rules, certain", count(pairs, lambda pair: by_rules(pair, CERTAIN)))
    _line("rules, with what is proposed", count(pairs, lambda pair: by_rules(pair, 0.0)))
    for value in thresholds:
        is_so = partial(is_near, near=near, at_least=value)
        beyond = [pair for pair in pairs if not by_rules(pair, 0.0)]
        alone, extra = count(pairs, is_so), count(beyond, is_so)
        found = f"beyond the rules: {extra.right} right, {extra.wrong} wrong"
        _line(f"embedder at {value}", alone, found)


def _line(name: str, counted: Counted, more: str = "") -> None:
    figures = f"{counted.precision:9.3f}{counted.recall:8.3f}{counted.right:7}{counted.wrong:7}"
    print(f"{name:34}{figures}  {more}".rstrip())


def _named(label: str) -> Named:
    return Named(label, Kind.TOPIC if label.islower() else kind_of(label))


def cosines(pairs: Sequence[Pair], model: str) -> list[float]:
    """How near the labels of each pair are to an encoder."""
    embedder = factory.choose_embedder(model, factory.EmbedderOptions())
    if embedder is None:
        raise SystemExit(f"{model!r} is no encoder")
    with_norm = [
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (
            embedder.embed_memories([pair.one for pair in pairs]),
            embedder.embed_memories([pair.other for pair in pairs]),
        )
    ]
    embedder.close()
    return [float(cosine) for cosine in np.einsum("ij,ij->i", *with_norm)]


if __name__ == "__main__":
    raise SystemExit(main())
