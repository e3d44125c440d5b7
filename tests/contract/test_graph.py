"""What memories mention is found from both ends, and counted, while memories come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.concepts import Extraction, Kind, Mentioned, Role
from bearinmind.protocols import GraphCounts, Store
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, MemoryId, Scope
from support.extractors import Make, Read, after, deleted, mention

Keep = Callable[..., Memory]
SUBJECT, NAME, TAG, KEYWORD = Role


def said(found: list[Mentioned]) -> list[tuple[str, str]]:
    return [(each.concept, each.role) for each in found]


def by(found: list[Mentioned]) -> list[MemoryId]:
    return [each.id for each in found]


def counts(store: Store, scope: Scope, *names: str) -> list[tuple[int, int] | None]:
    """How many memories mention each, and how many are about it; None for what is no concept."""
    found = store.concepts(scope, [name_of(name) for name in names])
    asked = [found.get(name_of(name)) for name in names]
    return [(each.memories, each.subjects) if each else None for each in asked]


def test_what_a_memory_mentions_leads_to_the_memories_about_it(
    store: Store, everything: Filter, keep: Keep
) -> None:
    server = keep("Heron | Ilse Navrat")
    service = keep("Gannet | Heron")
    assert store.mentions_in(everything, [service.id]) == [
        Mentioned(service.id, name_of("gannet"), SUBJECT, 1, 1),
        Mentioned(service.id, name_of("heron"), NAME, 2, 1),
    ]
    found = store.mentioning(everything, [name_of("HERON")], 9, SUBJECT)
    assert found == [Mentioned(server.id, name_of("heron"), SUBJECT, 2, 1)]


def test_a_memory_counts_once_however_often_it_mentions_a_concept(
    store: Store, scope: Scope, everything: Filter, keep: Keep
) -> None:
    memory = keep("Gannet, Gannet | Gannet", tags=("gannet",), keywords=("gannet",))
    assert counts(store, scope, "gannet") == [(1, 1)]
    assert said(store.mentions_in(everything, [memory.id])) == [("gannet", SUBJECT)]
    for role in Role:
        assert said(store.mentioning(everything, [name_of("gannet")], 9, role)) == [
            ("gannet", role)
        ]


def test_the_strongest_mentions_of_a_memory_come_first(
    store: Store, everything: Filter, keep: Keep
) -> None:
    memory = keep("Gannet | Heron, Dunlin", tags=("ferry",), keywords=("boat",))
    assert said(store.mentions_in(everything, [memory.id])) == [
        ("gannet", SUBJECT),
        ("dunlin", NAME),
        ("heron", NAME),
        ("ferry", TAG),
        ("boat", KEYWORD),
    ]


def test_memories_are_answered_in_the_order_in_which_they_were_asked_for(
    store: Store, everything: Filter, keep: Keep
) -> None:
    one, two = keep("One"), keep("Two")
    asked = [two.id, one.id, MemoryId("none"), two.id]
    assert by(store.mentions_in(everything, asked)) == [two.id, one.id]


def test_the_newest_so_many_of_each_concept_are_found(
    store: Store, everything: Filter, keep: Keep
) -> None:
    kept = [keep(f"Number {number} | Gannet, Heron") for number in range(4)]
    found = store.mentioning(everything, [name_of("heron"), name_of("gannet"), name_of("heron")], 2)
    newest = [kept[3].id, kept[2].id]
    assert [(each.concept, each.id) for each in found] == [
        *(("heron", id_) for id_ in newest),
        *(("gannet", id_) for id_ in newest),
    ]


def test_a_limit_counts_what_the_filter_admits(
    store: Store, everything: Filter, keep: Keep
) -> None:
    wanted = keep("One | Gannet", category="people")
    for number in range(5):
        keep(f"Number {number} | Gannet")
    people = replace(everything, categories=frozenset({"people"}))
    assert by(store.mentioning(people, [name_of("gannet")], 1)) == [wanted.id]
    assert by([*store.all_mentions(people)]) == [wanted.id, wanted.id]
    assert by(store.mentions_in(people, [x.id for x in (wanted,)])) == [wanted.id, wanted.id]


# ---- versions ----------------------------------------------------------------------------------


def test_a_new_version_mentions_what_it_says_and_the_old_one_stays_readable(
    store: Store, scope: Scope, everything: Filter, keep: Keep, read: Read
) -> None:
    memory = keep("Gannet | Heron")
    changed = after(memory, content="Gannet | Dunlin")
    store.replace(scope, changed)
    assert counts(store, scope, "gannet", "heron", "dunlin") == [(0, 0), (0, 0), None]
    assert read() == 1
    assert counts(store, scope, "gannet", "heron", "dunlin") == [(1, 1), (0, 0), (1, 0)]
    assert said(store.mentions_in(everything, [memory.id])) == [
        ("gannet", SUBJECT),
        ("dunlin", NAME),
    ]
    then = replace(everything, as_of=memory.updated_at)
    assert said(store.mentioning(then, [name_of("heron")], 9)) == [("heron", NAME)]
    assert store.mentioning(everything, [name_of("heron")], 9) == []


@pytest.mark.parametrize("change", [{"importance": 0.9}, {"category": "people"}])
def test_a_version_that_says_the_same_is_not_read_again(
    store: Store,
    scope: Scope,
    everything: Filter,
    keep: Keep,
    read: Read,
    change: dict[str, object],
) -> None:
    memory = keep("Gannet | Heron", tags=("ferry",))
    store.replace(scope, after(memory, **change))
    assert counts(store, scope, "gannet", "heron", "ferry") == [(1, 1), (1, 0), (1, 0)]
    assert read() == 0
    assert len(store.mentions_in(everything, [memory.id])) == 3


@pytest.mark.parametrize("change", [{"tags": ("boat",)}, {"keywords": ("boat",)}])
def test_a_version_with_other_labels_is_read_again(
    store: Store, scope: Scope, keep: Keep, read: Read, change: dict[str, object]
) -> None:
    memory = keep("Gannet")
    store.replace(scope, after(memory, **change))
    assert read() == 1
    assert counts(store, scope, "gannet", "boat") == [(1, 1), (1, 0)]


def test_a_version_takes_over_from_the_last_one_that_was_read(
    store: Store, scope: Scope, keep: Keep, read: Read
) -> None:
    first = keep("Gannet")
    second = after(first, content="Heron")
    store.replace(scope, second)
    read()
    store.replace(scope, after(second, content="Gannet"))
    assert read() == 1, "what it said two versions ago is not what it said last"
    assert counts(store, scope, "gannet", "heron") == [(1, 1), (0, 0)]


def test_a_deleted_memory_mentions_nothing_until_it_is_restored(
    store: Store, scope: Scope, everything: Filter, keep: Keep, read: Read
) -> None:
    memory = keep("Gannet | Heron")
    gone = deleted(memory)
    store.replace(scope, gone)
    assert counts(store, scope, "gannet") == [(0, 0)]
    assert store.mentions_in(everything, [memory.id]) == []
    assert store.mentioning(everything, [name_of("gannet")], 9) == []
    assert [*store.all_mentions(everything)] == []
    then = replace(everything, as_of=memory.updated_at)
    assert len([*store.all_mentions(then)]) == 2
    store.replace(scope, after(gone, deleted_at=None))
    assert (read(), counts(store, scope, "gannet")) == (0, [(1, 1)])


def test_a_purged_memory_leaves_no_concept_behind_that_it_alone_mentioned(
    store: Store, scope: Scope, everything: Filter, keep: Keep
) -> None:
    memory, other = keep("Gannet | Heron, Dunlin"), keep("Heron")
    store.replace(scope, after(memory, content="Puffin"))
    store.purge(scope, [memory.id])
    assert counts(store, scope, "gannet", "dunlin", "heron") == [None, None, (1, 1)]
    assert by([*store.all_mentions(everything)]) == [other.id]
    assert all(finding.good for finding in store.check())


# ---- concepts ----------------------------------------------------------------------------------


def test_a_concept_keeps_its_first_label_and_takes_the_more_telling_kind(
    store: Store, scope: Scope, keep: Keep, make: Make
) -> None:
    memory = keep("Other", tags=("gannet",))
    kinds = []
    for kind in (Kind.TOPIC, Kind.NAME, Kind.HOST, Kind.PERSON, Kind.NAME):
        store.add_mentions(scope, {memory.id: [mention("GANNET", kind=kind)]})
        kinds.append(store.concepts(scope, [name_of("gannet")])[name_of("gannet")].kind)
    assert kinds == [Kind.TOPIC, Kind.NAME, Kind.HOST, Kind.HOST, Kind.HOST]
    assert store.concepts(scope, [name_of("gannet")])[name_of("gannet")].label == "gannet"


def test_hubs_are_what_most_memories_mention(store: Store, scope: Scope, keep: Keep) -> None:
    keep("Gannet | Heron Lake")
    gone = keep("Dunlin | Heron Lake, Gannet")
    keep("Grey Heron | Heron Lake")
    store.replace(scope, deleted(gone))
    assert [hub.name for hub in store.hubs(scope, 9)] == ["heron lake", "gannet", "grey heron"]
    assert [hub.name for hub in store.hubs(scope, 1)] == ["heron lake"]
    assert [hub.name for hub in store.hubs(scope, 9, containing="HERON")] == [
        "heron lake",
        "grey heron",
    ]


def test_a_name_is_known_when_some_memory_is_about_it(
    store: Store, scope: Scope, keep: Keep
) -> None:
    memory = keep("Gannet | Heron")
    asked = [name_of(name) for name in ("gannet", "heron", "dunlin")]
    assert store.known_names(scope, asked) == {"gannet"}
    store.replace(scope, deleted(memory))
    assert store.known_names(scope, asked) == set()


def test_a_mention_without_a_word_is_none(store: Store, scope: Scope, keep: Keep) -> None:
    memory = keep("!!! | ???, Heron")
    assert store.add_mentions(scope, {memory.id: [mention("...")]}) == 0
    assert store.graph_counts(scope) == GraphCounts(1, 1, 0, 0, 0)


# ---- mentions that come later ------------------------------------------------------------------


def test_added_mentions_count_from_then_on(
    store: Store, scope: Scope, everything: Filter, keep: Keep
) -> None:
    memory = keep("Gannet | Heron")
    more = {memory.id: [mention("Heron"), mention("Dunlin"), mention("Dunlin")]}
    assert store.add_mentions(scope, more) == 1
    assert store.add_mentions(scope, more) == 0
    assert store.add_mentions(scope, {memory.id: [mention("Heron", SUBJECT)]}) == 1
    assert counts(store, scope, "heron", "dunlin") == [(1, 1), (1, 0)]
    assert said(store.mentions_in(everything, [memory.id]))[-1] == ("dunlin", NAME)


def test_mentions_are_added_only_to_what_may_be_read(
    store: Store, scope: Scope, keep: Keep, make: Make
) -> None:
    gone, hidden = keep("Gannet"), make("hidden", sensitive=True)
    store.replace(scope, deleted(gone))
    store.put(scope, hidden)
    ids = [gone.id, hidden.id, MemoryId("none")]
    assert store.add_mentions(scope, {id_: [mention("Dunlin")] for id_ in ids}) == 0
    assert counts(store, scope, "dunlin") == [None]


def test_a_memory_that_is_not_read_yet_may_be_given_mentions(
    store: Store, scope: Scope, make: Make, read: Read
) -> None:
    memory = make("Gannet")
    store.put(scope, memory)
    assert store.add_mentions(scope, {memory.id: [mention("Dunlin", SUBJECT)]}) == 1
    assert store.known_names(scope, [name_of("dunlin")]) == {"dunlin"}
    assert read() == 1


@pytest.mark.parametrize("given", [True, False])
def test_reading_anew_ends_what_was_added_but_not_what_was_given(
    store: Store, scope: Scope, keep: Keep, read: Read, given: bool
) -> None:
    memory = keep("Gannet | Heron")
    added = {memory.id: [mention("Dunlin"), mention("Heron", SUBJECT)]}
    store.add_mentions(scope, added, given=given)
    assert store.use_extractor("plain", again=True) == 1
    read()
    expected = [(1, 0), (1, 1)] if given else [None, (1, 0)]
    assert counts(store, scope, "dunlin", "heron") == expected


def test_a_given_role_stays_beside_those_that_are_read(
    store: Store, scope: Scope, everything: Filter, keep: Keep, noon: datetime
) -> None:
    memory = keep("Gannet | Heron")
    store.add_mentions(scope, {memory.id: [mention("Heron", SUBJECT)]}, given=True)
    store.use_extractor("other")
    jobs = store.claim(["extract"], 9, noon, noon)
    store.finish_extraction(jobs, [Extraction((mention("Heron", TAG),))], noon)
    heron = [name_of("heron")]
    found = {role: len(store.mentioning(everything, heron, 9, role)) for role in Role}
    assert found == {SUBJECT: 1, NAME: 0, TAG: 1, KEYWORD: 0}


def test_what_was_given_before_reading_stays_with_versions_that_say_the_same(
    store: Store, scope: Scope, make: Make, read: Read
) -> None:
    memory = make("Gannet")
    store.put(scope, memory)
    store.add_mentions(scope, {memory.id: [mention("Dunlin")]}, given=True)
    store.replace(scope, after(memory, importance=0.9))
    assert counts(store, scope, "dunlin", "gannet") == [(1, 0), None]
    assert read() == 2, "both versions are still to be read"
    assert counts(store, scope, "dunlin", "gannet") == [(1, 0), (1, 1)]


def test_a_graph_is_counted(store: Store, scope: Scope, keep: Keep, make: Make) -> None:
    keep("Gannet | Heron | Gannet > runs on > Heron")
    store.put(scope, make("waiting"))
    assert store.graph_counts(scope) == GraphCounts(2, 2, 1, 0, 1)
