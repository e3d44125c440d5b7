"""Every write is numbered in a scope that has a feed, and by whatever method it is made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from bearinmind.changes import (
    Change,
    ConflictKind,
    ConflictState,
    Subject,
    SyncConflict,
    conflict_subject,
    digest,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.errors import MindError
from bearinmind.protocols import History, Received, Store
from bearinmind.types import Filter, Link, LinkKind, Memory, Right, Scope, Share, UserId
from support.extractors import Make, after, deleted

#: Methods that write memories, links or shares: each has a test below that it is noted.
WRITES = {
    "put": "test_a_new_memory_is_noted_with_its_links",
    "put_many": "test_memories_that_arrive_together_are_noted_unless_they_are_known",
    "replace": "test_a_new_version_is_noted_with_its_links",
    "replace_shared": "test_a_version_that_a_reader_wrote_is_noted_for_the_owner",
    "purge": "test_a_purge_is_noted_with_the_digests_of_what_is_gone",
    "add_link": "test_a_link_is_noted_when_it_is_made_and_when_it_is_removed",
    "remove_link": "test_a_link_is_noted_when_it_is_made_and_when_it_is_removed",
    "change_links": "test_links_that_change_together_are_noted",
    "finish_comparison": "test_what_a_comparison_changes_is_noted",
    "add_share": "test_a_share_is_noted_when_it_is_made_changed_and_ended",
    "end_share": "test_a_share_is_noted_when_it_is_made_changed_and_ended",
    "receive": "test_what_is_received_gets_the_next_number",
    "resolve_conflict": "test_a_conflict_is_noted_when_it_is_kept_and_when_it_is_resolved",
}
#: Methods that change something, but nothing that others are told of.
WRITES_ELSE = """
    reseal retire_keys note scrub
    use_space activate_filled drop_retired index_spaces finish_embedding carry_vectors
    claim give_back revive queue_missing use_extractor finish_extraction
    add_mentions add_statements retract end_relation merge unmerge
    add_user set_disabled erase_user add_key end_key count_writes carry_writes
    add_session end_session count_traffic take_allowance forget_allowances
    open_feed close_feed keep_peer settle refuse propose decide close
"""
READS = """
    held_by
    get get_many resolve versions browse count statistics has_links links newer all_links
    lexical_statistics lexical_matches meaning_off spaces nearest cosines
    sealed sensitive sealed_under retired_keys sealed_otherwise audit whole_audit
    work_counts next_due extractor known_names
    concepts mentions_in mentioning read_so_far hubs relations all_mentions all_relations merges
    graph_counts
    shares shared_with sharers visible visible_beginning visible_after rights visible_statistics
    visible_concepts
    users user key keys allowance_wait queue_ends replica_lag uses_by_owner
    feed changes numbers states vectors_of peer peer_numbers conflicts
    proposals proposal proposal_counts same_content
    check for_recall facts
    active_space unembedded agent_sessions density may_lose_jobs dead_jobs
    session all_shares sizes_by_owner traffic traffic_by_user whole_traffic writes_on
    writes_with
"""


@dataclass
class Noted:
    """Tells what was noted since it was asked last."""

    store: Store
    scope: Scope

    def __post_init__(self) -> None:
        self.head = self.store.open_feed(self.scope, "epoch").head

    def __call__(self) -> list[Change]:
        found = self.store.changes(self.scope, self.head, 99)
        feed = self.store.feed(self.scope)
        assert feed is not None
        self.head = feed.head
        return found

    def subjects(self) -> list[Subject]:
        return [change.subject for change in self()]


@pytest.fixture
def noted(store: Store, scope: Scope) -> Noted:
    return Noted(store, scope)


def subject(thing: Memory | Link | Share) -> Subject:
    if isinstance(thing, Memory):
        return memory_subject(thing.id)
    if isinstance(thing, Link):
        return link_subject(thing.source, thing.kind, thing.target)
    return share_subject(thing.reader, thing.memory, thing.tag)


def test_every_method_of_a_store_is_known_to_write_or_not_to() -> None:
    methods = {name for name in dir(Store) if not name.startswith("_")}
    assert sorted(methods) == sorted([*WRITES, *WRITES_ELSE.split(), *READS.split()])
    assert {*WRITES.values()} <= {*globals()}


def test_a_new_memory_is_noted_with_its_links(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noted: Noted
) -> None:
    one, other = make(), make()
    store.put(scope, one)
    assert noted() == [Change(subject(one), 1)]
    both = link(other, LinkKind.PART_OF, one)
    store.put(scope, other, [both])
    assert noted() == [Change(subject(other), 2), Change(subject(both), 3)]


def test_memories_that_arrive_together_are_noted_unless_they_are_known(
    store: Store, scope: Scope, make: Make, noted: Noted
) -> None:
    one, other = make("heron"), make("gannet")
    again = make("heron")
    store.put_many(scope, [History(versions=(one, after(one, content="grey heron")))])
    assert noted.subjects() == [subject(one)]
    histories = [History(versions=(x,)) for x in (one, other, replace(again, content="gannet"))]
    store.put_many(scope, histories)
    assert noted.subjects() == [subject(other)]


def test_a_new_version_is_noted_with_its_links(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noted: Noted
) -> None:
    one, other = make(), make()
    for memory in (one, other):
        store.put(scope, memory)
    noted()
    both = link(one, LinkKind.SEE_ALSO, other)
    store.replace(scope, after(one, content="otter"), [both])
    assert noted() == [Change(subject(one), 3), Change(subject(both), 4)]
    assert store.changes(scope, 0, 99) == [
        Change(subject(other), 2),
        Change(subject(one), 3),
        Change(subject(both), 4),
    ]
    store.replace(scope, deleted(other))
    assert noted.subjects() == [subject(other)]


def test_a_version_that_a_reader_wrote_is_noted_for_the_owner(
    store: Store,
    scope: Scope,
    make: Make,
    share: Callable[..., Share],
    as_bob: Filter,
    noted: Noted,
) -> None:
    memory = make()
    store.put(scope, memory)
    store.add_share(scope, share(memory, Right.WRITE))
    noted()
    store.replace_shared(as_bob, after(memory, content="otter"))
    assert noted.subjects() == [subject(memory)]


def test_a_purge_is_noted_with_the_digests_of_what_is_gone(
    store: Store,
    scope: Scope,
    make: Make,
    link: Callable[..., Link],
    share: Callable[..., Share],
    noted: Noted,
) -> None:
    gone, kept = make("heron"), make("gannet")
    later = after(gone, content="grey heron")
    there, back = link(gone, LinkKind.CAUSES, kept), link(kept, LinkKind.SEE_ALSO, gone)
    store.put(scope, gone)
    store.put(scope, kept, [there, back])
    store.replace(scope, later)
    store.remove_link(scope, replace(there, removed_at=later.updated_at))
    for shared in (share(gone), share("birds"), share(kept)):
        store.add_share(scope, shared)
    noted()
    store.purge(scope, [gone.id, make().id])

    found = noted()
    assert found[0] == Change(subject(gone), found[0].number, (digest(gone), digest(later)))
    besides = [subject(there), subject(back), subject(share(gone))]
    assert [x.subject for x in found[1:]] == besides
    assert [x.number for x in found] == [*range(found[0].number, found[0].number + 4)]


def test_a_link_is_noted_when_it_is_made_and_when_it_is_removed(
    store: Store,
    scope: Scope,
    make: Make,
    link: Callable[..., Link],
    noted: Noted,
    noon: datetime,
) -> None:
    one, other = make(), make()
    for memory in (one, other):
        store.put(scope, memory)
    noted()
    both = link(one, LinkKind.SUPERSEDES, other)
    for write in (
        lambda: store.add_link(scope, both),
        lambda: store.remove_link(scope, replace(both, removed_at=noon)),
    ):
        write()
        assert noted.subjects() == [subject(both)]
    assert not store.remove_link(scope, replace(both, removed_at=noon))
    assert noted() == []


def test_links_that_change_together_are_noted(
    store: Store,
    scope: Scope,
    make: Make,
    link: Callable[..., Link],
    noted: Noted,
    noon: datetime,
) -> None:
    one, other = make(), make()
    for memory in (one, other):
        store.put(scope, memory)
    before, never = link(one, LinkKind.OUTDATES, other), link(one, LinkKind.SEE_ALSO, other)
    store.add_link(scope, before)
    noted()
    new = link(other, LinkKind.OUTDATES, one)
    store.change_links(scope, [replace(x, removed_at=noon) for x in (before, never)], [new])
    assert noted.subjects() == [subject(before), subject(new)]


def test_what_a_comparison_changes_is_noted(
    store: Store,
    scope: Scope,
    make: Make,
    link: Callable[..., Link],
    noted: Noted,
    noon: datetime,
) -> None:
    one, other, third = make(), make(), make()
    for memory in (one, other, third):
        store.put(scope, memory)
    before = link(one, LinkKind.OUTDATES, other)
    store.add_link(scope, before)
    noted()
    new = link(one, LinkKind.OUTDATES, third)
    first, *jobs = store.claim(["compare"], 9, noon, noon)
    store.finish_comparison(scope, [first], [new], [replace(before, removed_at=noon)])
    assert noted.subjects() == [subject(before), subject(new)]
    store.finish_comparison(scope, jobs, [new], [replace(before, removed_at=noon)])
    assert noted() == [], "nothing has changed"


def test_a_share_is_noted_when_it_is_made_changed_and_ended(
    store: Store, scope: Scope, make: Make, share: Callable[..., Share], noted: Noted
) -> None:
    memory = make()
    store.put(scope, memory)
    noted()
    shared = share(memory)
    store.add_share(scope, shared)
    assert noted.subjects() == [subject(shared)]
    store.add_share(scope, shared)
    assert noted() == []
    store.add_share(scope, replace(shared, right=Right.WRITE))
    assert noted.subjects() == [subject(shared)]
    store.end_share(scope, shared)
    assert noted.subjects() == [subject(shared)]
    assert not store.end_share(scope, shared)
    assert noted() == []


def test_what_is_received_gets_the_next_number(
    store: Store, scope: Scope, make: Make, noted: Noted
) -> None:
    memory = make()
    store.receive(scope, [Received(subject(memory), History(versions=(memory,)), 0)])
    assert noted() == [Change(subject(memory), 1)]


def test_what_is_refused_is_not_noted(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noted: Noted
) -> None:
    one, other = make("heron"), make("gannet")
    both = link(other, LinkKind.SUPERSEDES, one)
    store.put(scope, one)
    store.put(scope, other, [both])
    noted()
    store.put(scope, make("gannet"))
    for refused in (
        lambda: store.put(scope, make(), [both]),
        lambda: store.put(scope, make(id=one.id)),
        lambda: store.replace(scope, replace(one, version=9)),
        lambda: store.replace(scope, after(one, content="otter"), [both]),
        lambda: store.add_link(scope, both),
        lambda: store.add_link(scope, link(one, LinkKind.SUPERSEDES, other)),
    ):
        with pytest.raises(MindError):
            refused()
    assert noted() == []


def test_a_scope_without_a_feed_has_no_changes(
    store: Store, scope: Scope, make: Make, noted: Noted
) -> None:
    bea = Scope(user=UserId("bea"))
    store.put(bea, make(owner=bea.user))
    assert store.feed(bea) is None
    assert store.changes(bea, 0, 99) == []
    assert noted() == []
    store.close_feed(scope)
    store.put(scope, make())
    assert store.feed(scope) is None
    assert store.changes(scope, 0, 99) == []


def test_whoever_follows_the_numbers_misses_nothing_that_others_write_meanwhile(
    store: Store, scope: Scope, make: Make, noted: Noted
) -> None:
    memories = [[make() for _ in range(6)] for _ in range(4)]
    done = threading.Event()

    def write(own: list[Memory]) -> None:
        for memory in own:
            store.put(scope, memory)

    def follow() -> list[Change]:
        found: list[Change] = []
        while not done.is_set() or store.changes(scope, len(found), 1):
            found += store.changes(scope, found[-1].number if found else 0, 3)
        return found

    with ThreadPoolExecutor(5) as pool:
        following = pool.submit(follow)
        [*pool.map(write, memories)]
        done.set()
        found = following.result()
    assert [change.number for change in found] == [*range(1, 25)]
    assert {x.subject for x in found} == {subject(memory) for own in memories for memory in own}


def test_a_conflict_is_noted_when_it_is_kept_and_when_it_is_resolved(
    store: Store, scope: Scope, make: Make, noted: Noted, noon: datetime
) -> None:
    memory = make()
    state = History(versions=(memory,))
    conflict = SyncConflict(0, ConflictKind.EDITED, subject(memory), "a", "b", "tags", noon)
    named = conflict_subject(conflict)
    store.receive(scope, [Received(subject(memory), state, 0, settled=True, conflict=conflict)])
    assert noted() == [Change(named, 1)]
    assert store.states(scope, [named]) == {named: ConflictState(conflict)}
    store.resolve_conflict(scope, 1, noon)
    assert noted() == [Change(named, 2)]
    assert store.states(scope, [named]) == {
        named: ConflictState(conflict._replace(resolved_at=noon))
    }
    store.resolve_conflict(scope, 1, noon)
    assert noted() == []
