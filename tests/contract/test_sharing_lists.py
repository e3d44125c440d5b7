"""A list has the own memories and those that can be seen of others, each once and in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.protocols import Page, Store
from bearinmind.recall.history import Owner, Whose, listing
from bearinmind.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    Provenance,
    Right,
    Scope,
    Share,
    State,
    UserId,
)
from support.extractors import HOUR, Make, after, deleted

AMY, BOB, CARL = UserId("amy"), UserId("bob"), UserId("carl")
Put = Callable[..., Memory]
Give = Callable[..., None]


@pytest.fixture
def of_bob(noon: datetime) -> Filter:
    """Admits what Bob has."""
    return Filter(scope=Scope(user=BOB), now=noon + 99 * HOUR)


@pytest.fixture
def put(store: Store, make: Make, noon: datetime) -> Put:
    """Keeps a memory of somebody, made so many hours after noon."""

    def kept(owner: UserId, hours: int, **fields: object) -> Memory:
        fields = {"content": f"{owner} {hours} {fields}", **fields}
        memory = make(owner=owner, created_at=noon + hours * HOUR, **fields)
        store.put(Scope(user=owner), memory)
        return memory

    return kept


@pytest.fixture
def give(store: Store, share: Callable[..., Share]) -> Give:
    """Shares a memory, or a tag of somebody, with Bob."""

    def given(what: Memory | str, owner: UserId = AMY, **fields: object) -> None:
        owner = what.owner if isinstance(what, Memory) else owner
        store.add_share(Scope(user=owner), share(what, owner=owner, **fields))

    return given


def listed(store: Store, filter: Filter, owner: Owner = None, **page: object) -> list[Memory]:
    asked = Page(**({"limit": 99} | page))  # type: ignore[arg-type]
    return listing(store, filter, owner).browse(asked)


def test_own_and_shared_memories_are_one_list_by_time(
    store: Store, of_bob: Filter, put: Put, give: Give
) -> None:
    own = [put(BOB, hours) for hours in (1, 4)]
    tagged, given = put(AMY, 2, tags=("team",)), put(CARL, 3)
    put(AMY, 5)
    put(CARL, 6, tags=("team",))
    give("team")
    give(given)

    expected = [own[0], tagged, given, own[1]]
    assert listed(store, of_bob, newest_first=False) == expected
    assert listed(store, of_bob) == expected[::-1]
    assert listing(store, of_bob).counts() == [2, 1, 1]


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_pages_over_several_owners_have_every_memory_once(
    store: Store, of_bob: Filter, put: Put, give: Give, newest_first: bool, size: int
) -> None:
    for hours in range(4):
        put(BOB, hours)
        for owner in (AMY, CARL):
            put(owner, hours, tags=("team",))
    give("team", AMY)
    give("team", CARL)
    whole = listed(store, of_bob, newest_first=newest_first)
    assert len(whole) == 12

    found: list[Memory] = []
    place = None
    while page := listed(store, of_bob, limit=size, after=place, newest_first=newest_first):
        found += page
        place = (page[-1].created_at, page[-1].id)
    assert found == whole


def test_a_list_can_be_of_one_owner_of_others_or_of_oneself(
    store: Store, of_bob: Filter, put: Put, give: Give
) -> None:
    own, amys, carls = put(BOB, 1), put(AMY, 2), put(CARL, 3)
    put(AMY, 4)
    give(amys)
    give(carls)

    for owner, expected in (
        (None, [carls, amys, own]),
        (Whose.ME, [own]),
        (BOB, [own]),
        (Whose.OTHERS, [carls, amys]),
        (AMY, [amys]),
        (UserId("nobody"), []),
    ):
        assert listed(store, of_bob, owner) == expected, owner


def test_a_word_for_owners_comes_before_a_name(
    store: Store, noon: datetime, put: Put, share: Callable[..., Share]
) -> None:
    others = UserId("others")
    own, amys = put(others, 1), put(AMY, 2)
    store.add_share(Scope(user=AMY), share(amys, owner=AMY, reader=others))
    filter_ = Filter(scope=Scope(user=others), now=noon + 99 * HOUR)

    assert listed(store, filter_, Whose.OTHERS) == [amys]
    assert listed(store, filter_, Whose.ME) == [own]


def test_of_others_nothing_sensitive_deleted_or_superseded_is_listed_in_any_state(
    store: Store, of_bob: Filter, put: Put, give: Give, noon: datetime
) -> None:
    amy = Scope(user=AMY)
    secret = put(AMY, 1, tags=("team",), sensitive=True)
    gone, old, new = (put(AMY, hours, tags=("team",)) for hours in (2, 3, 4))
    changed = put(AMY, 5, tags=("team",))
    store.replace(amy, deleted(gone))
    newer = after(changed, content="newer")
    store.replace(amy, newer)
    link = Link(source=new.id, target=old.id, kind=LinkKind.SUPERSEDES, created_at=noon)
    store.add_link(amy, link)
    give("team")
    for each in (secret, gone, old):
        give(each)

    everything = replace(of_bob, states=frozenset(State))
    assert listed(store, everything) == [newer, new]
    for state in (State.DELETED, State.SUPERSEDED):
        assert listed(store, replace(of_bob, states=frozenset({state}))) == []
    assert listed(store, replace(everything, as_of=noon + 50 * HOUR)) == []


def test_others_memories_that_hold_no_more_are_listed_as_such(
    store: Store, of_bob: Filter, put: Put, give: Give, noon: datetime
) -> None:
    expired = put(AMY, 1, valid_to=noon + 2 * HOUR)
    give(expired)

    assert listed(store, of_bob) == []
    assert listed(store, replace(of_bob, states=frozenset({State.EXPIRED}))) == [expired]
    assert listing(store, of_bob).counts() == [0, 0]


def test_the_filters_of_a_list_hold_for_shared_memories_too(
    store: Store, of_bob: Filter, put: Put, give: Give, noon: datetime
) -> None:
    origin = Provenance(agent="claude", session="monday", project="sea")
    meant = put(AMY, 3, tags=("team", "red"), category="people", provenance=origin)
    other = put(AMY, 1, tags=("team",))
    give("team")

    asked: dict[str, object] = {
        "tags": frozenset({"red"}),
        "categories": frozenset({"people"}),
        "created_from": noon + 2 * HOUR,
        "session": "monday",
        "project": "sea",
        "agent": "claude",
    }
    for name, value in asked.items():
        narrower = replace(of_bob, **{name: value})  # type: ignore[arg-type]
        assert listed(store, narrower) == [meant], name
        assert listing(store, narrower).counts() == [0, 1]
    assert listed(store, replace(of_bob, created_to=noon + 2 * HOUR)) == [other]


def test_what_is_not_shared_any_more_is_not_listed_any_more(
    store: Store, of_bob: Filter, put: Put, share: Callable[..., Share]
) -> None:
    amy = Scope(user=AMY)
    tagged = put(AMY, 1, tags=("team",))
    rule = share("team", Right.WRITE, owner=AMY)
    store.add_share(amy, rule)
    assert listed(store, of_bob) == [tagged]

    untagged = after(tagged, tags=())
    store.replace(amy, untagged)
    assert listed(store, of_bob) == []
    store.replace(amy, after(untagged, tags=("team",)))
    assert len(listed(store, of_bob)) == 1
    store.end_share(amy, replace(rule, ended_at=rule.created_at))
    assert listed(store, of_bob) == []


def test_memories_of_one_id_are_listed_each_with_its_owner(
    store: Store, of_bob: Filter, put: Put, give: Give
) -> None:
    carls = put(CARL, 1)
    amys = put(AMY, 1, id=carls.id)
    give(carls)
    give(amys)
    assert listed(store, of_bob) == [amys, carls]
    own = put(BOB, 1, id=carls.id)
    assert listed(store, of_bob) == [own, amys, carls]
    assert listed(store, of_bob, CARL) == [carls]


def test_a_store_counts_what_it_would_list(
    store: Store, of_bob: Filter, put: Put, give: Give, noon: datetime
) -> None:
    put(BOB, 1, tags=("red",))
    put(BOB, 2, valid_to=noon + 3 * HOUR)
    gone = put(BOB, 3)
    store.replace(of_bob.scope, deleted(gone))
    for hours in range(5):
        put(AMY, hours, tags=("team", "red") if hours % 2 else ("team",))
    give("team")
    as_bob = replace(of_bob, scope=Scope(user=AMY), reader=BOB)
    everything = frozenset(State)
    for filter_ in (of_bob, as_bob, replace(as_bob, reader=CARL)):
        for asked in (
            filter_,
            replace(filter_, states=everything),
            replace(filter_, tags=frozenset({"red"})),
            replace(filter_, as_of=noon + 2 * HOUR),
        ):
            assert store.count(asked) == len(store.browse(asked, Page(limit=99))), asked
