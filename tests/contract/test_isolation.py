"""Nothing of another user is ever read or changed, whichever method is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind import errors
from bearinmind.protocols import History, Page, Store
from bearinmind.types import Filter, Link, LinkKind, Memory, Scope, State, Stored, UserId

HOUR = timedelta(hours=1)
Make = Callable[..., Memory]


@pytest.fixture
def eve() -> Scope:
    return Scope(user=UserId("eve"))


@pytest.fixture
def hers(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link]
) -> tuple[Memory, Memory]:
    """Two linked memories of Ada."""
    old, new = make("walrus plan"), make("walrus decision")
    store.put(scope, old)
    store.put(scope, new, [link(new, LinkKind.SUPERSEDES, old)])
    return old, new


def test_another_user_reads_nothing(
    store: Store, eve: Scope, hers: tuple[Memory, Memory], noon: datetime
) -> None:
    ids = [memory.id for memory in hers]
    for as_of in (None, noon):
        assert store.get(eve, ids[0], as_of) is None
        assert store.get_many(eve, ids, as_of) == {}
        assert store.links(eve, ids, as_of) == []
        assert store.newer(eve, ids, as_of) == []
        filter_ = Filter(scope=eve, now=noon, as_of=as_of, states=frozenset(State))
        assert store.browse(filter_, Page(limit=99)) == []
        for every in (True, False):
            assert store.lexical_matches(filter_, ["walrus"], every=every, limit=99) == []
    assert store.resolve(eve, "0") == []
    assert store.versions(eve, ids[0]) == []
    assert [*store.all_links(eve)] == []
    facts = store.statistics(eve, noon)
    assert (facts.live, facts.superseded, facts.links, facts.categories) == (0, 0, 0, {})


def test_another_user_changes_nothing(
    store: Store,
    scope: Scope,
    eve: Scope,
    hers: tuple[Memory, Memory],
    link: Callable[..., Link],
    noon: datetime,
) -> None:
    old, new = hers
    before = (store.versions(scope, old.id), [*store.all_links(scope)])
    with pytest.raises(errors.VersionConflict):
        store.replace(eve, replace(old, version=2, content="taken over"))
    store.purge(eve, [old.id, new.id])
    closed = link(new, LinkKind.SUPERSEDES, old, removed_at=noon + HOUR)
    assert store.remove_link(eve, closed) is False
    assert (store.versions(scope, old.id), [*store.all_links(scope)]) == before


def test_the_owner_is_the_scope_whatever_the_memory_says(
    store: Store, scope: Scope, eve: Scope, make: Make
) -> None:
    memory = make("mine", owner=UserId("ada"))
    store.put(eve, memory)
    assert store.get(scope, memory.id) is None
    kept = store.get(eve, memory.id)
    assert kept is not None
    assert kept.owner == eve.user


def test_two_users_may_have_the_same_id_content_and_links(
    store: Store,
    scope: Scope,
    eve: Scope,
    hers: tuple[Memory, Memory],
    link: Callable[..., Link],
    noon: datetime,
) -> None:
    old, new = hers
    assert isinstance(store.put(eve, replace(old, tags=("eve",))), Stored)
    assert isinstance(store.put_many(eve, [History(versions=(new,))])[0], Stored)
    store.add_link(eve, link(old, LinkKind.SUPERSEDES, new))  # the reverse of Ada's: no circle
    store.remove_link(eve, link(old, LinkKind.SUPERSEDES, new, removed_at=noon + HOUR))
    store.purge(eve, [new.id])
    assert store.get(scope, old.id) == old
    assert store.get(scope, new.id) == new
    assert len(store.links(scope, [new.id])) == 1


def test_another_users_memory_supersedes_nothing(
    store: Store, scope: Scope, eve: Scope, make: Make, link: Callable[..., Link], noon: datetime
) -> None:
    mine, theirs = make("mine"), make("theirs")
    store.put(scope, mine)
    store.put(eve, theirs)
    store.add_link(eve, link(theirs, LinkKind.SUPERSEDES, mine))
    assert store.newer(scope, [mine.id]) == []
    assert store.browse(Filter(scope=scope, now=noon), Page(limit=9)) == [mine]


def test_a_small_scope_finds_its_own_behind_many_of_others(
    store: Store, scope: Scope, eve: Scope, make: Make, noon: datetime
) -> None:
    for n in range(80):
        store.put(eve, make(f"walrus {n}", owner=eve.user))
    mine = make("a longer tale of one walrus among very many other animals")
    store.put(scope, mine)
    filter_ = Filter(scope=scope, now=noon)
    matches = store.lexical_matches(filter_, ["walrus"], every=False, limit=5)
    assert [match.load() for match in matches] == [mine]
