"""Things that change: whether it is found, offered, settled and given in the right order.

    python benchmarks/changes.py pairs    which labelled pairs are taken for a change, by shape
    python benchmarks/changes.py offers   what `may_replace` holds, memory by memory as they arrive
    python benchmarks/changes.py agent    an agent that answers every `may_replace` truthfully
    python benchmarks/changes.py hooks    what the hook gives for prompts about changed things
    python benchmarks/changes.py history  which earlier states the history of a thing shows
    python benchmarks/changes.py cost     what finding and grouping cost, see `change_costs`

All but the last take `--split dev` (the default) or `--split test`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import change_costs
import changes_offered
import changes_unasked
from bearinmind.outdates.verdicts import MARK
from bearinmind_bench import corpus
from bearinmind_bench.corpus import SQLITE, EmbeddersOfRun, empty_store
from bearinmind_bench.evaluation import EvaluationSet, load
from bearinmind_bench.product import Product
from bearinmind_bench.results import PairShare, QueryRow
from bearinmind_bench.runner import Plan, run

DATA = Path(__file__).parent / "data" / "changes"


def main() -> int:
    """Measure one of these."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("pairs", "offers", "agent", "hooks", "history", "cost"))
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the set")
    parser.add_argument("--keep", action="store_true", help="write the costs down for the docs")
    options = parser.parse_args()
    if options.what == "cost":
        return change_costs.measure(options.data, keep=options.keep)
    measures: dict[str, Callable[[EvaluationSet, str, Path], None]] = {
        "pairs": pairs,
        "offers": changes_offered.offers,
        "agent": changes_offered.agent,
        "hooks": changes_unasked.hooks,
        "history": history,
    }
    with tempfile.TemporaryDirectory() as folder:
        measures[options.what](load(options.data), options.split, Path(folder))
    return 0


def pairs(data: EvaluationSet, split: str, _folder: Path) -> None:
    """Which labelled pairs are taken for a change, and where the current memories stand."""
    result = run(Plan(data=data, split=split))
    measured = result.pairs
    if measured is None:
        raise SystemExit(f"{data.name} has no pairs in the split {split}")
    print(f"{data.name}, {split}: marked from a probability of {MARK}\n")
    _shares(
        {
            "changes found": measured.changes_found,
            "  announced": measured.announced,
            "  silent": measured.silent,
            "wrongly outdated": measured.wrongly_outdated,
            **{f"  {shape}": share for shape, share in measured.shapes.items()},
        }
    )
    print(f"\n{'questions about now':28}{'':>6}  current first  stale above  stale without")
    about_now = [row for row in result.rows if row.stale]
    _about_now("all", about_now)
    shapes = {pair.newer: pair.shape for pair in data.pairs if pair.outdates}
    for shape in sorted({*shapes.values()}):
        _about_now(shape, [row for row in about_now if _shape(row, shapes) == shape])


def history(data: EvaluationSet, split: str, _folder: Path) -> None:
    """Which earlier states `history` shows, asked with each question about now as the thing."""
    changes = {(pair.older, pair.newer) for pair in data.pairs if pair.outdates}
    stale = shown = steps = wrong = 0
    with empty_store(SQLITE) as store, closing(EmbeddersOfRun()) as embedders:
        stored = corpus.fill(store, data, lambda _more: None)
        product = Product(stored, {}, embedders)
        product.embed()
        for query in data.of_split(split):
            if not query.stale:
                continue
            states = {*query.stale, *query.relevant}
            chains = product.mind_of(query.user).history(query.text).chains
            named = [[stored.names[state.memory.id] for state in chain] for chain in chains]
            stale += len(query.stale)
            shown += len({*query.stale} & {name for chain in named for name in chain[:-1]})
            for step in (step for chain in named for step in pairwise(chain)):
                steps += 1
                wrong += step not in changes and not {*step} <= states
    print(f"{data.name}, {split}: of {stale} earlier states {shown / stale:.1%} are shown as such;")
    print(f"of {steps} steps between two states {wrong / steps:.1%} are not known to be one")


def _shares(shares: dict[str, PairShare]) -> None:
    for name, share in shares.items():
        print(f"{name:28}{share.pairs:6}{share.share:9.1%}")


def _shape(row: QueryRow, shapes: dict[str, str]) -> str:
    return next((shapes[id_] for id_ in (*row.relevant, *row.stale) if id_ in shapes), "")


def _about_now(name: str, rows: Sequence[QueryRow]) -> None:
    if rows:
        first, above, without = (
            _mean(row.metrics[metric] for row in rows)
            for metric in ("current_first", "stale_above_current", "stale_without_current@5")
        )
        print(f"  {name:26}{len(rows):6}{first:15.1%}{above:13.1%}{without:15.1%}")


def _mean(values: Iterable[float]) -> float:
    listed = [*values]
    return sum(listed) / len(listed)


if __name__ == "__main__":
    sys.exit(main())
