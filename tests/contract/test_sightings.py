"""What a reader sees of others is listed page by page, each memory with its version and right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bearinmind.protocols import Sighting, Store
from bearinmind.types import Filter, Link, LinkKind, Memory, Right, Scope, Share
from support.extractors import Make, after

Shares = Callable[..., Share]


def sighting(memory: Memory, right: Right = Right.READ) -> Sighting:
    return Sighting(memory.id, memory.version, memory.updated_at, right)


def test_everything_that_is_visible_is_listed_once_in_the_order_of_ids(
    store: Store, scope: Scope, make: Make, share: Shares, as_bob: Filter
) -> None:
    memories = [make(tags=("zoo",) if number % 2 else ()) for number in range(6)]
    for memory in memories:
        store.put(scope, memory)
    store.add_share(scope, share("zoo"))
    for memory in memories[:2]:  # the second one by its tag as well
        store.add_share(scope, share(memory, Right.WRITE))
    seen = [
        sighting(memories[0], Right.WRITE),
        sighting(memories[1], Right.WRITE),
        sighting(memories[3]),
        sighting(memories[5]),
    ]
    assert store.visible_after(as_bob, "", 99) == seen
    assert store.visible_after(as_bob, "", 3) == seen[:3]
    assert store.visible_after(as_bob, seen[1].id, 99) == seen[2:]
    assert store.visible_after(as_bob, seen[-1].id, 99) == []


def test_what_cannot_be_seen_is_not_listed(
    store: Store,
    scope: Scope,
    make: Make,
    share: Shares,
    link: Callable[..., Link],
    as_bob: Filter,
) -> None:
    live, gone, old, secret, unshared = (make() for _ in range(5))
    for memory in (live, gone, old, replace(secret, sensitive=True), unshared):
        store.put(scope, memory)
        if memory is not unshared:
            store.add_share(scope, share(memory))
    changed = after(live, content="heron")
    store.replace(scope, changed)
    store.replace(scope, after(gone, deleted_at=gone.updated_at))
    store.add_link(scope, link(live, LinkKind.SUPERSEDES, old))
    assert store.visible_after(as_bob, "", 99) == [sighting(changed)]
    store.end_share(scope, share(live))
    assert store.visible_after(as_bob, "", 99) == []
