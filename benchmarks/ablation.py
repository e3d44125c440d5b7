"""What those parts of the lexical leg are worth that no setting turns off (ADR 0004 and 0005).

    python benchmarks/ablation.py --data DIR [--data DIR ...]

Each row is the product with one part switched off, on the development split. What a setting can
change is in sweeps/lexical.toml; FTS5 by itself is one of the baselines.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

from bearinmind.store import database
from bearinmind.text import analysis
from bearinmind_bench.evaluation import EvaluationSet, load
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.runner import Plan, run
from bearinmind_bench.sweep import tunable_split


def main() -> int:
    """Print the headline metric of every variant on every set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, action="append", required=True, help="a set's folder")
    sets = [load(folder) for folder in parser.parse_args().data]
    names = " ".join(f"{data.name:>14}" for data in sets)
    print(f"{HEADLINE + ', development splits':32} {names}   mean")
    for name, switched in VARIANTS.items():
        with switched():
            figures = [_headline(data) for data in sets]
        cells = " ".join(f"{figure:14.4f}" for figure in figures)
        print(f"{name:32} {cells} {sum(figures) / len(figures):6.4f}", flush=True)
    return 0


def _headline(data: EvaluationSet) -> float:
    plan = Plan(data=data, split=tunable_split(data), settings={"embedder": "none"})
    return run(plan).overall[HEADLINE]


@contextmanager
def _no_stemming() -> Iterator[None]:
    keep: Callable[[list[str]], list[str]] = list
    analysis._label_terms.cache_clear()
    with patch.object(analysis, "_stem", keep):
        yield
    analysis._label_terms.cache_clear()


def _no_function_words() -> AbstractContextManager[object]:
    return patch.object(analysis, "FUNCTION_WORDS", frozenset())


def _pruned(enough: int) -> Callable[[], AbstractContextManager[object]]:
    """How many matches the rarest terms must have before common ones are left out."""
    return lambda: patch.multiple(database, _ENOUGH=enough, _FEWER=enough)


VARIANTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "shipped": nullcontext,
    "no stemming": _no_stemming,
    "function words as others": _no_function_words,
    "every term searched": _pruned(10**9),
    "8 matches each": _pruned(8),
    "4 matches each": _pruned(4),
    "2 matches each": _pruned(2),
}

if __name__ == "__main__":
    sys.exit(main())
