"""A feed numbers what is there and what changes, and tells what stands there now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from bearinmind.changes import (
    Change,
    ConflictKind,
    Feed,
    LinkState,
    Peer,
    ShareState,
    Subject,
    SyncConflict,
    digest,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.protocols import Gone, History, Page, Received, Sealed, Settled, Store
from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import Filter, Link, LinkKind, Memory, MemoryId, Right, Scope, Share, UserId
from support.extractors import HOUR, Make, after

BEA = Scope(user=UserId("bea"))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
MakesShare = Callable[..., Share]
AWKWARD = "a \"quoted\" \\ back/slash \x01\x1f\x7f\n\ttab ünïcode 鷺 \U0001f426 'single'"


def linked(link: Link) -> Subject:
    return link_subject(link.source, link.kind, link.target)


def shared(share: Share) -> Subject:
    return share_subject(share.reader, share.memory, share.tag)


def test_opening_a_feed_numbers_everything_that_is_there_the_oldest_first(
    store: Store,
    scope: Scope,
    make: Make,
    link: Callable[..., Link],
    share: MakesShare,
    noon: datetime,
) -> None:
    young, old = make(created_at=noon), make(created_at=noon - HOUR)
    before, now = (
        link(young, LinkKind.SEE_ALSO, old),
        link(young, LinkKind.CAUSES, old, noon + HOUR),
    )
    for memory in (young, old):
        store.put(scope, memory)
    for each in (now, before):
        store.add_link(scope, each)
    store.remove_link(scope, replace(before, removed_at=noon + HOUR))
    store.add_link(scope, replace(before, created_at=noon + 2 * HOUR))
    held, ended = share("birds"), share(young)
    store.add_share(scope, held)
    store.add_share(scope, ended)
    store.end_share(scope, ended)
    store.put(BEA, make(owner=BEA.user))
    store.replace(scope, after(old, content="otter"))

    assert store.open_feed(scope, "first") == Feed(epoch="first", head=5)
    subjects = [memory_subject(old.id), memory_subject(young.id), linked(before), linked(now)]
    numbered = [*subjects, shared(held)]
    assert store.changes(scope, 0, 99) == [Change(x, n) for n, x in enumerate(numbered, 1)]
    assert store.open_feed(scope, "second") == Feed(epoch="first", head=5)
    assert store.feed(scope) == Feed(epoch="first", head=5)
    assert store.feed(BEA) is None


def test_changes_are_told_in_stretches_each_thing_once_under_its_last_number(
    store: Store, scope: Scope, make: Make
) -> None:
    store.open_feed(scope, "epoch")
    one, two, three = memories = [make() for _ in range(3)]
    for memory in memories:
        store.put(scope, memory)
    store.replace(scope, after(one, content="otter"))

    in_order = [memory_subject(x.id) for x in (two, three, one)]
    told = [Change(subject, number) for number, subject in enumerate(in_order, 2)]
    assert store.changes(scope, 0, 2) == told[:2]
    assert store.changes(scope, 3, 2) == told[2:]
    assert store.changes(scope, 4, 2) == []
    unknown = memory_subject(MemoryId("unknown"))
    assert store.numbers(scope, [*in_order, unknown, in_order[0]]) == {
        change.subject: change.number for change in told
    }
    assert store.numbers(scope, []) == {}
    assert store.numbers(BEA, in_order) == {}


def test_what_stands_there_is_told_of_every_kind_of_thing(
    store: Store,
    scope: Scope,
    make: Make,
    link: Callable[..., Link],
    share: MakesShare,
    noon: datetime,
) -> None:
    plain, purged = make("heron", tags=("birds",)), make("gannet")
    secret = make("[sensitive]", sensitive=True)
    records = [_sealed(secret), _sealed(after(secret))]
    removed = link(plain, LinkKind.SEE_ALSO, secret, removed_at=noon + HOUR)
    again = link(plain, LinkKind.SEE_ALSO, secret, created_at=noon + 2 * HOUR)
    for memory in (plain, purged):
        store.put(scope, memory)
    store.put(scope, secret, sealed=records[:1])
    store.replace(scope, after(secret), sealed=records[1:])
    store.replace(scope, after(after(secret), tags=("keys",)))
    for each in (again, removed):
        store.add_link(scope, each)
    writable = store.add_share(scope, share(plain, Right.WRITE))
    store.open_feed(scope, "epoch")
    store.purge(scope, [purged.id])

    never = make()
    asked = {
        memory_subject(plain.id): History(versions=(plain,)),
        memory_subject(secret.id): History(
            versions=(secret, after(secret), after(after(secret), tags=("keys",))),
            sealed=tuple(records),
        ),
        memory_subject(purged.id): Gone((digest(purged),)),
        memory_subject(never.id): Gone(()),
        linked(removed): LinkState((removed, again)),
        linked(link(secret, LinkKind.SEE_ALSO, plain)): LinkState(()),
        shared(writable): ShareState(writable),
        shared(share("birds")): ShareState(None),
    }
    assert store.states(scope, [*asked]) == asked
    assert store.states(scope, []) == {}
    assert store.states(BEA, [memory_subject(plain.id), shared(writable)]) == {
        memory_subject(plain.id): Gone(()),
        shared(writable): ShareState(None),
    }


def _sealed(memory: Memory) -> Sealed:
    said = f"{memory.id} {memory.version}".encode()
    return Sealed(
        owner=memory.owner,
        id=memory.id,
        version=memory.version,
        key_id="key-1",
        nonce=said[:12],
        ciphertext=said,
        fingerprint=said[::-1],
    )


def test_a_memory_that_is_written_again_after_a_purge_is_not_gone(
    store: Store, scope: Scope, make: Make
) -> None:
    store.open_feed(scope, "epoch")
    memory = make()
    subject = memory_subject(memory.id)
    store.put(scope, memory)
    store.purge(scope, [memory.id])
    assert store.states(scope, [subject]) == {subject: Gone((digest(memory),))}
    store.put(scope, memory)
    assert store.changes(scope, 0, 99) == [Change(subject, 3)]
    store.settle(scope, [Settled(subject, 3, 7)])
    assert store.states(scope, [subject]) == {subject: History(versions=(memory,))}


def test_names_with_any_characters_are_the_same_whoever_made_them(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], share: MakesShare
) -> None:
    one, other = make(id=AWKWARD), make(id=AWKWARD + "2")
    for memory in (one, other):
        store.put(scope, memory)
    both = link(one, LinkKind.CAUSES, other)
    store.add_link(scope, both)
    given = store.add_share(scope, share(AWKWARD, reader=UserId(AWKWARD)))
    to_one = store.add_share(scope, share(one, created_at=given.created_at + HOUR))
    store.open_feed(scope, "epoch")

    things = [memory_subject(one.id), memory_subject(other.id), linked(both)]
    subjects = [*things, shared(given), shared(to_one)]
    assert [change.subject for change in store.changes(scope, 0, 99)] == subjects
    assert [*store.numbers(scope, subjects).values()] == [1, 2, 3, 4, 5]
    assert [*store.states(scope, subjects).values()] == [
        History(versions=(one,)),
        History(versions=(other,)),
        LinkState((both,)),
        ShareState(given),
        ShareState(to_one),
    ]
    store.purge(scope, [one.id])
    gone = store.changes(scope, 5, 99)
    assert [change.subject for change in gone] == [subjects[0], subjects[2], subjects[4]]


@settings(max_examples=4)
@given(texts=st.lists(TEXTS, min_size=20, max_size=40, unique=True))
def test_a_file_writes_names_as_we_do(
    texts: list[str], make: Make, tmp_path_factory: pytest.TempPathFactory, share: MakesShare
) -> None:
    ada = Scope(user=UserId("ada"))
    store = SqliteStore(tmp_path_factory.mktemp("names") / "memories.db")
    for text in texts:
        store.put(ada, make(id=text))
        store.add_share(ada, share(text))
    store.open_feed(ada, "epoch")
    written = {change.subject for change in store.changes(ada, 0, 999)}
    store.close()
    memories = {memory_subject(MemoryId(text)) for text in texts}
    assert written == memories | {shared(share(text)) for text in texts}


def test_closing_a_feed_forgets_all_that_is_known_of_the_peer_and_keeps_memories(
    store: Store, scope: Scope, make: Make, everything: Filter, noon: datetime
) -> None:
    memory = make()
    subject = memory_subject(memory.id)
    conflict = SyncConflict(0, ConflictKind.EDITED, subject, "", "", "", noon)
    for owner in (scope, BEA):
        store.open_feed(owner, "epoch")
        store.keep_peer(owner, Peer(url="https://a", user=owner.user))
        state = History(versions=(replace(memory, owner=owner.user),))
        received = Received(subject, state, 0, peer_number=3, conflict=conflict)
        store.receive(owner, [received])
    store.close_feed(scope)

    assert (store.feed(scope), store.peer(scope)) == (None, None)
    assert (store.changes(scope, 0, 99), store.conflicts(scope, 99)) == ([], [])
    assert store.peer_numbers(scope, [subject]) == {}
    assert store.browse(everything, Page(limit=9)) == [memory]
    assert store.feed(BEA) == Feed(epoch="epoch", head=2)  # the memory and the conflict
    assert store.peer_numbers(BEA, [subject]) == {subject: 3}
    assert len(store.conflicts(BEA, 99)) == 1
    assert store.open_feed(scope, "another") == Feed(epoch="another", head=1)
