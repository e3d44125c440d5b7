"""What a store can hold about syncing and proposals, for whoever fills one and reads it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from bearinmind.changes import (
    ConflictKind,
    Peer,
    ShareState,
    SyncConflict,
    memory_subject,
    mirror_of,
    share_subject,
)
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import History, Page, Received, Settled, Store
from bearinmind.types import Filter, MemoryId, Right, Scope, Share, UserId


def sync(store: Store, scope: Scope, now: datetime) -> None:
    """Be a replica that has come some way: settled, refused and contradicted."""
    first, second, third, *_ = store.changes(scope, 0, 99)
    peer = Peer(url="https://zoë.example", user=scope.user, epoch="theirs", cursor=41)
    peer = replace(peer, pulled_at=now, push_error="no answer", shared_at=now, shared_error="no")
    store.keep_peer(scope, peer)
    store.settle(scope, [Settled(first.subject, first.number, 17)])
    store.refuse(scope, second.subject, second.number, "too long")
    for number in (1, 2):
        about, other = third.subject, f"b{number}"
        conflict = SyncConflict(0, ConflictKind.EDITED, about, "a", other, "tags", now)
        [[subject, state]] = store.states(scope, [third.subject]).items()
        known = store.numbers(scope, [subject])[subject]
        store.receive(scope, [Received(subject, state, known, peer_number=9, conflict=conflict)])
        if number == 1:
            store.resolve_conflict(scope, number, now)


def copy_from_grace(store: Store, scope: Scope, now: datetime) -> None:
    """Have a copy of what somebody else shares, as it comes from a server."""
    mirror = Scope(user=mirror_of(UserId("grace"), scope.user))
    own = store.browse(Filter(scope=scope, now=now), Page(limit=9))
    said = next(memory for memory in own if not memory.sensitive)
    share = Share(
        owner=mirror.user, reader=scope.user, right=Right.WRITE, memory=said.id, created_at=now
    )
    named = share_subject(share.reader, share.memory, None)
    copied = History(versions=(replace(said, version=7),))
    store.receive(mirror, [Received(memory_subject(said.id), copied, 0)])
    store.receive(mirror, [Received(named, ShareState(share), 0)])


def propose(store: Store, scope: Scope, now: datetime) -> None:
    """Have proposals in several states."""
    proposals = [
        Proposal(
            id=f"p{number}",
            kind=kind,
            origin="consolidation",
            memories=(MemoryId("ü"), MemoryId("two")),
            reason="zoë said so",
            evidence={"cosine": 0.5, "text": "日本語"},
            change={"tags": ["%_\\'\""]},
            digest=f"d{number}",
            created_at=now,
        )
        for number, kind in enumerate(ProposalKind)
    ]
    store.propose(scope, proposals)
    applied = replace(proposals[0], state=ProposalState.APPLIED, decided_at=now, undo={"x": 1})
    store.decide(scope, applied, ProposalState.OPEN)


def synced(store: Store, scope: Scope) -> Iterator[tuple[str, Any]]:
    """All that a store answers about it."""
    changes = store.changes(scope, 0, 999)
    subjects = [*(change.subject for change in changes), memory_subject(MemoryId("none"))]
    yield "feed", (store.feed(scope), changes, store.peer(scope))
    yield "server", store.peer_numbers(scope, subjects)
    yield "states", store.states(scope, subjects)
    yield "conflicts", store.conflicts(scope, 99, every=True)
    mirror = Scope(user=mirror_of(UserId("grace"), scope.user))
    ids = [share.memory for share in store.shares(mirror) if share.memory]
    yield "copies", (store.shared_with(scope.user), store.get_many(mirror, ids))
    yield "proposals", store.proposals(scope, [*ProposalState], 99)
