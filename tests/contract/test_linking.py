from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind import errors
from bearinmind.protocols import Store
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Scope, UserId

HOUR = timedelta(hours=1)
SUPERSEDES = LinkKind.SUPERSEDES
Make = Callable[..., Memory]
MakeLink = Callable[..., Link]


@pytest.fixture
def chain(store: Store, scope: Scope, make: Make) -> list[Memory]:
    """Four memories without links."""
    memories = [make() for _ in range(4)]
    for memory in memories:
        store.put(scope, memory)
    return memories


def pairs(links: Sequence[Link]) -> set[tuple[MemoryId, MemoryId]]:
    return {(link.source, link.target) for link in links}


def delete(store: Store, scope: Scope, memory: Memory, moment: datetime) -> None:
    gone = replace(memory, version=memory.version + 1, updated_at=moment, deleted_at=moment)
    store.replace(scope, gone)


@pytest.mark.parametrize("kind", LinkKind)
def test_a_link_is_found_from_both_its_ends(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, kind: LinkKind
) -> None:
    a, b, c, _ = chain
    made = link(a, kind, b)
    store.add_link(scope, made)
    assert store.links(scope, [a.id]) == store.links(scope, [b.id]) == [made]
    assert store.links(scope, [a.id, b.id]) == [made]
    assert store.links(scope, [c.id]) == store.links(scope, []) == []
    assert [*store.all_links(scope)] == [made]


def test_links_are_read_oldest_first(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, c, d = chain
    made = [
        link(b, LinkKind.SEE_ALSO, a, created_at=noon),
        link(c, LinkKind.CAUSES, a, created_at=noon),
        link(c, LinkKind.PART_OF, a, created_at=noon),
        link(c, LinkKind.PART_OF, b, created_at=noon),
        link(a, LinkKind.SEE_ALSO, d, created_at=noon + HOUR),
    ]
    for each in reversed(made):
        store.add_link(scope, each)
    assert store.links(scope, [a.id, b.id, c.id, d.id]) == made
    assert [*store.all_links(scope)] == made


def test_the_same_link_is_refused_while_it_holds(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    made = link(a, LinkKind.SEE_ALSO, b)
    store.add_link(scope, made)
    with pytest.raises(errors.DuplicateLink, match=a.id):
        store.add_link(scope, replace(made, created_at=noon + HOUR))
    assert [*store.all_links(scope)] == [made]


def test_another_kind_or_direction_is_another_link(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink
) -> None:
    a, b, *_ = chain
    made = [
        link(a, LinkKind.PART_OF, b),
        link(a, LinkKind.SEE_ALSO, b),
        link(b, LinkKind.SEE_ALSO, a),
    ]
    for each in made:
        store.add_link(scope, each)
    assert store.links(scope, [a.id]) == made


def test_a_removed_link_stays_known_and_is_seen_as_of_its_time(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    made = link(a, LinkKind.SEE_ALSO, b)
    closed = replace(made, removed_at=noon + HOUR)
    store.add_link(scope, made)
    assert store.remove_link(scope, closed) is True
    assert store.links(scope, [a.id]) == []
    assert [*store.all_links(scope)] == [closed]
    tick = timedelta(microseconds=1)
    seen = {
        noon - tick: [],
        noon: [closed],
        noon + HOUR - tick: [closed],
        noon + HOUR: [],
    }
    assert {moment: store.links(scope, [b.id], moment) for moment in seen} == seen


def test_only_a_link_that_holds_can_be_removed(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    closed = link(a, LinkKind.SEE_ALSO, b, removed_at=noon + HOUR)
    assert store.remove_link(scope, closed) is False
    store.add_link(scope, replace(closed, removed_at=None))
    assert store.remove_link(scope, replace(closed, kind=LinkKind.PART_OF)) is False
    assert store.remove_link(scope, replace(closed, source=b.id, target=a.id)) is False
    assert store.remove_link(scope, closed) is True
    assert store.remove_link(scope, closed) is False


def test_a_removed_link_may_be_made_again(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    first = link(a, LinkKind.SEE_ALSO, b)
    again = replace(first, created_at=noon + 2 * HOUR)
    store.add_link(scope, first)
    store.remove_link(scope, replace(first, removed_at=noon + HOUR))
    store.add_link(scope, again)
    assert store.links(scope, [a.id]) == [again]
    assert [*store.all_links(scope)] == [replace(first, removed_at=noon + HOUR), again]
    assert store.remove_link(scope, replace(again, removed_at=noon + 3 * HOUR))


def test_a_link_from_elsewhere_is_kept_with_its_times(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    past = link(a, SUPERSEDES, b, created_at=noon, removed_at=noon + HOUR)
    store.add_link(scope, past)
    assert store.links(scope, [a.id]) == []
    assert [*store.all_links(scope)] == [past]
    with pytest.raises(errors.DuplicateLink):
        store.add_link(scope, past)
    store.add_link(scope, link(b, SUPERSEDES, a))  # what no longer holds closes no circle


def test_a_pair_cannot_supersede_each_other(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink
) -> None:
    a, b, *_ = chain
    store.add_link(scope, link(a, SUPERSEDES, b))
    with pytest.raises(errors.SupersedeCycle, match=a.id):
        store.add_link(scope, link(b, SUPERSEDES, a))
    assert pairs([*store.all_links(scope)]) == {(a.id, b.id)}


def test_three_cannot_supersede_each_other_in_a_circle(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink
) -> None:
    a, b, c, _ = chain
    store.add_link(scope, link(a, SUPERSEDES, b))
    store.add_link(scope, link(b, SUPERSEDES, c))
    with pytest.raises(errors.SupersedeCycle):
        store.add_link(scope, link(c, SUPERSEDES, a))
    store.add_link(scope, link(a, SUPERSEDES, c))  # a shortcut is no circle


def test_a_circle_is_refused_even_through_a_deleted_memory(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, c, _ = chain
    store.add_link(scope, link(a, SUPERSEDES, b))
    store.add_link(scope, link(b, SUPERSEDES, c))
    delete(store, scope, b, noon + HOUR)  # it may be restored
    with pytest.raises(errors.SupersedeCycle):
        store.add_link(scope, link(c, SUPERSEDES, a))


def test_a_circle_may_close_after_one_of_its_links_is_removed(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    store.add_link(scope, link(a, SUPERSEDES, b))
    store.remove_link(scope, link(a, SUPERSEDES, b, removed_at=noon + HOUR))
    store.add_link(scope, link(b, SUPERSEDES, a, created_at=noon + HOUR))
    assert pairs(store.links(scope, [a.id])) == {(b.id, a.id)}


@pytest.mark.parametrize("kind", [kind for kind in LinkKind if kind is not SUPERSEDES])
def test_other_links_may_form_circles(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, kind: LinkKind
) -> None:
    a, b, c, _ = chain
    for source, target in ((a, b), (b, c), (c, a)):
        store.add_link(scope, link(source, kind, target))
    assert len(store.links(scope, [a.id])) == 2


def test_superseding_follows_the_chain_upwards_only(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink
) -> None:
    a, b, c, d = chain
    ab, bc, cd = link(a, SUPERSEDES, b), link(b, SUPERSEDES, c), link(c, SUPERSEDES, d)
    for each in (cd, ab, bc, link(d, LinkKind.SEE_ALSO, a)):
        store.add_link(scope, each)
    assert store.newer(scope, [d.id]) == [ab, bc, cd]
    assert store.newer(scope, [c.id]) == [ab, bc]
    assert store.newer(scope, [a.id]) == store.newer(scope, []) == []
    assert store.newer(scope, [d.id, b.id, d.id]) == [ab, bc, cd]


def test_superseding_follows_every_branch(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, c, d = chain
    made = [
        link(b, SUPERSEDES, d, created_at=noon),
        link(a, SUPERSEDES, b, created_at=noon + HOUR),
        link(c, SUPERSEDES, d, created_at=noon + HOUR),
        link(a, SUPERSEDES, c, created_at=noon + 2 * HOUR),
    ]
    for each in made:
        store.add_link(scope, each)
    assert store.newer(scope, [d.id]) == made


def test_a_deleted_memory_supersedes_nothing_and_ends_the_chain(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, c, _ = chain
    ab, bc = link(a, SUPERSEDES, b), link(b, SUPERSEDES, c)
    store.add_link(scope, ab)
    store.add_link(scope, bc)
    delete(store, scope, b, noon + HOUR)
    assert store.newer(scope, [c.id]) == []
    assert store.newer(scope, [b.id]) == [ab]  # what is deleted may still be superseded
    assert store.newer(scope, [c.id], noon) == [ab, bc]


def test_superseding_as_of_a_moment_sees_links_and_memories_of_then(
    store: Store, scope: Scope, chain: list[Memory], make: Make, link: MakeLink, noon: datetime
) -> None:
    _, _, c, d = chain
    late = make(created_at=noon + 2 * HOUR)
    store.put(scope, late)
    cd = link(c, SUPERSEDES, d, created_at=noon + HOUR)
    from_late = link(late, SUPERSEDES, d, created_at=noon)  # a link older than its memory
    store.add_link(scope, cd)
    store.add_link(scope, from_late)
    assert store.newer(scope, [d.id], noon) == []
    assert store.newer(scope, [d.id], noon + HOUR) == [cd]
    assert store.newer(scope, [d.id], noon + 2 * HOUR) == [from_late, cd]
    assert store.newer(scope, [d.id]) == [from_late, cd]


def test_a_removed_link_supersedes_no_more(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    store.add_link(scope, link(a, SUPERSEDES, b))
    store.remove_link(scope, link(a, SUPERSEDES, b, removed_at=noon + HOUR))
    assert store.newer(scope, [b.id]) == []
    assert pairs(store.newer(scope, [b.id], noon)) == {(a.id, b.id)}


def test_a_scope_knows_whether_it_ever_had_a_link(
    store: Store, scope: Scope, make: Make, link: MakeLink, noon: datetime
) -> None:
    one, two = make("walrus"), make("seal")
    store.put(scope, one)
    store.put(scope, two)
    assert not store.has_links(scope)
    made = link(one, LinkKind.SEE_ALSO, two)
    store.add_link(scope, made)
    assert store.has_links(scope)
    assert not store.has_links(Scope(user=UserId("eve")))
    assert store.remove_link(scope, replace(made, removed_at=noon + HOUR))
    assert store.has_links(scope)  # for whoever asks as of an earlier moment


def test_links_are_ended_and_made_in_one_step(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    before, never = link(a, LinkKind.OUTDATES, b), link(b, LinkKind.SEE_ALSO, a)
    store.add_link(scope, before)
    after = replace(before, created_at=noon + HOUR)
    store.change_links(
        scope, [replace(x, removed_at=noon + HOUR) for x in (before, never)], [after]
    )
    assert store.links(scope, [a.id]) == [after]
    assert [*store.all_links(scope)] == [replace(before, removed_at=noon + HOUR), after]


def test_no_link_is_ended_when_another_cannot_be_made(
    store: Store, scope: Scope, chain: list[Memory], link: MakeLink, noon: datetime
) -> None:
    a, b, *_ = chain
    outdates, supersedes = link(a, LinkKind.OUTDATES, b), link(a, SUPERSEDES, b)
    for made in (outdates, supersedes):
        store.add_link(scope, made)
    ended = replace(outdates, removed_at=noon + HOUR)
    for refused, error in (
        (link(b, SUPERSEDES, a), errors.SupersedeCycle),
        (supersedes, errors.DuplicateLink),
    ):
        with pytest.raises(error):
            store.change_links(scope, [ended], [refused])
    assert {*store.links(scope, [a.id])} == {outdates, supersedes}
