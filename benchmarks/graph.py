"""Is the graph worth it? Everything else as shipped, every answer compared query by query.

    python benchmarks/graph.py worth --data DIR [--data DIR ...] [--split test]
    python benchmarks/graph.py shapes --data DIR [--data DIR ...]
    python benchmarks/graph.py extractors --data DIR [--data DIR ...]
    python benchmarks/graph.py weights --data DIR [--data DIR ...]

`worth` holds recall with the graph against recall without it. `shapes` does so for every other way
of using the graph, `extractors` for every way of building it, `weights` for the weights of the leg
in sweeps/graph.toml; these choose, so they look at development queries alone. What is found goes to
a file from which docs/explanation/the-graph.md is made; a set that is measured again takes the
place of what was known of it.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import arms
import graph_results
from bearinmind.app import Mind
from bearinmind.errors import MissingExtra
from bearinmind.work.status import EXTRACT
from bearinmind_bench import runner
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus
from bearinmind_bench.evaluation import ONLY_USER, EvaluationSet
from bearinmind_bench.product import Product, settings_for
from bearinmind_bench.sweep import DEV, TEST, read_arms, tunable_split
from graph_results import Asked
from research.graph_shapes import SHAPES, SHIPPED, WITHOUT, Shape

RESULTS = Path(__file__).parent / "results" / "graph.json"
SWEEP = Path(__file__).parent / "sweeps" / "graph.toml"
TRIPLES = "triples.jsonl.gz"

_BY_NAME = {shape.name: shape for shape in SHAPES}


class Arm(NamedTuple):
    """A shape, over what one of the extractors read."""

    shape: Shape
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A way of building the graph."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    triples: bool = False  #: whether those that came with the set are imported


READINGS = {
    "rules": Reading(),
    "rules and spaCy": Reading(settings={"extractor": "spacy"}),
    "given triples": Reading(settings={"extractor": "none"}, triples=True),
    "rules and given triples": Reading(triples=True),
}
#: The shapes that are tried with every extractor: relations matter where there are many.
READ_BY = (
    SHIPPED,
    "over relations alone",
    "over relations alone, to any memory",
    "related concepts first",
    "PageRank as a leg of RRF",
    "PageRank, added",
)


def main() -> int:
    """Measure a part on every set, and keep what was found."""
    options = _arguments()
    embedders = EmbeddersOfRun(keep_queries=True)
    try:
        for folder in options.data:
            began = perf_counter()
            found = PARTS[options.part](folder, options.split, embedders)
            graph_results.keep(options.results, options.part, folder.name, found)
            print(f"{options.part}: {folder.name}, {perf_counter() - began:.0f} s", flush=True)
    finally:
        embedders.close()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=[*PARTS])
    parser.add_argument("--data", type=Path, action="append", required=True, help="a set's folder")
    parser.add_argument("--split", choices=[DEV, TEST], default=DEV, help="test: for `worth` alone")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to keep what is found")
    options = parser.parse_args()
    if options.split == TEST and options.part != "worth":
        parser.error(f"{options.part} chooses, and what is chosen on test queries says nothing")
    return options


# ---- the three parts ---------------------------------------------------------------------------


def worth(folder: Path, split: str, embedders: EmbeddersOfRun) -> dict[str, Any]:
    """With the graph and without it: every stratum, and what the graph alone brought."""
    with arms.filled(folder) as (data, stored):
        chosen = tunable_split(data) if split == DEV else split
        building = _read(data, stored, {})
        without, shipped = (
            _asked(data, chosen, stored, Arm(_BY_NAME[name], {}), embedders)
            for name in (WITHOUT, SHIPPED)
        )
        return {
            **graph_results.described(data, chosen),
            **building,
            **graph_results.worth(without, shipped),
        }


def shapes(folder: Path, _split: str, embedders: EmbeddersOfRun) -> dict[str, Any]:
    """Every shape of the graph in recall."""
    return _choices(folder, SHAPES, [WITHOUT, SHIPPED], embedders)


def weights(folder: Path, _split: str, embedders: EmbeddersOfRun) -> dict[str, Any]:
    """Every weight of the shipped shape, one changed at a time."""
    swept = [
        Shape(name=arm.name, what="", settings=arm.settings, adds_to=SHIPPED)
        for arm in read_arms(SWEEP)
    ]
    return _choices(folder, [_BY_NAME[SHIPPED], *swept], [SHIPPED], embedders)


def _choices(
    folder: Path, choices: Sequence[Shape], bases: Sequence[str], embedders: EmbeddersOfRun
) -> dict[str, Any]:
    with arms.filled(folder) as (data, stored):
        split = tunable_split(data)
        building = _read(data, stored, {})
        found = {
            shape.name: _asked(data, split, stored, Arm(shape, {}), embedders) for shape in choices
        }
    return {
        **graph_results.described(data, split),
        **building,
        "arms": graph_results.compared(found, bases, {x.name: x.adds_to for x in choices}),
    }


def extractors(folder: Path, _split: str, embedders: EmbeddersOfRun) -> dict[str, Any]:
    """Every way of building the graph, with the shapes for which it may matter."""
    found: dict[str, Asked] = {}
    building: dict[str, dict[str, Any]] = {}
    for name, reading in READINGS.items():
        if reading.triples and not (folder / TRIPLES).is_file():
            continue
        with arms.filled(folder) as (data, stored):
            split = tunable_split(data)
            try:
                building[name] = _read(data, stored, reading.settings)
            except MissingExtra as exc:
                building[name] = {"missing": exc.message}
                continue
            if reading.triples:
                taken = _import(stored, folder / TRIPLES)
                building[name] |= {"imported": taken, "holds": _holds(data, stored)}
            for shape in READ_BY if found else (WITHOUT, *READ_BY):
                arm = Arm(_BY_NAME[shape], reading.settings)
                label = shape if shape == WITHOUT else f"{name}: {shape}"
                found[label] = _asked(data, split, stored, arm, embedders)
    return {
        **graph_results.described(data, split),
        "building": building,
        "arms": graph_results.compared(found, [WITHOUT, f"rules: {SHIPPED}"]),
    }


PARTS = {"worth": worth, "shapes": shapes, "extractors": extractors, "weights": weights}


# ---- building and asking -----------------------------------------------------------------------


def _read(data: EvaluationSet, stored: StoredCorpus, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Have every memory read for the graph; what that took, and what the graph then holds.

    Nothing else is done yet: memories are compared once they are embedded, as they are in use.

    Raises:
        MissingExtra: the extractor is not installed.
    """
    memory = _opened(stored, ONLY_USER, {**settings, "embedder": "none"})
    memory.work.extractor()  # says at once when it cannot be made
    began = perf_counter()
    memory.work.worker(EXTRACT).finish()
    seconds = perf_counter() - began
    failed = [count for count in memory.work.status().of_kind(EXTRACT).queue if count.jobs]
    if failed:
        raise SystemExit(f"{failed[0].jobs} memories could not be read: {failed[0].last_error}")
    return {"seconds": seconds, "memories": len(stored.names), "holds": _holds(data, stored)}


def _opened(stored: StoredCorpus, user: str, settings: Mapping[str, Any]) -> Mind:
    return Mind(stored.store, settings_for(user, stored.bounds, settings))


def _holds(data: EvaluationSet, stored: StoredCorpus) -> dict[str, int]:
    """Concepts, mentions and relations, of all users together."""
    held = [_opened(stored, user, {"embedder": "none"}).graph.counts() for user in data.users]
    return {
        "concepts": sum(each.concepts for each in held),
        "mentions": sum(each.mentions for each in held),
        "relations": sum(each.relations for each in held),
    }


def _import(stored: StoredCorpus, path: Path) -> dict[str, int]:
    """Take in the triples that came with a set, by the product's own import."""
    memory = _opened(stored, ONLY_USER, {"embedder": "none"})
    own = {name: id_ for id_, name in stored.names.items()}
    taken = memory.graph.import_lines(_lines(path), same_as=own)
    if taken.bad:
        print(f"{taken.bad} lines of {path.name} were left out: {taken.problems[0].message}")
    return {"relations": taken.relations, "mentions": taken.mentions}


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with gzip.open(path) as lines:
        yield from enumerate(lines, start=1)


def _asked(
    data: EvaluationSet, split: str, stored: StoredCorpus, arm: Arm, embedders: EmbeddersOfRun
) -> Asked:
    """What an arm makes of the answerable queries."""
    shape = arm.shape
    settings = {**arm.settings, **shape.settings}
    product = Product(stored, settings, embedders, following=shape.following)
    product.embed()
    answers = [(query, product.ask(query)) for query in data.of_split(split) if query.relevant]
    rows = [runner.row_of(query, answer, data.top_grade) for query, answer in answers]
    broken = [*product.faults, *(reason for row in rows for reason in row.degraded)]
    if broken:  # figures of something else than what they are said to be of
        raise SystemExit(f"{data.name}, {shape.name}: {broken[0]}")
    times = [answer.leg_milliseconds.get("graph", 0.0) for _, answer in answers]
    return Asked(rows, times)


if __name__ == "__main__":
    sys.exit(main())
