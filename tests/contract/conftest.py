"""The stores that are held to the contract, and what their tests are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.protocols import Store
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.testing import TemporaryStore
from bearinmind.types import Filter, Link, LinkKind, Memory, Right, Scope, Share, UserId
from support.extractors import HOUR, Make, Read, read_all

#: A way of making an empty store, given a way to an empty database.
Makes = Callable[[Callable[[], str]], Store]

#: Each kind of store. A new adapter is held to the whole contract by one line here.
STORES: dict[str, Makes] = {
    "sqlite": lambda _database: TemporaryStore(),
    "postgres": lambda database: PostgresStore(database(), connections=4),
}


@pytest.fixture(params=[*STORES])
def store(request: pytest.FixtureRequest, migrated_database: Callable[[], str]) -> Iterator[Store]:
    """An empty store, once of each kind."""
    made = STORES[request.param](migrated_database)
    yield made
    made.close()


@pytest.fixture
def stores(migrated_database: Callable[[], str]) -> Iterator[dict[str, Store]]:
    """An empty store of every kind, to be compared with each other."""
    made = {name: make(migrated_database) for name, make in STORES.items()}
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


@pytest.fixture
def everything(scope: Scope, noon: datetime) -> Filter:
    """Admits whatever the scope holds now."""
    return Filter(scope=scope, now=noon + 99 * HOUR)


@pytest.fixture
def as_bob(everything: Filter) -> Filter:
    """Admits what the scope's owner shares with Bob."""
    return replace(everything, reader=UserId("bob"))


@pytest.fixture
def share(scope: Scope, noon: datetime) -> Callable[..., Share]:
    """Makes a share of a memory or a tag with Bob, to read, unless it says otherwise."""

    def make_share(what: Memory | str, right: Right = Right.READ, **fields: object) -> Share:
        thing = {"tag": what} if isinstance(what, str) else {"memory": what.id}
        told = {"owner": scope.user, "reader": "bob", "right": right, "created_at": noon}
        return Share(**{**told, **thing, **fields})  # type: ignore[arg-type]

    return make_share


@pytest.fixture
def read(store: Store, noon: datetime) -> Read:
    """Reads every version that waits for it, some hours after noon, as `plain_reading` does."""
    store.use_extractor("plain")
    return lambda hours=50: read_all(store, noon + hours * HOUR)


@pytest.fixture
def keep(store: Store, make: Make, read: Read) -> Callable[..., Memory]:
    """Stores a memory and reads it."""

    def kept(content: str, **fields: object) -> Memory:
        memory = make(content, **fields)
        store.put(Scope(user=memory.owner), memory)
        read()
        return memory

    return kept
