"""Users of one store who share memories, for tests of sharing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock, TemporaryStore, counting_ids
from bearinmind.trace import Answer
from support.embedders import WordEmbedder

KINDS = ("sqlite", "postgres")


def open_kind(kind: str, database: Callable[[], str]) -> Store:
    """A store of this kind, empty."""
    if kind == "sqlite":
        return TemporaryStore()
    from bearinmind.store.postgres.store import PostgresStore  # noqa: PLC0415  needs its driver

    return PostgresStore(database())


@contextmanager
def household(store: Store, clock: FixedClock, **fields: Any) -> Iterator[Mind]:
    """Ada's view of a store, where meaning follows from words; `for_user` gives the others'."""
    settings = Settings.model_validate({"user": "ada", **fields})
    by_words = Embedders.among(WordEmbedder())
    opened = Mind(store, settings, clock=clock, new_id=counting_ids(), embedders=by_words)
    with opened as memory:
        yield memory


def told(answer: Answer) -> str:
    """All that a machine is told of a recall."""
    text = codec.to_json(answer).decode()
    return text.partition('"hits"')[2]  # what follows the query itself
