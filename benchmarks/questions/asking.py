"""What the asker adds to a question: further terms, a focus, a boost of its own.

Terms are those of agent-store's expanded.jsonl, written from the text of a question alone. A focus
and a boost are measured at both ends: `right` is a tag of a relevant memory, as in a session about
that subject, and `wrong` a tag of the same store that no relevant memory has. What a real caller
gains lies between. Development queries; terms on both splits, since nothing is chosen.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import arms
from bearinmind.types import Memory
from bearinmind_bench import metrics
from bearinmind_bench.corpus import EmbeddersOfRun, words_of
from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet
from bearinmind_bench.metrics import DEPTH, HEADLINE
from bearinmind_bench.product import Product
from questions import found

SEED = 20_261_116
FACTOR = 1.2  # of a boost, as much as a focus gives
WAYS = {"words alone": {"embedder": "none"}, "as shipped": {}}


def measure(folder: Path, choice: Sequence[str]) -> found.Found:
    """What each addition is worth, by words alone and as shipped."""
    del choice
    terms = _terms(folder)
    with arms.filled(folder) as (data, stored):
        found_: found.Found = {"focus_bonus": 0.2, "boost": FACTOR}
        embedders = EmbeddersOfRun(keep_queries=True)
        for way, settings in WAYS.items():
            product = Product(stored, settings, embedders)
            product.embed()
            found_[way] = {
                "focus": _focus(data, product),
                **{
                    f"terms, {stratum}, {split}": _expanded(data, product, terms, stratum, split)
                    for stratum, split in _strata(data, terms)
                },
            }
        embedders.close()
    return found_


def _terms(folder: Path) -> dict[str, list[str]]:
    lines = (folder / "expanded.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["query_id"]: row["expanded"] for row in rows}


def _strata(data: EvaluationSet, terms: dict[str, list[str]]) -> list[tuple[str, str]]:
    asked = [query for query in data.queries if query.id in terms]
    return sorted({(query.stratum, str(query.split)) for query in asked})


def _expanded(
    data: EvaluationSet, product: Product, terms: dict[str, list[str]], stratum: str, split: str
) -> found.Found:
    queries = [
        query
        for query in data.queries
        if query.id in terms and (query.stratum, query.split) == (stratum, split)
    ]
    plain = [_score(data, product, query) for query in queries]
    added = [_score(data, product, query, expanded=terms[query.id]) for query in queries]
    pasted = [_score(data, product, query, more=" ".join(terms[query.id])) for query in queries]
    return {
        "without": round(statistics.fmean(plain), 4),
        "arms": found.compared(plain, {"as terms": added, "in the text": pasted}),
    }


def _focus(data: EvaluationSet, product: Product) -> found.Found:
    tags = {record["id"]: {*words_of(record.get("tags"))} for record in data.corpus}
    every = sorted({tag for each in tags.values() for tag in each})
    rng = random.Random(SEED)
    queries, right, wrong = [], [], []
    for query in data.of_split("dev"):
        fitting = sorted({tag for id_ in query.relevant for tag in tags.get(id_, ())})
        if fitting:
            queries.append(query)
            right.append(rng.choice(fitting))
            wrong.append(rng.choice([tag for tag in every if tag not in fitting]))
    plain = [_score(data, product, query) for query in queries]
    ways: dict[str, list[float]] = {}
    for name, chosen in (("right", right), ("wrong", wrong)):
        pairs = [*zip(queries, chosen, strict=True)]
        ways[f"focus, {name}"] = [_score(data, product, q, focus=[tag]) for q, tag in pairs]
        ways[f"boost, {name}"] = [_score(data, product, q, boost=_of(tag)) for q, tag in pairs]
    return {
        "queries": len(queries),
        "without": round(statistics.fmean(plain), 4),
        "arms": found.compared(plain, ways),
    }


def _of(tag: str) -> Any:  # noqa: ANN401  a function of a memory to a factor

    def boost(memory: Memory) -> float:
        return FACTOR if tag in memory.tags else 1.0

    return boost


def _score(
    data: EvaluationSet,
    product: Product,
    query: EvaluationQuery,
    more: str = "",
    **fields: Any,  # noqa: ANN401  those of a recall
) -> float:
    """nDCG@10 of a question that is asked in this way."""
    mind = product.mind_of(query.user)
    if query.as_of:
        fields["as_of"] = query.as_of
    text = f"{query.text} {more}".strip()
    answer = mind.recall(text, limit=DEPTH, all=True, **fields)
    ranked = [product.name_of(memory.id) for memory in answer.displayed][:DEPTH]
    return metrics.score(ranked, query.relevant, data.top_grade)[HEADLINE]
