"""A retriever that is not the product: a baseline, a peer, or a class of the user's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from time import perf_counter
from typing import Any

from recollect.bench.evaluation import EvaluationQuery, EvaluationSet, Record
from recollect.bench.measured import Answer
from recollect.bench.metrics import DEPTH
from recollect.bench.results import Ingest
from recollect.bench.retriever import Retriever
from recollect.errors import InvalidRetriever


@dataclass(frozen=True, slots=True)
class Foreign:
    """One instance of a retriever for each user, so that no answer crosses users by itself."""

    name: str
    ingest: Ingest
    retrievers: Mapping[str, Retriever]
    known: Mapping[str, frozenset[str]] = field(repr=False)  #: by user: the ids of their memories
    strangers: set[str] = field(default_factory=set)  #: queries answered with other ids

    @classmethod
    def build(
        cls,
        name: str,
        make: Callable[..., Retriever],
        data: EvaluationSet,
        progress: Callable[[int], None],
    ) -> Foreign:
        """Give each user's corpus to a retriever of its own."""
        began = perf_counter()
        retrievers = {}
        known = {}
        for user, records in data.users.items():
            retrievers[user] = _construct(make, records, user)
            known[user] = frozenset(record["id"] for record in records)
            progress(len(records))
        seconds = perf_counter() - began
        ingest = Ingest(
            seconds=seconds,
            memories_per_second=len(data.corpus) / seconds,
            merged=0,
            refused=0,
        )
        return cls(name, ingest, retrievers, known)

    def ask(self, query: EvaluationQuery) -> Answer:
        """The retriever's answer; ids with or without scores."""
        retriever = self.retrievers.get(query.user)
        began = perf_counter()
        found = retriever.retrieve(query.text, DEPTH) if retriever else ()
        milliseconds = (perf_counter() - began) * 1e3
        pairs = [_pair(item, self.name) for item in _listed(found, self.name)[:DEPTH]]
        ranked = tuple(dict.fromkeys(id_ for id_, _ in pairs))
        if not self.known.get(query.user, frozenset()).issuperset(ranked):
            self.strangers.add(query.id)
        scores = [score for _, score in pairs if score is not None]
        return Answer(
            ranked=ranked,
            milliseconds=milliseconds,
            confidence=max(scores) if scores else None,
            legs={self.name: {id_: rank for rank, id_ in enumerate(ranked, start=1)}},
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the retriever says about itself: models, store_bytes, notes."""
        first = next(iter(self.retrievers.values()), None)
        describe = getattr(first, "facts", None)
        return dict(describe()) if describe else {}

    @property
    def recipe(self) -> dict[str, str]:
        """The facts, as text."""
        return {key: str(value) for key, value in self.facts.items()}

    @property
    def faults(self) -> tuple[str, ...]:
        """Nothing is promised."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Queries with as_of are put to it as if they were asked now."""
        told = ["links and as_of times of the set are not given to a retriever"]
        if self.strangers:
            told.append(f"{len(self.strangers)} answers hold ids that the user's corpus does not")
        return tuple(told)

    def close(self) -> None:
        """Let every retriever release what it holds."""
        for retriever in self.retrievers.values():
            close = getattr(retriever, "close", None)
            if close:
                close()


def _construct(make: Callable[..., Retriever], records: Sequence[Record], user: str) -> Retriever:
    """The retriever of one user: `Class(corpus)`, or `Class(corpus, user=...)` if it takes one."""
    takes_user = "user" in inspect.signature(make).parameters
    return make(records, user=user) if takes_user else make(records)


def _listed(found: object, name: str) -> list[object]:
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise _wrong(found, name)
    return [*found]


def _pair(item: object, name: str) -> tuple[str, float | None]:
    match item:  # the numbers of NumPy are Real and Integral, and no float and int
        case (id_, Real() as score) if math.isfinite(score):
            return str(id_), float(score)
        case str() | Integral():
            return str(item), None
    raise _wrong(item, name)


def _wrong(given: object, name: str) -> InvalidRetriever:
    return InvalidRetriever(
        f"{name} gave back {given!r}",
        hint="retrieve(query, k) gives ids, or pairs of id and score.",
    )
