"""Shares are kept, replaced and ended, and say what a reader may see and write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.errors import MemoryNotFound
from bearinmind.protocols import Page, Sealed, Store
from bearinmind.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Right,
    Scope,
    Share,
    State,
    UserId,
)
from support.extractors import HOUR, Make, after, deleted

BOB = UserId("bob")
CARL = UserId("carl")
ANYTHING = frozenset(State)


@pytest.fixture
def heron(store: Store, scope: Scope, make: Make) -> Memory:
    memory = make("heron", tags=("birds", "grey"))
    store.put(scope, memory)
    return memory


def seen(store: Store, as_reader: Filter) -> set[MemoryId]:
    found = store.browse(replace(as_reader, states=ANYTHING), Page(limit=99))
    return {memory.id for memory in found}


# ---- keeping ------------------------------------------------------------------------------------


def test_what_is_shared_is_told_to_both(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], noon: datetime
) -> None:
    one = share(heron)
    other = share("birds", Right.WRITE, created_at=noon + HOUR)
    to_carl = share("birds", reader=CARL, created_at=noon + 2 * HOUR)
    for each in (other, to_carl, one):
        assert store.add_share(scope, each) == each

    assert store.shares(scope) == [one, other, to_carl]
    assert store.shared_with(BOB) == [one, other]
    assert store.sharers(BOB) == store.sharers(CARL) == [scope.user]
    assert store.sharers(scope.user) == []
    assert store.shared_with(scope.user) == []


def test_who_shares_is_told_in_order_and_once(
    store: Store, share: Callable[..., Share], noon: datetime
) -> None:
    for number, owner in enumerate(["zoe", "amy", "zoe"]):
        told = share(f"tag{number}", owner=UserId(owner), created_at=noon - number * HOUR)
        store.add_share(Scope(user=UserId(owner)), told)

    assert store.sharers(BOB) == ["amy", "zoe"]
    assert [each.tag for each in store.shared_with(BOB)] == ["tag1", "tag2", "tag0"]


def test_sharing_again_with_the_same_right_keeps_the_first_share(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], noon: datetime
) -> None:
    first = store.add_share(scope, share(heron))

    assert store.add_share(scope, share(heron, created_at=noon + HOUR)) == first
    assert store.shares(scope) == [first]


def test_sharing_again_with_another_right_takes_the_place_of_the_first_share(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], as_bob: Filter
) -> None:
    store.add_share(scope, share(heron, Right.WRITE))
    assert store.rights(as_bob, [heron.id]) == {heron.id: Right.WRITE}
    less = store.add_share(scope, share(heron))

    assert store.shares(scope) == [less]
    assert store.rights(as_bob, [heron.id]) == {heron.id: Right.READ}


def test_a_share_that_is_ended_shows_nothing_and_can_be_made_again(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], as_bob: Filter
) -> None:
    for number in range(1, 3):
        made = share(heron)
        store.add_share(scope, made)
        assert seen(store, as_bob) == {heron.id}

        ended = replace(made, ended_at=made.created_at + number * HOUR)
        assert store.end_share(scope, ended) is True
        assert store.end_share(scope, ended) is False
        assert store.shares(scope) == store.shared_with(BOB) == []
        assert store.sharers(BOB) == []
        assert seen(store, as_bob) == set()


def test_a_memory_that_the_owner_does_not_have_cannot_be_shared(
    store: Store, heron: Memory, share: Callable[..., Share]
) -> None:
    carl = Scope(user=CARL)
    with pytest.raises(MemoryNotFound, match=str(heron.id)):
        store.add_share(carl, share(heron, owner=CARL))

    assert store.shares(carl) == []


def test_a_tag_may_be_shared_before_any_memory_has_it(
    store: Store, scope: Scope, make: Make, share: Callable[..., Share], as_bob: Filter
) -> None:
    store.add_share(scope, share("secret plans"))
    memory = make("gannet", tags=("secret plans",))
    store.put(scope, memory)

    assert seen(store, as_bob) == {memory.id}


def test_purging_a_memory_ends_its_shares_for_good(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], as_bob: Filter
) -> None:
    store.add_share(scope, share(heron))
    by_tag = store.add_share(scope, share("birds"))
    store.purge(scope, [heron.id])
    assert store.shares(scope) == [by_tag]

    store.end_share(scope, replace(by_tag, ended_at=by_tag.created_at + HOUR))
    store.put(scope, heron)
    assert seen(store, as_bob) == set()


def test_a_share_of_one_owner_shows_nothing_of_another(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], as_bob: Filter
) -> None:
    carl = Scope(user=CARL)
    store.put(carl, replace(heron, content="somebody else's heron"))
    store.add_share(carl, share(heron, owner=CARL))
    store.add_share(carl, share("birds", owner=CARL))

    assert seen(store, as_bob) == set()
    assert store.visible(replace(as_bob, scope=carl), [heron.id])[heron.id].owner == CARL
    assert seen(store, replace(as_bob, scope=carl, reader=scope.user)) == set()


# ---- seeing -------------------------------------------------------------------------------------


def test_what_is_deleted_sensitive_superseded_or_past_is_not_seen(
    store: Store,
    scope: Scope,
    make: Make,
    share: Callable[..., Share],
    as_bob: Filter,
    link: Callable[..., Link],
) -> None:
    gone, hidden, old, new, changed, kept = (
        make(word, tags=("birds",)) for word in ("a", "b", "c", "d", "e", "f")
    )
    for memory in (gone, hidden, old, new, changed, kept):
        store.put(scope, memory)
    store.add_share(scope, share("birds"))
    store.add_share(scope, share(changed))
    assert len(seen(store, as_bob)) == 6

    store.replace(scope, deleted(gone))
    sealed = Sealed(
        owner=scope.user,
        id=hidden.id,
        version=2,
        key_id="key",
        nonce=b"n",
        ciphertext=b"c",
        fingerprint=b"f",
    )
    masked = after(hidden, content="[sensitive]", sensitive=True)
    store.replace(scope, masked, sealed=[sealed])
    store.add_link(scope, link(new, LinkKind.SUPERSEDES, old))
    store.replace(scope, after(changed, content="later"))

    assert seen(store, as_bob) == {new.id, changed.id, kept.id}
    visible = store.visible(as_bob, [gone.id, hidden.id, old.id, new.id, changed.id, kept.id])
    assert {id_: memory.content for id_, memory in visible.items()} == {
        new.id: "d",
        changed.id: "later",
        kept.id: "f",
    }
    store.replace(scope, deleted(new))
    assert seen(store, as_bob) == {old.id, changed.id, kept.id}


def test_nothing_is_seen_as_of_a_moment_not_even_now(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], as_bob: Filter
) -> None:
    store.add_share(scope, share(heron))

    for as_of in (heron.updated_at, heron.updated_at + HOUR):
        then = replace(as_bob, as_of=as_of)
        assert seen(store, then) == set()
        assert not store.visible(then, [heron.id])
        assert not store.rights(then, [heron.id])
        assert store.visible_beginning(then, heron.id[:2]) == []
        assert store.lexical_matches(then, ["heron"], every=False, limit=9) == []
        assert store.visible_statistics(then, ["heron"]).total == 0


def test_taking_a_shared_tag_off_ends_what_is_seen_by_it(
    store: Store, scope: Scope, heron: Memory, share: Callable[..., Share], as_bob: Filter
) -> None:
    store.add_share(scope, share("birds"))
    assert seen(store, as_bob) == {heron.id}

    store.replace(scope, after(heron, tags=("grey",)))
    assert seen(store, as_bob) == set()
    store.add_share(scope, share("gre"))
    assert seen(store, as_bob) == set()


@pytest.mark.parametrize(
    "tag", ['ü,"{}\\', "a\tb", "\x7f\x1f", "it's", "💾 北", "[]", "%_", 'x","y', "e\u0301"]
)
def test_any_text_can_be_a_tag_that_is_shared(
    store: Store,
    scope: Scope,
    make: Make,
    share: Callable[..., Share],
    as_bob: Filter,
    tag: str,
) -> None:
    shown, other = (
        make("shown", tags=("red", tag)),
        make("other", tags=(f"{tag}s", f"s{tag}", tag[1:])),
    )
    for memory in (shown, other):
        store.put(scope, memory)
    store.add_share(scope, share(tag))

    assert seen(store, as_bob) == {shown.id}
    assert {*store.visible(as_bob, [shown.id, other.id])} == {shown.id}


def test_an_expired_memory_is_seen_as_expired(
    store: Store, scope: Scope, make: Make, share: Callable[..., Share], as_bob: Filter
) -> None:
    memory = make("milk", valid_to=as_bob.now - HOUR)
    store.put(scope, memory)
    store.add_share(scope, share(memory))

    assert store.browse(as_bob, Page(limit=9)) == []
    assert seen(store, as_bob) == {memory.id}


def test_visible_ids_are_found_by_how_they_begin(
    store: Store, scope: Scope, make: Make, share: Callable[..., Share], as_bob: Filter
) -> None:
    ids = [MemoryId(id_) for id_ in ("abc1", "abc2", "abd1", "b")]
    for id_ in ids:
        memory = make(f"about {id_}", id=id_)
        store.put(scope, memory)
        if id_ != "abc2":
            store.add_share(scope, share(memory))

    assert store.visible_beginning(as_bob, "ab") == ["abc1", "abd1"]
    assert store.visible_beginning(as_bob, "ab", 1) == ["abc1"]
    assert store.visible_beginning(as_bob, "abc2") == []


def test_what_hidden_memories_say_is_not_counted(
    store: Store, scope: Scope, make: Make, share: Callable[..., Share], as_bob: Filter
) -> None:
    shown, hidden = make("heron by the lake", tags=("birds",)), make("heron and unicorn")
    for memory in (shown, hidden):
        store.put(scope, memory)
    store.add_share(scope, share("birds"))

    told = store.visible_statistics(as_bob, ["heron", "unicorn", "lake"])
    assert told.frequency == {"heron": 1, "unicorn": 0, "lake": 1}
    assert told.total == 1
    own = store.lexical_statistics(scope, ["heron", "unicorn"])
    assert own.frequency == {"heron": 2, "unicorn": 1}


def test_what_other_users_of_a_store_say_is_not_counted_for_anybody(
    store: Store, scope: Scope, make: Make
) -> None:
    store.put(scope, make("heron"))
    store.put(Scope(user=CARL), make("unicorn heron"))

    told = store.lexical_statistics(scope, ["heron", "unicorn"])
    assert told.frequency == {"heron": 1, "unicorn": 0}
    assert told.total == 1
    assert store.lexical_statistics(Scope(user=BOB), ["unicorn"]).frequency == {"unicorn": 0}
