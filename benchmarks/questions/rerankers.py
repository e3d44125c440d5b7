"""Rerankers without a trained model, behind the stage that every reranker goes through.

    words     how near the words of the query stand to each other, in its order, as a phrase, and
              whether a question for a person, a time or a number finds one
    MMR       maximal marginal relevance (Carbonell & Goldstein 1998): likeness to those above costs
    graph     how many of the other candidates mention the same concepts, rare ones more
    LLM       needs a server: `reranker = "llm"` goes through the same stage

Each with its order alone and blended into the score of the recall. Everything else as shipped.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

import numpy as np

import arms
from bearinmind.app import Mind, wiring
from bearinmind.concepts import ConceptName
from bearinmind.protocols import Embedder, Passage, Reranker, Store
from bearinmind.recall.rerank import Rerank
from bearinmind.text.analysis import ask, index
from bearinmind.types import Filter, Scope, UserId
from bearinmind_bench import metrics
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus, kept
from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet
from bearinmind_bench.metrics import DEPTH, HEADLINE
from bearinmind_bench.product import Product
from bearinmind_bench.sweep import tunable_split
from questions import found
from questions.encoders import opened

WEIGHTS = (1.0, 0.3)
BALANCE = 0.7  # of relevance in MMR
_WORD = re.compile(r"\w+")
_SLOTS = (
    (
        re.compile(r"\b(who|whom|whose)\b", re.IGNORECASE),
        re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+"),
    ),
    (
        re.compile(r"\b(when|since|until|date|year|what time)\b", re.IGNORECASE),
        re.compile(
            r"\b(\d{4}|\d{1,2}:\d\d|january|february|march|april|may|june|july|august|september|"
            r"october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"\bhow (many|much|big|long|often|old|far)\b|number", re.IGNORECASE),
        re.compile(r"\d"),
    ),
)


class Words:
    """Scores by the places of the query's words in a text."""

    name = "words"

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        """A score for each passage."""
        del seconds
        wanted = [*dict.fromkeys(term.term for term in ask(query).terms)]
        texts = [index(passage.text).terms for passage in passages]
        held = Counter(term for text in texts for term in {*text})
        weight = {term: math.log(1 + len(texts) / (1 + held[term])) for term in wanted}
        return [
            _places(wanted, text, weight) + _slot(query, passage.text)
            for text, passage in zip(texts, passages, strict=True)
        ]


def _places(wanted: Sequence[str], text: Sequence[str], weight: Mapping[str, float]) -> float:
    """Coverage, nearness, order and phrases of the wanted terms in a text, each up to 1."""
    places: dict[str, list[int]] = {}
    for place, term in enumerate(text):
        if term in weight:
            places.setdefault(term, []).append(place)
    total = sum(weight.values()) or 1.0
    covered = sum(weight[term] for term in places) / total
    pairs = [*itertools.pairwise(term for term in wanted if term in places)]
    gaps = [min(abs(b - a) for a in places[x] for b in places[y]) for x, y in pairs]
    near = statistics.fmean(1 / gap for gap in gaps if gap) if any(gaps) else 0.0
    phrase = sum(y in places and any(a + 1 in places[y] for a in places[x]) for x, y in pairs)
    in_order = sum(places[x][0] < places[y][-1] for x, y in pairs)
    share = 1 / max(1, len(wanted) - 1)
    return covered + 0.3 * near * covered + 0.2 * phrase * share + 0.1 * in_order * share


def _slot(query: str, text: str) -> float:
    """What a text gains by holding the kind of thing that is asked for."""
    return 0.15 * any(asks.search(query) and has.search(text) for asks, has in _SLOTS)


class Diverse:
    """Maximal marginal relevance; relevance is the place that a passage had."""

    name = "MMR"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        """A score for each passage, the higher the earlier it is chosen."""
        del query, seconds
        vectors = self._embedder.embed_memories([passage.text for passage in passages])
        alike = vectors @ vectors.T / (np.outer(*[np.linalg.norm(vectors, axis=1)] * 2) + 1e-9)
        left, chosen = [*range(len(passages))], list[int]()
        while left:
            best = max(left, key=lambda n: _marginal(n, chosen, alike, len(passages)))
            chosen.append(best)
            left.remove(best)
        return [-float(chosen.index(n)) for n in range(len(passages))]


def _marginal(n: int, chosen: Sequence[int], alike: Any, count: int) -> tuple[float, int]:  # noqa: ANN401
    nearest = max((float(alike[n][other]) for other in chosen), default=0.0)
    return BALANCE * (1 - n / count) - (1 - BALANCE) * nearest, -n


class Connected:
    """Scores by the concepts that a passage shares with the others."""

    name = "graph"

    def __init__(self, store: Store, user: str) -> None:
        self._store = store
        self._filter = Filter(scope=Scope(user=UserId(user)), now=datetime.now(UTC))

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        """A score for each passage."""
        del query, seconds
        mentions = self._store.mentions_in(self._filter, [passage.id for passage in passages])
        by_concept: dict[ConceptName, set[str]] = {}
        for each in mentions:
            by_concept.setdefault(each.concept, set()).add(each.id)
        specific = {each.concept: 1 / math.log2(2 + each.memories) for each in mentions}
        scores: dict[str, float] = {}
        for concept, ids in by_concept.items():
            for id_ in ids:
                scores[id_] = scores.get(id_, 0.0) + specific[concept] * (len(ids) - 1)
        return [scores.get(passage.id, 0.0) for passage in passages]


class Reranked(Product):
    """The product with a reranker that no setting names."""

    def __init__(
        self,
        stored: StoredCorpus,
        embedders: EmbeddersOfRun,
        make: Callable[[str], Reranker],  # of a user
        weight: float,
    ) -> None:
        super().__init__(stored, {}, embedders)
        self._make = make
        self._weight = weight

    def _mind(self, user: str, **options: Unpack[wiring.Options]) -> Mind:
        mind = super()._mind(user, **options)
        stage = Rerank(reranker=self._make(user), seconds=60.0, weight=self._weight)
        recall = replace(mind._parts.recall, rerank=stage)
        mind._open_parts = replace(mind._parts, recall=recall)
        return mind


def measure(folder: Path, choice: Sequence[str]) -> found.Found:
    """What each reranker is worth on a set, and how long it takes."""
    with arms.filled(folder) as (data, stored), opened("local") as embedder:
        queries = [query for query in data.of_split(tunable_split(data)) if query.relevant]
        embedders = EmbeddersOfRun(keep_queries=True)
        plain = Product(stored, {}, embedders)
        plain.embed()
        base = [_ask(data, plain, query)[0] for query in queries]
        cached = kept(embedder)
        makers: dict[str, Callable[[str], Reranker]] = {
            "words": lambda _user: Words(),
            "MMR": lambda _user: Diverse(cached),
            "graph": lambda user: Connected(stored.store, user),
        }
        scores: dict[str, list[float]] = {}
        times: dict[str, Any] = {}
        for (name, make), weight in itertools.product(makers.items(), WEIGHTS):
            if choice and name not in choice:
                continue
            product = Reranked(stored, embedders, make, weight)
            answers = [_ask(data, product, query) for query in queries]
            arm = f"{name}, weight {weight:g}"
            scores[arm] = [score for score, _ in answers]
            p50, p95 = np.percentile([taken for _, taken in answers], [50, 95])
            times[arm] = {"p50": round(float(p50), 2), "p95": round(float(p95), 2)}
        embedders.close()
    return {
        "split": tunable_split(data),
        "queries": len(queries),
        "as shipped": round(statistics.fmean(base), 4),
        "arms": found.compared(base, scores),
        "milliseconds": times,
    }


def _ask(data: EvaluationSet, product: Product, query: EvaluationQuery) -> tuple[float, float]:
    """nDCG@10 of a query, and the milliseconds of the reranker."""
    mind = product.mind_of(query.user)
    fields: Any = {"as_of": query.as_of} if query.as_of else {}
    answer = mind.recall(query.text, limit=DEPTH, all=True, **fields)
    report = answer.trace.rerank
    if report and report.error:
        raise SystemExit(f"{data.name}: {report.error}")
    ranked = [product.name_of(memory.id) for memory in answer.displayed][:DEPTH]
    score = metrics.score(ranked, query.relevant, data.top_grade)[HEADLINE]
    return score, report.milliseconds if report else 0.0
