"""Recall by word and meaning as shipped, but with embedders that no setting names.

What is compared here chooses, so it looks at development queries alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bearinmind.config import Settings
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Embedder
from bearinmind.store.sqlite import SqliteStore
from bearinmind_bench import compare, corpus, inference, runner, validation
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus
from bearinmind_bench.evaluation import EvaluationSet, load
from bearinmind_bench.inference import Difference
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.product import Product
from bearinmind_bench.results import QueryRow
from bearinmind_bench.summary import OVERALL, strata
from bearinmind_bench.sweep import tunable_split

METRICS = (HEADLINE, "recall@10")
#: Embedders are compared by what they find themselves, not by where the graph leads from there.
_WITHOUT_GRAPH = {"leg_weights": {"graph": 0.0}}

Rows = Sequence[QueryRow]


class EmbeddersOfArm(EmbeddersOfRun):
    """One embedder, whatever the settings say. Closing it is for whoever made it."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__()
        self._embedder = embedder

    def of(self, settings: Settings) -> Embedders:  # noqa: ARG002  they have no say
        """That embedder."""
        return Embedders.among(self._embedder)


def arguments(description: str | None) -> argparse.Namespace:
    """Which sets to measure, and in how much detail."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, action="append", required=True, help="a set's folder")
    parser.add_argument("--strata", action="store_true", help="show each stratum, too")
    return parser.parse_args()


@contextmanager
def filled(folder: Path) -> Iterator[tuple[EvaluationSet, StoredCorpus]]:
    """A set, and its corpus in a store that is gone afterwards."""
    data = load(folder)
    validation.refuse_unsound(data)
    with tempfile.TemporaryDirectory(prefix="bearinmind-bench-") as place:
        store = SqliteStore(Path(place) / "memories.db")
        try:
            yield data, corpus.fill(store, data, lambda _more: None)
        finally:
            store.close()


def ask(data: EvaluationSet, stored: StoredCorpus, embedder: Embedder) -> Rows:
    """What recall makes of the development queries once an embedder's space is the active one."""
    product = Product(stored, _WITHOUT_GRAPH, EmbeddersOfArm(embedder))
    product.embed()
    rows = [
        runner.row_of(query, product.ask(query), data.top_grade)
        for query in data.of_split(tunable_split(data))
    ]
    broken = [*product.faults, *(reason for row in rows for reason in row.degraded)]
    if broken:  # figures of something else than what they are said to be of
        raise SystemExit(f"{data.name}: {broken[0]}")
    stored.store.drop_retired()
    return rows


def show(name: str, arms: Mapping[str, Rows], *, by_stratum: bool) -> None:
    """Print what each arm reached, and how it compares with the first one."""
    groups = {arm: strata(rows) for arm, rows in arms.items()}
    overall, *others = next(iter(groups.values()))
    for family in ([overall], others if by_stratum else []):
        cells = [_cells(groups, family, metric) for metric in METRICS]
        for stratum in family:
            _print(f"{name}, {stratum}", *(f"{x:>10} change, 95 % interval" for x in METRICS))
            for arm in arms:
                _print(arm, *(column[stratum, arm] for column in cells))
            print(flush=True)


def _print(name: str, *cells: str) -> None:
    print(f"{name:40}{''.join(f'{cell:54}' for cell in cells)}".rstrip())


def _cells(
    groups: Mapping[str, Mapping[str, Rows]], family: Sequence[str], metric: str
) -> dict[tuple[str, str], str]:
    """By stratum and arm: its figure, and the difference from the first arm.

    The p-values of all of them are corrected for being looked at together.
    """
    [(first, before), *others] = groups.items()
    found = {
        (stratum, arm): _difference(before[stratum], after[stratum], metric)
        for stratum in family
        for arm, after in others
    }
    corrected = compare.together([*found.values()], inference.MINIMUM_QUERIES)
    cells = {(stratum, first): f"{_mean(before[stratum], metric):10.4f}" for stratum in family}
    for (place, each), p in zip(found.items(), corrected, strict=True):
        change = f"{each.mean:+.4f} [{each.low:+.4f}, {each.high:+.4f}]"
        cells[place] = f"{each.after:10.4f} {change} {inference.verdict(each, p)}"
    return cells


def _difference(before: Rows, after: Rows, metric: str) -> Difference:
    return inference.difference(
        [row.metrics[metric] for row in before], [row.metrics[metric] for row in after]
    )


def show_means(sets: Sequence[Mapping[str, Rows]]) -> None:
    """Print the mean of every arm over the sets, each of which counts the same."""
    if len(sets) < 2:
        return
    _print(f"mean of {len(sets)} sets", *(f"{x:>10}" for x in METRICS))
    for arm in sets[0]:
        answered = [strata(found[arm])[OVERALL] for found in sets]
        means = [sum(_mean(rows, metric) for rows in answered) / len(sets) for metric in METRICS]
        _print(arm, *(f"{mean:10.4f}" for mean in means))


def _mean(rows: Rows, metric: str) -> float:
    return sum(row.metrics[metric] for row in rows) / len(rows)
