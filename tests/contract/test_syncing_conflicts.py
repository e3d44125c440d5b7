"""A conflict is kept once, wherever it is told, and is resolved once for all."""

from __future__ import annotations

from datetime import datetime

import pytest

from bearinmind.changes import (
    Change,
    ConflictKind,
    ConflictState,
    Refused,
    Subject,
    SubjectKind,
    SyncConflict,
    Taken,
    conflict_subject,
    memory_subject,
    share_subject,
)
from bearinmind.protocols import Gone, History, Received, Store
from bearinmind.types import Scope, UserId
from support.extractors import HOUR, Make


@pytest.fixture
def conflict(noon: datetime) -> SyncConflict:
    """A conflict about something with a name in which everything must be quoted."""
    about = share_subject(UserId("bob"), None, 'a "quoted" \\ tag & é')
    return SyncConflict(0, ConflictKind.LINKED, about, "", "", "both changed tags", noon)


def told(conflict: SyncConflict, expected: int = 0, *, settled: bool = False) -> Received:
    subject = conflict_subject(conflict)
    return Received(subject, ConflictState(conflict), expected, settled=settled)


def test_a_conflict_that_is_told_is_listed_and_told_again_it_is_the_same(
    store: Store, scope: Scope, conflict: SyncConflict
) -> None:
    store.open_feed(scope, "epoch")
    assert store.receive(scope, [told(conflict)]) == [Taken(1)]
    assert store.receive(scope, [told(conflict, expected=1)]) == [Taken(2)]
    assert store.conflicts(scope, 9) == [conflict._replace(number=1)]
    assert store.changes(scope, 0, 9) == [Change(conflict_subject(conflict), 2)]


def test_a_resolution_that_is_told_takes_a_conflict_off_the_list(
    store: Store, scope: Scope, conflict: SyncConflict, noon: datetime
) -> None:
    store.open_feed(scope, "epoch")
    other = conflict._replace(kind=ConflictKind.EDITED)
    store.receive(scope, [told(conflict), told(other)])
    resolved = conflict._replace(resolved_at=noon + HOUR)
    store.receive(scope, [told(resolved, expected=1)])
    assert store.conflicts(scope, 9) == [other._replace(number=2)]
    assert store.conflicts(scope, 9, every=True) == [
        resolved._replace(number=1),
        other._replace(number=2),
    ]
    assert not store.resolve_conflict(scope, 1, noon)


def test_conflicts_are_numbered_when_a_feed_is_opened_by_the_names_that_we_give_them(
    store: Store, scope: Scope, conflict: SyncConflict
) -> None:
    store.receive(scope, [told(conflict)])
    assert store.open_feed(scope, "epoch").head == 1
    subject = conflict_subject(conflict)
    assert store.changes(scope, 0, 9) == [Change(subject, 1)]
    assert store.states(scope, [subject]) == {subject: ConflictState(conflict)}


def test_what_cannot_be_that_conflict_is_refused(
    store: Store, scope: Scope, make: Make, conflict: SyncConflict
) -> None:
    memory = make()
    subject = conflict_subject(conflict)
    nested = conflict_subject(conflict._replace(subject=subject))
    wrong = [
        Received(subject, ConflictState(None), 0),
        Received(subject, ConflictState(conflict._replace(other="else")), 0),
        Received(subject, Gone(), 0),
        Received(subject, History(versions=(memory,)), 0),
        Received(memory_subject(memory.id), ConflictState(conflict), 0),
        Received(nested, ConflictState(conflict._replace(subject=subject)), 0),
        Received(Subject(SubjectKind.CONFLICT, '["edited"]'), ConflictState(conflict), 0),
    ]
    assert all(isinstance(x, Refused) for x in store.receive(scope, wrong))
    assert store.conflicts(scope, 9) == []
