"""Does a memory's meaning gain by that of its neighbours in time and session?

    python benchmarks/neighbours.py --data DIR [--data DIR ...] [--strata]

A session is what a tag such as `session_3` says, or else a user's day. Each memory's vector is
mixed with those of the memory before and after it there; the weight is what these two count
together. Or else each memory's text is embedded behind that of the memory before it. Queries, and
everything else, are as shipped. Development queries alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import arms
from bearinmind.config import Settings
from bearinmind.protocols import Embedder, Page, Store
from bearinmind.text.embedded_text import embedded_text
from bearinmind.types import Filter, Memory, MemoryId, Scope, Space, State, UserId
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5)
_SESSION = re.compile(r"session_\d+")

Vector = NDArray[np.float32]
ByMemory = Mapping[MemoryId, Vector]


class Neighbours(NamedTuple):
    """The memories beside one in its session."""

    before: Memory | None = None
    after: Memory | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An embedder of queries as they are, for a space whose memories are embedded otherwise."""

    embedder: Embedder
    space: Space

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""
        return self.embedder.leaves_machine

    def embed_query(self, text: str) -> Vector:
        """A query's vector."""
        return self.embedder.embed_query(text)

    def embed_memories(self, texts: Sequence[str]) -> Vector:
        """Nobody asks: the space is filled before."""
        raise AssertionError(f"{len(texts)} memories have no vector of their own yet")

    def close(self) -> None:
        """The embedder is for whoever made it to close."""


def main() -> int:
    """Print what every way of mixing is worth on every set."""
    options = arms.arguments(__doc__)
    embedders = EmbeddersOfRun(keep_queries=True)
    shipped = embedders.of(Settings()).configured()
    if shipped is None:
        raise SystemExit("the shipped settings have no embedder")
    sets = []
    try:
        for folder in options.data:
            found = measure(folder, shipped)
            arms.show(folder.name, found, by_stratum=options.strata)
            sets.append(found)
    finally:
        embedders.close()
    arms.show_means(sets)
    return 0


def measure(folder: Path, shipped: Embedder) -> dict[str, arms.Rows]:
    """What every way of mixing makes of a set, none at all first."""
    rows = {}
    with arms.filled(folder) as (data, stored):
        memories = [memory for user in data.users for memory in _memories(stored, user)]
        for name, vectors in _ways(shipped, memories):
            space = replace(shipped.space, revision=f"{shipped.space.revision} {name}")
            _fill(stored.store, space, vectors)
            rows[name] = arms.ask(data, stored, Elsewhere(shipped, space))
    return rows


def _ways(shipped: Embedder, memories: Sequence[Memory]) -> Iterator[tuple[str, ByMemory]]:
    beside = neighbours(memories)
    own = _embedded(shipped, {x.id: embedded_text(x, shipped.space.text) for x in memories})
    for weight in WEIGHTS:
        yield f"weight {weight}", mixed(own, beside, weight)
    texts = {x.id: _after(beside[x.id].before, x, shipped.space.text) for x in memories}
    yield "text after that of the one before", _embedded(shipped, texts)


def _memories(stored: StoredCorpus, user: str) -> list[Memory]:
    """Those of a user's memories that are embedded, in order of time."""
    everything = Filter(
        scope=Scope(user=UserId(user)), now=datetime.now(UTC), states=frozenset(State)
    )
    page = Page(limit=len(stored.names), newest_first=False)
    return [x for x in stored.store.browse(everything, page) if not x.sensitive]


def neighbours(memories: Sequence[Memory]) -> dict[MemoryId, Neighbours]:
    """Who stands beside whom; memories come in order of time."""
    beside = {memory.id: Neighbours() for memory in memories}
    for _, session in groupby(sorted(memories, key=_session), key=_session):
        for one, next_one in pairwise(session):
            beside[one.id] = beside[one.id]._replace(after=next_one)
            beside[next_one.id] = beside[next_one.id]._replace(before=one)
    return beside


def _session(memory: Memory) -> tuple[str, str]:
    said = filter(_SESSION.fullmatch, memory.tags)
    return memory.owner, next(said, f"{memory.created_at:%Y-%m-%d}")


def mixed(
    own: ByMemory, beside: Mapping[MemoryId, Neighbours], weight: float
) -> dict[MemoryId, Vector]:
    """Each vector with so much of the mean of its neighbours', of length 1 again."""
    vectors: dict[MemoryId, Vector] = {}
    for id_, vector in own.items():
        near = [own[other.id] for other in beside[id_] if other]
        blend = (1 - weight) * vector + weight * np.mean(near, axis=0) if near else vector
        vectors[id_] = (blend / np.linalg.norm(blend)).astype(np.float32)
    return vectors


def _after(before: Memory | None, memory: Memory, recipe: str) -> str:
    return "\n".join(embedded_text(x, recipe) for x in (before, memory) if x)


def _embedded(embedder: Embedder, texts: Mapping[MemoryId, str]) -> ByMemory:
    return dict(zip(texts, embedder.embed_memories([*texts.values()]), strict=True))


def _fill(store: Store, space: Space, vectors: ByMemory) -> None:
    """Keep vectors in a space as a worker would, and have it answer."""
    store.use_space(space)
    now = datetime.now(UTC)
    while jobs := store.claim(["embed"], 1_000, now, now + timedelta(hours=1)):
        rows = np.stack([vectors[job.memory.id] for job in jobs])
        store.finish_embedding(space, jobs, rows)
    store.activate_filled()


if __name__ == "__main__":
    sys.exit(main())
