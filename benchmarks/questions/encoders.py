"""What an encoder finds, what a query costs, and what a vector takes up.

Each embedder answers by exact cosine alone, and beside words in the product without the graph.
Without a choice those that need no network are measured: the hashed one, a static one that is made
of MiniLM's own tokens, and the shipped ones. Any form of the setting `embedder` will do, and
`published` stands for those in PUBLISHED, which need a network, keys and money. What a provider
answers is kept, so that a second run costs nothing.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import bearinmind_encoder
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

import arms
from bearinmind.app.wiring import embedders_of
from bearinmind.config import Configuration
from bearinmind.models.local import LocalEmbedder
from bearinmind.protocols import Embedder
from bearinmind.text.embedded_text import DEFAULT, embedded_text
from bearinmind.types import MemoryId, Space
from bearinmind_bench import metrics, runner
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus, kept, memory_of
from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet
from bearinmind_bench.metrics import DEPTH, HEADLINE
from bearinmind_bench.product import Product
from bearinmind_bench.sweep import tunable_split
from questions import found

HERE = ("hash", "static", "minilm", "e5-small", "local")
#: Models that others measured, to be run by somebody with a network.
PUBLISHED = (
    "fastembed:BAAI/bge-large-en-v1.5",
    "sentence-transformers:BAAI/bge-m3",
    "fastembed:nomic-ai/nomic-embed-text-v1.5",
    "sentence-transformers:Alibaba-NLP/gte-Qwen2-1.5B-instruct",
    "voyage:voyage-3.5",
    "openai:text-embedding-3-small",
    "openai:text-embedding-3-large",
    "cohere:embed-v4.0",
)
TIMED = 50  # queries whose embedding is timed
STATIC_DIMENSIONS = 256
_BATCH = 512

Vectors = NDArray[np.float32]


class StaticEmbedder:
    """Adds up a fixed vector for each token: no attention, no order of words.

    The vectors are what MiniLM makes of each token by itself, its first principal components, and
    weighted by how rare the token is, after Model2Vec (Tulkens & van Dongen 2024).
    """

    leaves_machine = False

    def __init__(self) -> None:
        teacher = LocalEmbedder("minilm")
        self.space = Space(
            model="static",
            revision=f"1 of {teacher.space.revision}",
            dimensions=STATIC_DIMENSIONS,
            text=DEFAULT,
        )
        file = bearinmind_encoder.folder("minilm") / "tokenizer.json"
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        words = sorted(self._tokenizer.get_vocab(), key=self._tokenizer.get_vocab().__getitem__)
        pieces = [word.removeprefix("##") for word in words]
        made = kept(teacher).embed_memories(pieces)
        centred = made - made.mean(axis=0)
        _, _, directions = np.linalg.svd(centred[:: max(1, len(centred) // 8_000)], False)
        rarity = np.log(2 + np.arange(len(words), dtype=np.float32))  # tokens stand by frequency
        self._table = (centred @ directions[:STATIC_DIMENSIONS].T) * rarity[:, None]

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text."""
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """A text's vector; a query and a memory have the same."""
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        total = self._table[tokens].sum(axis=0) if tokens else self._table[0]
        return np.asarray(total / (np.linalg.norm(total) or 1.0), np.float32)

    def close(self) -> None:
        """There is nothing to release."""


def measure(folder: Path, choice: Sequence[str]) -> found.Found:
    """What each embedder finds on a set by itself and beside words, against words alone."""
    asked = choice or HERE
    forms = [each for form in asked for each in (PUBLISHED if form == "published" else (form,))]
    with arms.filled(folder) as (data, stored):
        queries = [q for q in data.of_split(tunable_split(data)) if q.relevant]
        words = _scores(data, stored, queries, None)
        alone: dict[str, list[float]] = {}
        beside: dict[str, list[float]] = {}
        costs: dict[str, Any] = {}
        for form in forms:
            with opened(form) as embedder:
                costs[form] = cost(embedder, [query.text for query in queries[:TIMED]])
                alone[form] = by_cosine(data, queries, embedder)
                beside[form] = _scores(data, stored, queries, embedder)
        return {
            "split": tunable_split(data),
            "queries": len(queries),
            "words": round(statistics.fmean(words), 4),
            "alone": found.compared(words, alone),
            "beside": found.compared(words, beside),
            "costs": costs,
        }


@contextmanager
def opened(form: str) -> Iterator[Embedder]:
    """The embedder of a form, as the configuration of this machine has its keys and addresses."""
    settings = Configuration.load({"embedder": form} if form != "static" else {}).settings
    embedder = StaticEmbedder() if form == "static" else embedders_of(settings).configured()
    if embedder is None:
        raise SystemExit(f"{form} is no embedder")
    try:
        yield embedder
    finally:
        embedder.close()


def cost(embedder: Embedder, texts: Sequence[str]) -> dict[str, float]:
    """Milliseconds of a query, and bytes of a vector in single precision."""
    embedder.embed_query("warm up")
    taken = []
    for text in texts:
        began = perf_counter()
        embedder.embed_query(text)
        taken.append((perf_counter() - began) * 1e3)
    return {
        "milliseconds": round(statistics.median(taken), 3),
        "dimensions": embedder.space.dimensions,
        "bytes": 4 * embedder.space.dimensions,
    }


def by_cosine(
    data: EvaluationSet, queries: Sequence[EvaluationQuery], embedder: Embedder
) -> list[float]:
    """nDCG@10 of each query by exact cosine."""
    cached = kept(embedder, queries=True)
    rankings = ranked(data, queries, cached, lambda vectors: vectors)
    return [
        metrics.score(ranking, query.relevant, data.top_grade)[HEADLINE]
        for query, ranking in zip(queries, rankings, strict=True)
    ]


def ranked(
    data: EvaluationSet,
    queries: Sequence[EvaluationQuery],
    embedder: Embedder,
    stored_as: Any,  # noqa: ANN401  how vectors are rounded when they are stored
) -> list[list[str]]:
    """The ranking of each query over the memories of its user."""
    notes: Counter[str] = Counter()
    owned = {}
    for user, records in data.users.items():
        texts = [
            embedded_text(memory_of(record, MemoryId(record["id"]), notes), embedder.space.text)
            for record in records
        ]
        rows = [
            embedder.embed_memories(texts[i : i + _BATCH]) for i in range(0, len(texts), _BATCH)
        ]
        owned[user] = [record["id"] for record in records], stored_as(np.concatenate(rows))
    rankings = []
    for query in queries:
        ids, vectors = owned[query.user]
        cosines = vectors @ embedder.embed_query(query.text)
        order = np.lexsort((np.array(ids), -cosines))[:DEPTH]
        rankings.append([ids[place] for place in order])
    return rankings


def _scores(
    data: EvaluationSet,
    stored: StoredCorpus,
    queries: Sequence[EvaluationQuery],
    embedder: Embedder | None,
) -> list[float]:
    """nDCG@10 of each query without the graph; by words alone without an embedder."""
    settings: dict[str, Any] = {"extractor": "none", "leg_weights": {"graph": 0.0}}
    if embedder is None:
        product = Product(stored, {**settings, "embedder": "none"}, EmbeddersOfRun())
    else:
        product = Product(stored, settings, arms.EmbeddersOfArm(kept(embedder, queries=True)))
    product.embed()
    rows = [runner.row_of(query, product.ask(query), data.top_grade) for query in queries]
    broken = [*product.faults, *(reason for row in rows for reason in row.degraded)]
    if broken:
        raise SystemExit(f"{data.name}: {broken[0]}")
    stored.store.drop_retired()
    return [row.metrics[HEADLINE] for row in rows]
