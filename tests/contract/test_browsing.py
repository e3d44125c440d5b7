from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind.protocols import Page, Statistics, Store
from bearinmind.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    State,
    UserId,
)

HOUR = timedelta(hours=1)
ALL = frozenset(State)
Make = Callable[..., Memory]


def browse(store: Store, filter: Filter, **page: object) -> list[MemoryId]:
    found = store.browse(filter, Page(**({"limit": 100} | page)))  # type: ignore[arg-type]
    return [memory.id for memory in found]


def put(store: Store, scope: Scope, *memories: Memory) -> None:
    for memory in memories:
        store.put(scope, memory)


def ids(memories: Iterable[Memory]) -> list[MemoryId]:
    return [memory.id for memory in memories]


def deleted(memory: Memory) -> Memory:
    moment = memory.updated_at + HOUR
    return replace(memory, version=memory.version + 1, updated_at=moment, deleted_at=moment)


def test_the_newest_come_first_and_equal_times_break_on_the_id(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    early, twin, late = make(), make(), make(created_at=noon + HOUR)
    put(store, scope, twin, late, early)
    filter_ = Filter(scope=scope, now=noon)
    assert browse(store, filter_) == ids([late, twin, early])
    assert browse(store, filter_, newest_first=False) == ids([early, twin, late])


def test_the_most_important_come_first_and_of_those_the_newest(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    plain, vital, trivial = make(importance=0.5), make(importance=1.0), make(importance=0.0)
    newer = make(importance=0.5, created_at=noon + HOUR)
    put(store, scope, trivial, plain, vital, newer)
    filter_ = Filter(scope=scope, now=noon)
    assert browse(store, filter_, by_importance=True) == ids([vital, newer, plain, trivial])
    assert browse(store, filter_, by_importance=True, limit=2) == ids([vital, newer])
    put(store, Scope(user=UserId("somebody else")), make(importance=1.0))
    store.replace(scope, deleted(vital))
    assert browse(store, filter_, by_importance=True) == ids([newer, plain, trivial])


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_put_together_are_the_whole_list(
    store: Store, scope: Scope, make: Make, noon: datetime, newest_first: bool, size: int
) -> None:
    put(store, scope, *(make(created_at=noon + (n // 3) * HOUR) for n in range(7)))
    filter_ = Filter(scope=scope, now=noon)
    whole = store.browse(filter_, Page(limit=100, newest_first=newest_first))
    pages: list[Memory] = []
    for _ in itertools.repeat(None, 10):
        after = (pages[-1].created_at, pages[-1].id) if pages else None
        page = store.browse(filter_, Page(limit=size, after=after, newest_first=newest_first))
        assert len(page) <= size
        pages.extend(page)
        if not page:
            break
    assert len(whole) == 7
    assert pages == whole


def test_a_place_between_memories_continues_there(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    early, late = make(), make(created_at=noon + 2 * HOUR)
    put(store, scope, early, late)
    filter_, between = Filter(scope=scope, now=noon), (noon + HOUR, MemoryId(""))
    assert browse(store, filter_, after=between) == ids([early])
    assert browse(store, filter_, after=between, newest_first=False) == ids([late])


def test_each_condition_admits_only_what_meets_it(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    plain = make()
    person = make(category="people")
    one = make(tags=("red",))
    both = make(tags=("blue", "red"))
    late = make(created_at=noon + HOUR)
    session = make(provenance=Provenance(session="s"))
    project = make(provenance=Provenance(project="p"))
    agent = make(provenance=Provenance(agent="a"))
    every = [plain, person, one, both, late, session, project, agent]
    put(store, scope, *every)
    bare = Filter(scope=scope, now=noon)
    expected: dict[str, tuple[object, list[Memory]]] = {
        "categories": (frozenset({"people", "projects"}), [person]),
        "tags": (frozenset({"red", "blue"}), [both]),
        "created_from": (noon + HOUR, [late]),
        "created_to": (noon + HOUR, [m for m in every if m is not late]),
        "session": ("s", [session]),
        "project": ("p", [project]),
        "agent": ("a", [agent]),
    }
    for name, (value, admitted) in expected.items():
        filter_ = replace(bare, **{name: value})  # type: ignore[arg-type]
        assert sorted(browse(store, filter_)) == sorted(ids(admitted)), name
    assert sorted(browse(store, replace(bare, tags=frozenset({"red"})))) == ids([one, both])
    assert browse(store, replace(bare, session="S")) == []
    assert browse(store, replace(bare, session="")) == []


def test_conditions_are_met_together(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    wanted = make(category="people", tags=("red",))
    put(store, scope, wanted, make(category="people"), make(tags=("red",)))
    filter_ = Filter(
        scope=scope, now=noon, categories=frozenset({"people"}), tags=frozenset({"red"})
    )
    assert browse(store, filter_) == ids([wanted])


@pytest.fixture
def in_each_state(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noon: datetime
) -> dict[State, list[Memory]]:
    """Memories in every state at noon, each in no other; deleted ones stand before all else."""
    live, ending = make(valid_from=noon, valid_to=noon + HOUR), make(valid_to=noon + HOUR)
    early, over = make(valid_from=noon + HOUR), make(valid_to=noon)
    old, old_and_over = make(), make(valid_to=noon)
    gone, gone_and_old = make(), make(valid_to=noon)
    put(store, scope, live, ending, early, over, old, old_and_over, gone, gone_and_old)
    for target in (old, old_and_over, gone_and_old):
        store.add_link(scope, link(live, LinkKind.SUPERSEDES, target))
    for memory in (gone, gone_and_old):
        store.replace(scope, deleted(memory))
    return {
        State.LIVE: [live, ending],
        State.EXPIRED: [early, over],
        State.SUPERSEDED: [old, old_and_over],
        State.DELETED: [gone, gone_and_old],
    }


@pytest.mark.parametrize(
    "states", [frozenset(c) for n in (1, 2, 4) for c in itertools.combinations(State, n)]
)
def test_states_choose_exactly_their_memories(
    store: Store,
    scope: Scope,
    noon: datetime,
    in_each_state: dict[State, list[Memory]],
    states: frozenset[State],
) -> None:
    wanted = ids(memory for state in states for memory in in_each_state[state])
    assert sorted(browse(store, Filter(scope=scope, now=noon, states=states))) == sorted(wanted)


def test_a_filter_without_states_admits_what_is_live(
    store: Store, scope: Scope, noon: datetime, in_each_state: dict[State, list[Memory]]
) -> None:
    assert sorted(browse(store, Filter(scope=scope, now=noon))) == ids(in_each_state[State.LIVE])
    assert browse(store, Filter(scope=scope, now=noon, states=frozenset())) == []


def test_a_moment_sees_the_states_of_then(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noon: datetime
) -> None:
    old, new, gone = make("old"), make("new", created_at=noon + HOUR), make("gone")
    put(store, scope, old, new, gone)
    store.add_link(scope, link(new, LinkKind.SUPERSEDES, old, created_at=noon + HOUR))
    store.replace(scope, deleted(gone))

    def at(moment: datetime, state: State) -> list[MemoryId]:
        states = frozenset({state})
        return sorted(browse(store, Filter(scope=scope, now=moment, as_of=moment, states=states)))

    before, later = noon + HOUR / 2, noon + HOUR
    assert at(noon - HOUR, State.LIVE) == []
    assert at(before, State.LIVE) == ids([old, gone])
    assert at(before, State.SUPERSEDED) == at(before, State.DELETED) == []
    assert at(later, State.LIVE) == ids([new])
    assert at(later, State.SUPERSEDED) == ids([old])
    assert at(later, State.DELETED) == ids([gone])


def test_a_deleted_successor_supersedes_only_while_it_was_there(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noon: datetime
) -> None:
    old, new = make("old"), make("new")
    put(store, scope, old, new)
    store.add_link(scope, link(new, LinkKind.SUPERSEDES, old))
    store.replace(scope, deleted(new))
    live = Filter(scope=scope, now=noon)
    assert browse(store, live) == ids([old])
    assert browse(store, replace(live, as_of=noon)) == ids([new])
    facts = store.statistics(scope, noon)
    assert (facts.live, facts.superseded, facts.deleted) == (1, 0, 1)


def test_a_removed_link_supersedes_only_while_it_held(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noon: datetime
) -> None:
    old, new = make("old"), make("new")
    put(store, scope, old, new)
    store.add_link(
        scope,
        link(new, LinkKind.SUPERSEDES, old, created_at=noon, removed_at=noon + HOUR),
    )
    superseded = Filter(scope=scope, now=noon, states=frozenset({State.SUPERSEDED}))
    assert browse(store, superseded) == []
    assert browse(store, replace(superseded, as_of=noon)) == ids([old])
    assert browse(store, replace(superseded, as_of=noon + HOUR)) == []


def test_filters_judge_the_version_of_the_moment(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    memory = make("one", category="facts")
    put(store, scope, memory)
    changed = replace(memory, category="people", version=2, updated_at=noon + HOUR)
    store.replace(scope, changed)
    people = Filter(scope=scope, now=noon, categories=frozenset({"people"}))
    assert store.browse(people, Page(limit=9)) == [changed]
    assert store.browse(replace(people, as_of=noon), Page(limit=9)) == []


def test_ids_are_resolved_by_their_beginning_in_order(
    store: Store, scope: Scope, make: Make
) -> None:
    wanted = ["abc000000000", "abc100000000", "abd000000000", "b00000000000", "zzzzzzzzzzzz"]
    put(store, scope, *(make(id=id_) for id_ in reversed(wanted)))
    assert store.resolve(scope, "ab") == wanted[:3]
    assert store.resolve(scope, "abc") == wanted[:2]
    assert store.resolve(scope, "abc1") == store.resolve(scope, wanted[1]) == [wanted[1]]
    assert store.resolve(scope, "z") == store.resolve(scope, "zzzzzzzzzzzz") == [wanted[4]]
    assert store.resolve(scope, "c") == []
    assert store.resolve(scope, "ab", limit=2) == wanted[:2]


def test_a_deleted_memory_is_resolved_and_its_versions_once(
    store: Store, scope: Scope, make: Make
) -> None:
    memory = make()
    put(store, scope, memory)
    store.replace(scope, deleted(memory))
    assert store.resolve(scope, memory.id[:6]) == [memory.id]


def test_statistics_of_nothing_are_zero(store: Store, scope: Scope, noon: datetime) -> None:
    assert store.statistics(scope, noon) == Statistics(
        live=0,
        superseded=0,
        expired=0,
        deleted=0,
        earlier_versions=0,
        links=0,
        categories={},
        tags={},
        oldest=None,
        newest=None,
    )


def test_statistics_count_each_memory_in_its_state(
    store: Store,
    scope: Scope,
    make: Make,
    noon: datetime,
    in_each_state: dict[State, list[Memory]],
) -> None:
    put(
        store,
        scope,
        make(category="people", tags=("b", "a"), created_at=noon - HOUR),
        make(tags=("a",), created_at=noon + HOUR),
        make(category="decisions", tags=("hidden",), valid_to=noon),
    )
    facts = store.statistics(scope, noon)
    assert (facts.live, facts.superseded, facts.expired, facts.deleted) == (4, 2, 2, 2)
    assert facts.not_yet_valid == 1
    assert facts.earlier_versions == 2
    assert facts.links == 3
    assert facts.categories == {"facts": 3, "people": 1}
    assert facts.tags == {"a": 2, "b": 1}
    assert (facts.oldest, facts.newest) == (noon - HOUR, noon + HOUR)


def test_statistics_name_the_most_used_tags_and_categories_first(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    tags = [f"t{n:02}" for n in range(25)]
    put(store, scope, make(tags=tuple(tags)), make(tags=("t24",)), make(category="people"))
    facts = store.statistics(scope, noon)
    assert [*facts.tags] == ["t24", *tags[:19]]
    assert [*facts.categories] == ["facts", "people"]


def test_deleted_memories_do_not_set_the_oldest_and_newest_time(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    early = make(created_at=noon - HOUR)
    put(store, scope, early, make())
    store.replace(scope, deleted(early))
    facts = store.statistics(scope, noon)
    assert (facts.oldest, facts.newest) == (noon, noon)
