"""With the right to write a reader changes what is shared, and nothing that decides who sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bearinmind.errors import DuplicateContent, NotAllowed, VersionConflict
from bearinmind.protocols import Store
from bearinmind.types import Filter, Link, LinkKind, Memory, Right, Scope, Share, UserId
from support.extractors import HOUR, Make, after, deleted

Shares = Callable[..., Share]


@pytest.fixture
def heron(store: Store, scope: Scope, make: Make) -> Memory:
    memory = make("heron", tags=("birds",))
    store.put(scope, memory)
    return memory


@pytest.mark.parametrize("by_tag", [True, False])
def test_who_may_write_updates_deletes_and_restores(
    store: Store, scope: Scope, heron: Memory, share: Shares, as_bob: Filter, by_tag: bool
) -> None:
    store.add_share(scope, share("birds" if by_tag else heron, Right.WRITE))
    changed = after(heron, content="a grey heron", category="birds")
    gone = deleted(changed)
    back = after(gone, deleted_at=None)

    store.replace_shared(as_bob, changed)
    assert store.visible(as_bob, [heron.id]) == {heron.id: changed}
    store.replace_shared(as_bob, gone)
    assert store.visible(as_bob, [heron.id]) == {}
    store.replace_shared(as_bob, back)
    assert store.visible(as_bob, [heron.id]) == {heron.id: back}
    assert store.versions(scope, heron.id) == [heron, changed, gone, back]
    found = store.lexical_matches(as_bob, ["grey"], every=True, limit=9)
    assert [match.id for match in found] == [heron.id]


def test_who_may_only_read_or_not_even_that_writes_nothing(
    store: Store, scope: Scope, heron: Memory, share: Shares, as_bob: Filter
) -> None:
    changed = after(heron, content="mine now")
    writes = share(heron, Right.WRITE)
    store.add_share(scope, share("birds", Right.WRITE, reader=UserId("carl")))
    with pytest.raises(NotAllowed, match="'bob' may not write"):
        store.replace_shared(as_bob, changed)
    store.add_share(scope, share("birds"))
    with pytest.raises(NotAllowed):
        store.replace_shared(as_bob, changed)
    store.add_share(scope, writes)
    store.end_share(scope, replace(writes, ended_at=writes.created_at + HOUR))
    with pytest.raises(NotAllowed):
        store.replace_shared(as_bob, changed)
    with pytest.raises(NotAllowed):
        store.replace_shared(as_bob, replace(changed, id=type(heron.id)("nothing")))

    assert store.versions(scope, heron.id) == [heron]


@pytest.mark.parametrize("change", [{"tags": ()}, {"tags": ("birds", "open")}, {"sensitive": True}])
def test_only_the_owner_changes_what_decides_who_sees_a_memory(
    store: Store,
    scope: Scope,
    heron: Memory,
    share: Shares,
    as_bob: Filter,
    change: dict[str, object],
) -> None:
    store.add_share(scope, share(heron, Right.WRITE))
    with pytest.raises(NotAllowed) as refused:
        store.replace_shared(as_bob, after(heron, **change))

    assert "owner" in f"{refused.value} {refused.value.hint}"
    assert store.versions(scope, heron.id) == [heron]


def test_what_is_superseded_or_was_changed_meanwhile_is_not_written(
    store: Store,
    scope: Scope,
    heron: Memory,
    make: Make,
    share: Shares,
    as_bob: Filter,
    link: Callable[..., Link],
) -> None:
    store.add_share(scope, share(heron, Right.WRITE))
    by_owner = after(heron, content="by its owner")
    store.replace(scope, by_owner)
    with pytest.raises(VersionConflict):
        store.replace_shared(as_bob, after(heron, content="by somebody else"))

    newer = make("newer")
    store.put(scope, newer)
    store.add_link(scope, link(newer, LinkKind.SUPERSEDES, heron))
    with pytest.raises(NotAllowed):
        store.replace_shared(as_bob, after(by_owner, content="too late"))
    assert store.versions(scope, heron.id) == [heron, by_owner]


def test_a_writer_learns_of_a_memory_that_says_the_same_only_if_it_is_shared(
    store: Store, scope: Scope, heron: Memory, make: Make, share: Shares, as_bob: Filter
) -> None:
    shown, hidden = make("said in the open"), make("said in private")
    for memory in (shown, hidden):
        store.put(scope, memory)
    store.add_share(scope, share(heron, Right.WRITE))
    store.add_share(scope, share(shown))

    with pytest.raises(DuplicateContent, match=str(shown.id)):
        store.replace_shared(as_bob, after(heron, content="said in the open"))
    store.replace_shared(as_bob, after(heron, content="said in private"))
    assert store.visible(as_bob, [heron.id])[heron.id].content == "said in private"


def test_the_owner_stays_the_owner_of_what_another_writes(
    store: Store, scope: Scope, heron: Memory, share: Shares, as_bob: Filter
) -> None:
    store.add_share(scope, share(heron, Right.WRITE))
    store.replace_shared(as_bob, after(heron, content="mine", owner=UserId("bob")))

    assert store.versions(scope, heron.id)[-1].owner == scope.user
    assert store.get(Scope(user=UserId("bob")), heron.id) is None
