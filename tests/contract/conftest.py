"""The stores that are held to the contract, and what their tests are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from recollect.protocols import Store
from recollect.store.sqlite import SqliteStore
from recollect.testing import MemoryStore
from recollect.types import Link, LinkKind, Memory, Scope, UserId

#: Each way of making an empty store. A new adapter is held to the whole contract by one line here.
STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "sqlite": lambda folder: SqliteStore(folder / "memories.db"),
}


@pytest.fixture(params=[*STORES])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store, once of each kind."""
    made = STORES[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[dict[str, Store]]:
    """An empty store of every kind, to be compared with each other."""
    made = {name: make(tmp_path) for name, make in STORES.items()}
    yield made
    for each in made.values():
        each.close()


@pytest.fixture
def scope() -> Scope:
    return Scope(user=UserId("ada"))


@pytest.fixture
def link(noon: datetime) -> Callable[..., Link]:
    """Makes a link, made at noon unless it says otherwise."""

    def make_link(
        source: Memory,
        kind: LinkKind,
        target: Memory,
        created_at: datetime = noon,
        removed_at: datetime | None = None,
    ) -> Link:
        return Link(
            source=source.id,
            target=target.id,
            kind=kind,
            created_at=created_at,
            removed_at=removed_at,
        )

    return make_link
