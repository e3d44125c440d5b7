"""Everything here is told again: to a server that may have lost some of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from datetime import datetime

from bearinmind.changes import (
    Subject,
    conflict_subject,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.protocols import Page, Received, Store
from bearinmind.types import Filter, Memory, Scope, State

_AT_ONCE = 100
_MOST_CONFLICTS = 100_000


def tell_everything_again(store: Store, scope: Scope, now: datetime) -> None:
    """Make everything pending that is not; what the server has after all is settled by a pull."""
    tell_again(store, scope, _subjects(store, scope, now))


def tell_again(store: Store, scope: Scope, subjects: Iterable[Subject]) -> None:
    """Make these things pending, as they are."""
    for some in _batches(subjects):
        _make_pending(store, scope, some)


def _make_pending(store: Store, scope: Scope, subjects: list[Subject]) -> None:
    numbers = store.numbers(scope, subjects)
    unnoted = [subject for subject in subjects if subject not in numbers]
    states = store.states(scope, unnoted)
    # A change that comes between gets its number by itself: the state here is stale then, and that
    # is as well.
    store.receive(scope, [Received(subject, states[subject], 0) for subject in unnoted])


def _subjects(store: Store, scope: Scope, now: datetime) -> Iterator[Subject]:
    for memory in _memories(store, scope, now):
        yield memory_subject(memory.id)
    links = (link_subject(x.source, x.kind, x.target) for x in store.all_links(scope))
    yield from dict.fromkeys(links)
    for share in store.shares(scope):
        yield share_subject(share.reader, share.memory, share.tag)
    yield from map(conflict_subject, store.conflicts(scope, _MOST_CONFLICTS, every=True))


def _memories(store: Store, scope: Scope, now: datetime) -> Iterator[Memory]:
    every = Filter(scope=scope, now=now, states=frozenset(State))
    page: Page | None = Page(limit=_AT_ONCE, newest_first=False)
    while page:
        found = store.browse(every, page)
        yield from found
        page = _behind(found[-1]) if len(found) == _AT_ONCE else None


def _behind(memory: Memory) -> Page:
    return Page(limit=_AT_ONCE, after=(memory.created_at, memory.id), newest_first=False)


def _batches(subjects: Iterable[Subject]) -> Iterator[list[Subject]]:
    left = iter(subjects)
    while some := [*itertools.islice(left, _AT_ONCE)]:
        yield some
