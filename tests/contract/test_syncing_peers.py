"""A replica keeps how far it has come, what its server knows, and what was contradicted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bearinmind.changes import Change, ConflictKind, Peer, SyncConflict, memory_subject
from bearinmind.protocols import History, Received, Settled, Store
from bearinmind.types import MemoryId, Scope, UserId
from support.extractors import HOUR, Make, after

BEA = Scope(user=UserId("bea"))


def test_a_peer_is_kept_as_it_was_given(store: Store, scope: Scope, noon: datetime) -> None:
    assert store.peer(scope) is None
    new = Peer(url="https://memories.example", user=UserId("ada"))
    store.keep_peer(scope, new)
    assert store.peer(scope) == new
    further = replace(
        new,
        epoch="epoch",
        cursor=7,
        pulled_at=noon,
        pushed_at=noon + HOUR,
        pull_error="no answer",
        push_error="no answer either",
    )
    store.keep_peer(scope, further)
    assert store.peer(scope) == further
    assert store.peer(BEA) is None


def test_the_numbers_of_a_server_are_forgotten_when_it_begins_anew(
    store: Store, scope: Scope, noon: datetime
) -> None:
    subject = memory_subject(MemoryId("one"))
    peer = Peer(url="https://memories.example", user=UserId("ada"), epoch="first")
    for owner in (scope, BEA):
        store.keep_peer(owner, peer)
        store.settle(owner, [Settled(subject, 1, 5)])
    store.keep_peer(scope, replace(peer, cursor=9, pulled_at=noon))
    assert store.peer_numbers(scope, [subject, memory_subject(MemoryId("two"))]) == {subject: 5}
    store.keep_peer(scope, replace(peer, epoch="second"))
    assert store.peer_numbers(scope, [subject]) == {}
    assert store.peer_numbers(BEA, [subject]) == {subject: 5}


def test_what_is_settled_is_pending_no_more_unless_it_changed_since(
    store: Store, scope: Scope, make: Make
) -> None:
    store.open_feed(scope, "epoch")
    sent, changed = make(), make()
    subjects = [memory_subject(sent.id), memory_subject(changed.id)]
    for memory in (sent, changed):
        store.put(scope, memory)
    store.replace(scope, after(changed, content="otter"))
    store.settle(scope, [Settled(subjects[0], 1, 11), Settled(subjects[1], 2, 12)])

    assert store.changes(scope, 0, 99) == [Change(subjects[1], 3)]
    assert store.peer_numbers(scope, subjects) == dict(zip(subjects, (11, 12), strict=True))
    store.settle(scope, [Settled(subjects[1], 3, 14)])
    assert store.changes(scope, 0, 99) == []
    assert store.peer_numbers(scope, subjects[1:]) == {subjects[1]: 14}
    store.put(scope, make())
    assert [change.number for change in store.changes(scope, 0, 99)] == [4]


def test_why_a_change_is_refused_is_kept_until_it_changes_again(
    store: Store, scope: Scope, make: Make
) -> None:
    store.open_feed(scope, "epoch")
    memory = make()
    subject = memory_subject(memory.id)
    store.put(scope, memory)
    store.refuse(scope, subject, 2, "another change was meant")
    store.refuse(scope, memory_subject(MemoryId("none")), 1, "it is not there")
    assert store.changes(scope, 0, 99) == [Change(subject, 1)]
    store.refuse(scope, subject, 1, "too long")
    assert store.changes(scope, 0, 99) == [Change(subject, 1, refused="too long")]
    store.replace(scope, after(memory, content="otter"))
    assert store.changes(scope, 0, 99) == [Change(subject, 2)]


def test_conflicts_are_listed_in_order_until_somebody_resolves_them(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    store.open_feed(scope, "epoch")
    kinds = [*ConflictKind]
    memories = [make() for _ in kinds]
    found = [
        SyncConflict(0, kind, memory_subject(x.id), "served", "other", f"{kind}: tags", noon)
        for kind, x in zip(kinds, memories, strict=True)
    ]
    store.receive(
        scope,
        [
            Received(each.subject, History(versions=(memory,)), 0, conflict=each)
            for memory, each in zip(memories, found, strict=True)
        ],
    )
    kept = [each._replace(number=number) for number, each in enumerate(found, 1)]
    assert store.conflicts(scope, 99) == kept
    assert store.conflicts(scope, 2) == kept[:2]
    assert store.conflicts(BEA, 99) == []

    assert store.resolve_conflict(scope, 2, noon + HOUR)
    assert not store.resolve_conflict(scope, 2, noon + HOUR)
    assert not store.resolve_conflict(scope, len(kept) + 1, noon + HOUR)
    assert not store.resolve_conflict(BEA, 1, noon + HOUR)
    assert store.conflicts(scope, 99) == [kept[0], *kept[2:]]
