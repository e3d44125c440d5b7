"""Users of one store who share memories, for tests of sharing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pydantic_core

from made_up_embedders import WordEmbedder
from recollect.app import Recollect
from recollect.config import Settings
from recollect.embed.embedders import Embedders
from recollect.interfaces import machine
from recollect.protocols import Store
from recollect.store.sqlite import SqliteStore
from recollect.testing import FixedClock, MemoryStore, counting_ids
from recollect.trace import Recollection

KINDS = ("memory", "sqlite", "postgres")


def open_kind(kind: str, path: Path, database: Callable[[], str]) -> Store:
    """A store of this kind, empty."""
    if kind == "memory":
        return MemoryStore()
    if kind == "sqlite":
        return SqliteStore(path)
    from recollect.store.postgres.store import PostgresStore  # noqa: PLC0415  needs its driver

    return PostgresStore(database())


@contextmanager
def household(store: Store, clock: FixedClock, **fields: Any) -> Iterator[Recollect]:
    """Ada's view of a store, where meaning follows from words; `for_user` gives the others'."""
    settings = Settings.model_validate({"user": "ada", **fields})
    by_words = Embedders.among(WordEmbedder())
    opened = Recollect(store, settings, clock=clock, new_id=counting_ids(), embedders=by_words)
    with opened as memory:
        yield memory


def told(answer: Recollection) -> str:
    """All that a machine is told of a recall."""
    text = pydantic_core.to_json(machine.recollection(answer, with_trace=True)).decode()
    return text.partition('"hits"')[2]  # what follows the query itself
