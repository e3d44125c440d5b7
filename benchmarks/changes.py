"""Things that change: whether it is found, offered, settled and given in the right order.

    python benchmarks/changes.py pairs    which labelled pairs are taken for a change, by shape
    python benchmarks/changes.py offers   what `may_replace` holds, memory by memory as they arrive
    python benchmarks/changes.py agent    an agent that answers every `may_replace` truthfully
    python benchmarks/changes.py hooks    what the hook gives for prompts about changed things
    python benchmarks/changes.py history  which earlier states the history of a thing shows
    python benchmarks/changes.py long     the same questions, four memories in a row as one long one
    python benchmarks/changes.py cost     what finding and grouping cost, see `change_costs`

All but the last take `--split dev` (the default) or `--split test`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import change_costs
import changes_offered
import changes_unasked
from bearinmind.outdates.verdicts import MARK
from bearinmind_bench import corpus
from bearinmind_bench.corpus import SQLITE, EmbeddersOfRun, empty_store
from bearinmind_bench.evaluation import EvaluationSet, Record, load
from bearinmind_bench.product import Product
from bearinmind_bench.results import PairShare, QueryRow
from bearinmind_bench.runner import Plan, run

DATA = Path(__file__).parent / "data" / "changes"
JOINED = 4  # memories that make a long one


def main() -> int:
    """Measure one of these."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=(*MEASURES, "cost"))
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the set")
    parser.add_argument("--keep", action="store_true", help="write the costs down for the docs")
    options = parser.parse_args()
    if options.what == "cost":
        return change_costs.measure(options.data, keep=options.keep)
    with tempfile.TemporaryDirectory() as folder:
        MEASURES[options.what](load(options.data), options.split, Path(folder))
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
    about_now = [row for row in result.rows if row.stale]
    _about_now("all", about_now, head=True)
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


def long(data: EvaluationSet, split: str, _folder: Path) -> None:
    """How well long memories are told apart, each about several things."""
    result = run(Plan(data=_joined(data), split=split))
    print(f"{data.name}, {split}: nDCG@10 {result.overall['ndcg@10']:.3f}")
    if result.verdicts:
        told = [f"{name} {share:.0%}" for name, share in result.verdicts.nothing.items()]
        print(f"nothing for {', '.join(told)}; kept {result.verdicts.kept['overall']:.1%}")
    _about_now("all", [row for row in result.rows if row.stale], head=True)


def _joined(data: EvaluationSet) -> EvaluationSet:
    """Each user's memories, some in a row as one, which answers what one of them answers."""
    joined: list[Record] = []
    whole: dict[str, str] = {}
    for records in data.users.values():
        in_order = sorted(records, key=lambda x: x["created_at"])
        for begin in range(0, len(in_order), JOINED):
            some = in_order[begin : begin + JOINED]
            whole |= dict.fromkeys((x["id"] for x in some), some[0]["id"])
            content = " ".join(x["content"] for x in some)
            joined.append({**some[-1], "id": some[0]["id"], "content": content, "supersedes": []})
    queries = []
    for query in data.queries:
        grades: dict[str, int] = {}
        for id_, grade in query.grades.items():
            grades[whole[id_]] = max(grade, grades.get(whole[id_], 0))
        stale = {whole[id_] for id_ in query.stale if not grades.get(whole[id_])}
        queries.append(replace(query, grades=grades, stale=tuple(sorted(stale))))
    return replace(data, corpus=tuple(joined), queries=tuple(queries), pairs=())


def _shares(shares: dict[str, PairShare]) -> None:
    for name, share in shares.items():
        print(f"{name:28}{share.pairs:6}{share.share:9.1%}")


def _shape(row: QueryRow, shapes: dict[str, str]) -> str:
    return next((shapes[id_] for id_ in (*row.relevant, *row.stale) if id_ in shapes), "")


def _about_now(name: str, rows: Sequence[QueryRow], *, head: bool = False) -> None:
    if head:
        print(f"\n{'questions about now':28}{'':>6}  current first  stale above  stale without")
    if rows:
        first, above, without = (
            _mean(row.metrics[metric] for row in rows)
            for metric in ("current_first", "stale_above_current", "stale_without_current@5")
        )
        print(f"  {name:26}{len(rows):6}{first:15.1%}{above:13.1%}{without:15.1%}")


def _mean(values: Iterable[float]) -> float:
    listed = [*values]
    return sum(listed) / len(listed)


MEASURES: dict[str, Callable[[EvaluationSet, str, Path], None]] = {
    "pairs": pairs,
    "offers": changes_offered.offers,
    "agent": changes_offered.agent,
    "hooks": changes_unasked.hooks,
    "history": history,
    "long": long,
}

if __name__ == "__main__":
    sys.exit(main())
