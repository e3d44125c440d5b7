"""Whatever can be measured: a class that takes one user's records and answers queries.

    class Mine:
        def __init__(self, corpus): ...     # may also take `user=` and `others=`
        def retrieve(self, query, k): ...   # ids, or (id, score), best first
        def facts(self): ...                # optional: {"models": [...], "store_bytes": 1024}
        def close(self): ...                # optional

`corpus` are the memories to answer from, `others` those of all other users: they may count in the
statistics of words, as they do where many users share one index, and are never given back.

A bare function `find(corpus, query, k)` will do, too.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, Protocol

from bearinmind.errors import InvalidRetriever, MindError
from bearinmind_bench.baselines import BASELINES
from bearinmind_bench.evaluation import Answer, EvaluationQuery, EvaluationSet, Record, user_of
from bearinmind_bench.metrics import DEPTH
from bearinmind_bench.results import Ingest


class Retriever(Protocol):
    """Answers queries over the records of one user, which it is made with."""

    def __init__(self, corpus: Sequence[Record]) -> None: ...

    def retrieve(self, query: str, k: int) -> Sequence[str] | Sequence[tuple[str, float]]:
        """The ids of the k best memories, best first, with their scores where there are any."""


@dataclass(frozen=True, slots=True)
class Bare:
    """A bare function as a retriever."""

    find: Callable[..., Any]
    corpus: Sequence[Record]

    def retrieve(self, query: str, k: int) -> Any:  # noqa: ANN401  it is checked when it comes back
        """What the function finds."""
        return self.find(self.corpus, query, k)


def load(name: str) -> Callable[..., Retriever]:
    """The class of a baseline (`fts5-porter`), or a class or function of one's own (`module:Name`).

    Raises:
        InvalidRetriever: there is none of that name, or it cannot retrieve.
    """
    if name in BASELINES:
        return BASELINES[name]
    module_name, colon, class_name = name.partition(":")
    if not (module_name and colon and class_name):
        raise InvalidRetriever(
            f"{name!r} is neither a baseline nor module:Class",
            hint=f"The baselines are {', '.join(BASELINES)}.",
        )
    loaded = getattr(_imported(module_name), class_name, None)
    if callable(loaded) and not isinstance(loaded, type):
        try:
            inspect.signature(loaded).bind("corpus", "query", "k")
        except TypeError as exc:
            raise InvalidRetriever(f"{name!r} does not take (corpus, query, k): {exc}") from None
        return partial(Bare, loaded)
    if not isinstance(loaded, type):
        what = "no class" if loaded is None else f"a {type(loaded).__name__}, not a class,"
        raise InvalidRetriever(f"the module {module_name!r} has {what} {class_name!r}")
    if not callable(getattr(loaded, "retrieve", None)):
        raise InvalidRetriever(f"the class {name!r} has no method `retrieve(query, k)`")
    return loaded


def _imported(name: str) -> ModuleType:
    """A module, which may lie in the current folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # for good: a retriever may import more when it is used
    importlib.invalidate_caches()  # the file may be newer than Python's view of the folder
    try:
        return importlib.import_module(name)
    except Exception as exc:  # whatever a module of the user's does when it is imported
        raise InvalidRetriever(
            f"the module {name!r} cannot be imported: {type(exc).__name__}: {exc}",
            hint=f"Give a module that is installed or lies in {here!r}.",
        ) from exc


_KEPT_ELSEWHERE = ("models", "store_bytes")


@dataclass(frozen=True, slots=True)
class Foreign:
    """One instance of a retriever for each user, so that no answer crosses users by itself."""

    name: str
    ingest: Ingest
    retrievers: Mapping[str, Retriever]
    known: Mapping[str, frozenset[str]] = field(repr=False)  #: by user: the ids of their memories
    untold: bool = False  #: whether the set has links or times that a retriever is not given
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
            retrievers[user] = _construct(name, make, data, user)
            known[user] = frozenset(record["id"] for record in records)
            progress(len(records))
        seconds = perf_counter() - began
        ingest = Ingest(
            seconds=seconds,
            memories_per_second=len(data.corpus) / seconds,
            merged=0,
            refused=0,
        )
        untold = any(query.as_of for query in data.queries) or any(
            record.get("supersedes") for record in data.corpus
        )
        return cls(name, ingest, retrievers, known, untold)

    def ask(self, query: EvaluationQuery) -> Answer:
        """The retriever's answer; ids with or without scores."""
        retriever = self.retrievers.get(query.user)
        began = perf_counter()
        with _blamed(self.name, f"on query {query.id!r}"):
            given = retriever.retrieve(query.text, DEPTH) if retriever else ()
        milliseconds = (perf_counter() - began) * 1e3
        pairs: dict[str, float | None] = {}
        for item in _listed(given, self.name)[:DEPTH]:
            pairs.setdefault(*_pair(item, self.name))  # one that stands twice counts where first
        ranked = tuple(pairs)
        if not self.known.get(query.user, frozenset()).issuperset(ranked):
            self.strangers.add(query.id)
        scores = tuple(score for id_ in ranked if (score := pairs[id_]) is not None)
        return Answer(
            ranked=ranked,
            milliseconds=milliseconds,
            confidences=scores if len(scores) == len(ranked) else None,
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
        """The facts that have no place of their own in a result, as text."""
        facts = {key: value for key, value in self.facts.items() if key not in _KEPT_ELSEWHERE}
        return {key: str(value) for key, value in facts.items()}

    @property
    def faults(self) -> tuple[str, ...]:
        """Nothing is promised."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the retriever could not know, and what it made up."""
        notes = []
        if self.untold:
            notes.append("links and as_of times of the set are not given to a retriever")
        if self.strangers:
            notes.append(f"{len(self.strangers)} answers hold ids that the user's corpus does not")
        return tuple(notes)

    def close(self) -> None:
        """Let every retriever release what it holds."""
        for retriever in self.retrievers.values():
            close = getattr(retriever, "close", None)
            if close:
                close()


def _construct(
    name: str, make: Callable[..., Retriever], data: EvaluationSet, user: str
) -> Retriever:
    """The retriever of one user: `Class(corpus)`.

    It may also take `user`, and `others`: the records of all other users, which a system with one
    index for everybody counts words in. They are never to be given back.
    """
    records = data.users[user]
    parameters = inspect.signature(make).parameters
    given: dict[str, Any] = {}
    if "user" in parameters:
        given["user"] = user
    if "others" in parameters:
        given["others"] = [record for record in data.corpus if user_of(record) != user]
    with _blamed(name, f"on the {len(records):,} memories of {user!r}"):
        return make(records, **given)


@contextmanager
def _blamed(name: str, where: str) -> Iterator[None]:
    """Whatever goes wrong in a retriever is the retriever's."""
    try:
        yield
    except MindError:
        raise
    except Exception as exc:
        raise InvalidRetriever(
            f"{name} failed {where}: {type(exc).__name__}: {exc}",
            hint="Mend the class; it is not part of Bear in Mind.",
        ) from exc


def _listed(answer: object, name: str) -> list[object]:
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise _wrong(answer, name)
    return [*answer]


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
