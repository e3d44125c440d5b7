from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind import errors
from bearinmind.protocols import History, Store
from bearinmind.types import AlreadyKnown, Link, LinkKind, Memory, Provenance, Scope, Stored, Trust

HOUR = timedelta(hours=1)
Make = Callable[..., Memory]


def after(memory: Memory, *, hours: int = 1, **changes: object) -> Memory:
    """The next version of a memory, written some hours later."""
    later = memory.updated_at + hours * HOUR
    return replace(memory, version=memory.version + 1, updated_at=later, **changes)  # type: ignore[arg-type]


def deleted(memory: Memory, *, hours: int = 1) -> Memory:
    return after(memory, hours=hours, deleted_at=memory.updated_at + hours * HOUR)


def test_a_new_memory_is_stored_with_every_field(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    memory = make(
        "Grüße \u0394 \U0001f98a\nand a second line",
        category="people",
        tags=("a-tag", "späße"),
        keywords=("two words", "x,y"),
        importance=0.125,
        valid_from=noon - HOUR,
        valid_to=noon + timedelta(microseconds=1),
        created_at=noon + timedelta(microseconds=123456),
        provenance=Provenance(
            agent="claude", session="s", project="p", source="src", trust=Trust.EXTERNAL
        ),
    )
    assert store.put(scope, memory) == Stored(memory=memory)
    assert store.get(scope, memory.id) == memory


def test_the_same_content_is_known_and_changes_nothing(
    store: Store, scope: Scope, make: Make
) -> None:
    first = make("the same")
    store.put(scope, first)
    again = make("the same", tags=("other",))
    assert store.put(scope, again) == AlreadyKnown(memory=first)
    assert store.get(scope, again.id) is None
    assert store.versions(scope, first.id) == [first]


def test_content_that_differs_in_white_space_only_is_the_same(
    store: Store, scope: Scope, make: Make
) -> None:
    first = make("one  two\nthree")
    store.put(scope, first)
    assert store.put(scope, make("one two three")) == AlreadyKnown(memory=first)
    assert isinstance(store.put(scope, make("One two three")), Stored)


def test_links_of_known_content_are_not_kept(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link]
) -> None:
    first, other = make("the same"), make()
    store.put(scope, first)
    store.put(scope, other)
    again = make("the same")
    store.put(scope, again, [link(again, LinkKind.SUPERSEDES, other)])
    assert [*store.all_links(scope)] == []


def test_an_id_is_taken_once(store: Store, scope: Scope, make: Make) -> None:
    first = make("first")
    store.put(scope, first)
    with pytest.raises(errors.IdTaken, match=first.id):
        store.put(scope, make("second", id=first.id))
    assert store.get(scope, first.id) == first


def test_an_id_stays_taken_while_its_memory_is_deleted(
    store: Store, scope: Scope, make: Make
) -> None:
    first = make("first")
    store.put(scope, first)
    store.replace(scope, deleted(first))
    with pytest.raises(errors.IdTaken):
        store.put(scope, make("second", id=first.id))


def test_deleted_content_may_be_stored_again(store: Store, scope: Scope, make: Make) -> None:
    first = make("the same")
    store.put(scope, first)
    store.replace(scope, deleted(first))
    assert isinstance(store.put(scope, make("the same")), Stored)


def test_superseded_content_may_be_stored_again(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link]
) -> None:
    old, new = make("the same"), make("something newer")
    store.put(scope, old)
    store.put(scope, new, [link(new, LinkKind.SUPERSEDES, old)])
    again = make("the same")
    assert store.put(scope, again) == Stored(memory=again)


def test_content_superseded_by_a_deleted_memory_is_known_again(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link]
) -> None:
    old, new = make("the same"), make("something newer")
    store.put(scope, old)
    store.put(scope, new, [link(new, LinkKind.SUPERSEDES, old)])
    store.replace(scope, deleted(new))
    assert store.put(scope, make("the same")) == AlreadyKnown(memory=old)


def test_a_memory_and_its_links_are_kept_together_or_not_at_all(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link]
) -> None:
    old, new = make("old"), make("new")
    store.put(scope, old)
    twice = link(new, LinkKind.SUPERSEDES, old)
    with pytest.raises(errors.DuplicateLink):
        store.put(scope, new, [twice, twice])
    assert store.get(scope, new.id) is None
    assert [*store.all_links(scope)] == []


def test_replacing_keeps_every_version(store: Store, scope: Scope, make: Make) -> None:
    first = make("one")
    second = after(first, content="two", tags=("t",))
    third = deleted(second)
    store.put(scope, first)
    store.replace(scope, second)
    store.replace(scope, third)
    assert store.versions(scope, first.id) == [first, second, third]
    assert store.get(scope, first.id) == third


def test_a_memory_that_was_never_stored_has_no_versions(
    store: Store, scope: Scope, make: Make
) -> None:
    assert store.versions(scope, make().id) == []
    assert store.get(scope, make().id) is None


@pytest.mark.parametrize("version", [1, 3, 7])
def test_only_the_version_after_the_present_one_replaces_it(
    store: Store, scope: Scope, make: Make, version: int
) -> None:
    first = make("one")
    store.put(scope, first)
    with pytest.raises(errors.VersionConflict, match=first.id):
        store.replace(scope, replace(after(first, content="two"), version=version))
    assert store.versions(scope, first.id) == [first]


def test_a_memory_that_is_not_stored_cannot_be_replaced(
    store: Store, scope: Scope, make: Make
) -> None:
    with pytest.raises(errors.VersionConflict):
        store.replace(scope, make(version=2))
    with pytest.raises(errors.VersionConflict):
        store.replace(scope, make(version=1))


def test_the_content_of_another_live_memory_is_refused(
    store: Store, scope: Scope, make: Make
) -> None:
    first, second = make("one"), make("two")
    store.put(scope, first)
    store.put(scope, second)
    with pytest.raises(errors.DuplicateContent, match=first.id):
        store.replace(scope, after(second, content=" one "))
    assert store.get(scope, second.id) == second


def test_a_memory_may_keep_its_own_content(store: Store, scope: Scope, make: Make) -> None:
    first = make("one")
    store.put(scope, first)
    second = after(first, importance=1.0)
    store.replace(scope, second)
    assert store.get(scope, first.id) == second


def test_a_deletion_is_never_refused_for_its_content(
    store: Store, scope: Scope, make: Make
) -> None:
    first = make("one")
    store.put(scope, first)
    store.replace(scope, deleted(first))
    store.put(scope, make("one"))
    gone = deleted(deleted(first))
    store.replace(scope, gone)
    assert store.get(scope, first.id) == gone
    with pytest.raises(errors.DuplicateContent):
        store.replace(scope, after(gone, deleted_at=None))


def test_a_change_that_says_nothing_new_is_not_held_against_its_twin(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link], noon: datetime
) -> None:
    old, newer = make("walrus"), make("seal")
    store.put(scope, old)
    store.put(scope, newer, [link(newer, LinkKind.SUPERSEDES, old)])
    assert isinstance(store.put(scope, make("walrus")), Stored)
    later = replace(old, importance=0.9, version=2, updated_at=noon + HOUR)
    store.replace(scope, later)
    assert store.get(scope, old.id) == later


def test_a_failed_replacement_leaves_nothing_behind(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link]
) -> None:
    first, other = make("one"), make("two")
    store.put(scope, first)
    store.put(scope, other, [link(other, LinkKind.SEE_ALSO, first)])
    with pytest.raises(errors.DuplicateLink):
        store.replace(scope, after(first, content="three"), [link(other, LinkKind.SEE_ALSO, first)])
    assert store.versions(scope, first.id) == [first]


def test_a_moment_sees_the_version_that_was_present_then(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    first = make("one")
    second, tick = after(first, content="two"), timedelta(microseconds=1)
    gone = deleted(second)
    store.put(scope, first)
    store.replace(scope, second)
    store.replace(scope, gone)
    seen = {
        noon - tick: None,
        noon: first,
        noon + HOUR - tick: first,
        noon + HOUR: second,
        noon + 2 * HOUR: gone,
        noon + 99 * HOUR: gone,
    }
    assert {moment: store.get(scope, first.id, moment) for moment in seen} == seen


def test_many_are_read_at_once_and_absent_ones_left_out(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    first, second, third = make("one"), make("two"), make("three", created_at=noon + HOUR)
    for memory in (first, second, third):
        store.put(scope, memory)
    wanted = [third.id, first.id, make().id, first.id]
    assert store.get_many(scope, wanted) == {first.id: first, third.id: third}
    assert store.get_many(scope, wanted, noon) == {first.id: first}
    assert store.get_many(scope, []) == {}


def test_purging_removes_memory_versions_links_and_terms(
    store: Store, scope: Scope, make: Make, link: Callable[..., Link]
) -> None:
    kept, gone = make("kept walrus"), make("gone walrus")
    store.put(scope, kept)
    store.put(scope, gone, [link(gone, LinkKind.SEE_ALSO, kept)])
    store.add_link(scope, link(kept, LinkKind.CAUSES, gone))
    store.replace(scope, deleted(gone))
    store.purge(scope, [gone.id, make().id])
    assert store.versions(scope, gone.id) == []
    assert store.resolve(scope, gone.id) == []
    assert [*store.all_links(scope)] == []
    assert store.lexical_statistics(scope, ["walrus"]).frequency == {"walrus": 1}
    assert store.get(scope, kept.id) == kept


def test_a_purged_id_and_content_may_be_stored_again(
    store: Store, scope: Scope, make: Make
) -> None:
    first = make("one")
    store.put(scope, first)
    store.purge(scope, [first.id])
    assert store.put(scope, first) == Stored(memory=first)


def test_many_histories_are_kept_as_they_were(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    first = make("one")
    second = after(first, content="two")
    gone = deleted(make("three"))
    outcomes = store.put_many(
        scope, [History(versions=(first, second)), History(versions=(replace(gone, version=1),))]
    )
    assert outcomes == [Stored(memory=second), Stored(memory=replace(gone, version=1))]
    assert store.versions(scope, first.id) == [first, second]
    assert store.get(scope, first.id, noon) == first


def test_of_many_a_stored_id_is_left_alone_and_known_content_is_named(
    store: Store, scope: Scope, make: Make
) -> None:
    first = make("one")
    store.put(scope, first)
    here, gone = make("here twice"), deleted(make("one"))
    outcomes = store.put_many(
        scope,
        [
            History(versions=(replace(first, content="else"),)),
            History(versions=(make("one"),)),
            History(versions=(here,)),
            History(versions=(make("here twice"),)),
            History(versions=(replace(gone, version=1),)),
        ],
    )
    assert outcomes == [
        None,
        AlreadyKnown(memory=first),
        Stored(memory=here),
        AlreadyKnown(memory=here),
        Stored(memory=replace(gone, version=1)),  # what is deleted says nothing
    ]
    assert store.get(scope, first.id) == first


def test_a_purely_deleted_history_keeps_its_id_taken(
    store: Store, scope: Scope, make: Make
) -> None:
    gone = replace(deleted(make("one")), version=1)
    store.put_many(scope, [History(versions=(gone,))])
    assert store.put_many(scope, [History(versions=(make("two", id=gone.id),))]) == [None]


def test_no_histories_are_no_outcomes(store: Store, scope: Scope) -> None:
    assert store.put_many(scope, []) == []


def test_a_fresh_store_has_nothing_wrong(store: Store, scope: Scope, make: Make) -> None:
    store.put(scope, make("one"))
    assert all(finding.good for finding in store.check())
