"""What links bring to an answer: with them and without, for each kind that adds to a hit.

The cases of benchmarks/data/links, among the memories of a set. A target is reached when it is one
of the first five hits, attached to one, or pointed at by one. And for `supersedes`, the set's own
links: nDCG@10 of the queries of the test split with them and without.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import arms
from bearinmind.app import Mind
from bearinmind.types import LinkKind
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import ONLY_USER, load
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.product import Product
from bearinmind_bench.runner import Plan, run
from questions import found

CASES = Path(__file__).parents[1] / "data" / "links" / "cases.jsonl"
FIRST = 5


def measure(folder: Path, choice: Sequence[str]) -> found.Found:
    """How often the target of a link is reached, by its kind; what superseding is worth."""
    del choice
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    with arms.filled(folder) as (_, stored):
        embedders = EmbeddersOfRun(keep_queries=True)
        product = Product(stored, {}, embedders)
        mind = product.mind_of(ONLY_USER)
        for case in cases:
            for end in ("source", "target"):
                case[f"{end}_id"] = mind.store(case[end], trust="user").memory.id
        product.embed()
        without = {case["id"]: _reached(mind, case) for case in cases}
        for case in cases:
            mind.link(case["source_id"], case["kind"], case["target_id"])
        linked = {case["id"]: _reached(mind, case) for case in cases}
        embedders.close()
    kinds = [*dict.fromkeys(case["kind"] for case in cases)]
    return {
        "kinds": {
            kind: found.compared(
                [float(bool(without[case["id"]])) for case in cases if case["kind"] == kind],
                {"links": [float(bool(linked[c["id"]])) for c in cases if c["kind"] == kind]},
            )["links"]
            for kind in kinds
        },
        "as": {
            kind: {
                way: sum(linked[case["id"]] == way for case in cases if case["kind"] == kind)
                for way in ("hit", "attached", "pointer")
            }
            for kind in kinds
        },
        "supersedes": _superseding(folder),
    }


def _reached(mind: Mind, case: dict[str, Any]) -> str:
    """How the target of a case is reached: as a hit, attached, as a pointer, or not at all."""
    target = case["target_id"]
    hits = mind.recall(case["query"], limit=FIRST).hits
    if any(hit.memory.id == target for hit in hits):
        return "hit"
    if any(memory.id == target for hit in hits for memory in hit.attached):
        return "attached"
    return "pointer" if any(x.id == target for hit in hits for x in hit.pointers) else ""


def _superseding(folder: Path) -> found.Found:
    """nDCG@10 with the set's own links and without them."""
    data = load(folder)
    plan = Plan(data=data, split="test")
    off = Plan(data=data, split="test", withhold=frozenset({LinkKind.SUPERSEDES}))
    results = {"on": run(plan), "off": run(off)}
    scores = {
        name: {row.query_id: row.metrics[HEADLINE] for row in result.rows if row.answerable}
        for name, result in results.items()
    }
    strata = {row.query_id: row.stratum for row in results["on"].rows if row.answerable}
    groups = {"overall": [*strata]} | {
        name: [id_ for id_, each in strata.items() if each == name]
        for name in dict.fromkeys(strata.values())
    }
    return {
        name: {
            "without": round(statistics.fmean(scores["off"][id_] for id_ in ids), 4),
            **found.compared(
                [scores["off"][id_] for id_ in ids],
                {"links": [scores["on"][id_] for id_ in ids]},
            )["links"],
        }
        for name, ids in groups.items()
    }
