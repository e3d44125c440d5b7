"""Two concepts are taken for one, and for two again, without anything being lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from bearinmind.concepts import ConceptName, Merge, Role
from bearinmind.errors import AlreadyMerged, ConceptNotFound
from bearinmind.protocols import Store
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, Scope
from support.extractors import HOUR, Make, Read, after

Keep = Callable[..., Memory]
CI, LONG, BUILDS = (name_of(name) for name in ("CI", "Continuous Integration", "the builds"))


def merging(alias: ConceptName, into: ConceptName, at: datetime) -> Merge:
    return Merge(alias=alias, into=into, reason="an abbreviation", score=0.9, merged_at=at)


@pytest.fixture
def merge(store: Store, scope: Scope, noon: datetime) -> Callable[[ConceptName, ConceptName], None]:
    """Takes one concept for another, at noon."""
    return lambda alias, into: store.merge(scope, merging(alias, into, noon))


@pytest.fixture
def three(keep: Keep) -> tuple[Memory, Memory, Memory]:
    """A memory about each of three names of one thing."""
    return (
        keep("CI | Gannet | CI > runs on > Gannet"),
        keep("Continuous Integration | Gannet"),
        keep("the builds | Heron | the builds > run on > Heron"),
    )


def held(store: Store, scope: Scope) -> dict[str, tuple[str, int, int, tuple[str, ...]]]:
    """What each name means."""
    found = store.concepts(scope, [CI, LONG, BUILDS])
    return {x: (c.name, c.memories, c.subjects, c.aliases) for x, c in found.items()}


APART = {
    CI: (CI, 1, 1, ()),
    LONG: (LONG, 1, 1, ()),
    BUILDS: (BUILDS, 1, 1, ()),
}


def test_an_alias_means_its_concept(
    store: Store, scope: Scope, three: tuple[Memory, ...], merge: Callable[..., None]
) -> None:
    merge(CI, LONG)
    one = (LONG, 2, 2, (CI,))
    assert held(store, scope) == {CI: one, LONG: one, BUILDS: (BUILDS, 1, 1, ())}
    assert [hub.name for hub in store.hubs(scope, 9, containing="CI")] == [LONG]
    assert store.known_names(scope, [CI, LONG]) == {CI, LONG}


def test_an_alias_is_known_when_some_memory_is_about_its_concept(
    store: Store, scope: Scope, keep: Keep, merge: Callable[..., None]
) -> None:
    keep("Gannet | CI, the builds")
    keep("Continuous Integration")
    merge(CI, LONG)
    assert store.known_names(scope, [CI, LONG, BUILDS]) == {CI, LONG}
    merge(LONG, BUILDS)
    assert store.known_names(scope, [CI, LONG, BUILDS]) == {CI, LONG, BUILDS}


def test_memories_that_mention_either_name_are_found_by_both(
    store: Store,
    everything: Filter,
    three: tuple[Memory, ...],
    merge: Callable[..., None],
) -> None:
    short, long, _ = three
    merge(CI, LONG)
    for name in (CI, LONG):
        found = store.mentioning(everything, [name], 9)
        assert [(x.id, x.concept, x.memories) for x in found] == [
            (long.id, LONG, 2),
            (short.id, LONG, 2),
        ]
        assert len(store.mentioning(everything, [name], 1)) == 1
    assert [x.concept for x in store.mentions_in(everything, [short.id])] == [LONG, "gannet"]
    [relation] = store.relations(everything, [LONG], 9)
    assert (relation.source, relation.target) == (LONG, "gannet")


def test_a_memory_that_mentions_both_names_is_found_once_in_its_strongest_role(
    store: Store, everything: Filter, keep: Keep, three: object, merge: Callable[..., None]
) -> None:
    memory = keep("CI | Continuous Integration")
    merge(CI, LONG)
    [mentioned] = store.mentions_in(everything, [memory.id])
    assert (mentioned.concept, mentioned.role) == (LONG, Role.SUBJECT)
    assert [x.id for x in store.mentioning(everything, [CI, LONG], 9)].count(memory.id) == 1


def test_undoing_a_merge_restores_everything(
    store: Store, scope: Scope, three: object, merge: Callable[..., None], noon: datetime
) -> None:
    merge(CI, LONG)
    assert store.unmerge(scope, CI, noon + HOUR) is True
    assert held(store, scope) == APART
    assert store.unmerge(scope, CI, noon + HOUR) is False
    assert store.unmerge(scope, name_of("nothing"), noon) is False
    assert store.merges(scope) == []
    [undone] = store.merges(scope, undone=True)
    assert (undone.alias, undone.into, undone.undone_at) == (CI, LONG, noon + HOUR)


def test_merging_into_an_alias_goes_to_its_concept(
    store: Store, scope: Scope, three: object, merge: Callable[..., None], noon: datetime
) -> None:
    merge(CI, LONG)
    merge(BUILDS, CI)
    assert {meant[0] for meant in held(store, scope).values()} == {LONG}
    assert [(x.alias, x.into) for x in store.merges(scope)] == [(CI, LONG), (BUILDS, LONG)]
    store.unmerge(scope, CI, noon)
    assert held(store, scope)[BUILDS] == (LONG, 2, 2, (BUILDS,))


def test_a_concept_takes_its_aliases_along_and_gets_them_back(
    store: Store, scope: Scope, three: object, merge: Callable[..., None], noon: datetime
) -> None:
    merge(CI, LONG)
    merge(LONG, BUILDS)
    assert {meant[0] for meant in held(store, scope).values()} == {BUILDS}
    assert held(store, scope)[CI] == (BUILDS, 3, 3, (CI, LONG))
    store.unmerge(scope, LONG, noon)
    assert held(store, scope)[CI] == (LONG, 2, 2, (CI,))
    store.unmerge(scope, CI, noon)
    assert held(store, scope) == APART


@pytest.mark.parametrize(("alias", "into"), [(CI, LONG), (CI, BUILDS), (LONG, CI), (CI, CI)])
def test_what_is_merged_already_is_refused(
    store: Store,
    scope: Scope,
    three: object,
    merge: Callable[..., None],
    alias: ConceptName,
    into: ConceptName,
) -> None:
    merge(CI, LONG)
    before = held(store, scope)
    with pytest.raises(AlreadyMerged, match=alias):
        merge(alias, into)
    assert held(store, scope) == before


def test_only_concepts_can_be_merged(
    store: Store, three: object, merge: Callable[..., None]
) -> None:
    for pair in ((CI, name_of("nothing")), (name_of("nothing"), CI)):
        with pytest.raises(ConceptNotFound, match="nothing"):
            merge(*pair)


def test_a_merge_holds_for_memories_that_come_later(
    store: Store, scope: Scope, three: object, keep: Keep, merge: Callable[..., None]
) -> None:
    merge(CI, LONG)
    keep("Dunlin | CI")
    assert held(store, scope)[LONG] == (LONG, 3, 2, (CI,))


@pytest.mark.parametrize("purged", [0, 1])
def test_a_concept_that_is_purged_takes_its_merges_along(
    store: Store,
    scope: Scope,
    three: tuple[Memory, ...],
    merge: Callable[..., None],
    purged: int,
) -> None:
    merge(CI, LONG)
    store.purge(scope, [three[purged].id])
    left = {name: meant for name, meant in APART.items() if name != (CI, LONG)[purged]}
    assert held(store, scope) == left
    assert store.merges(scope, undone=True) == []
    assert all(finding.good for finding in store.check())


def test_what_a_purged_concept_held_together_falls_apart(
    store: Store, scope: Scope, three: tuple[Memory, ...], merge: Callable[..., None]
) -> None:
    merge(CI, LONG)
    merge(LONG, BUILDS)
    store.purge(scope, [three[1].id])
    assert held(store, scope) == {CI: APART[CI], BUILDS: APART[BUILDS]}
    assert all(finding.good for finding in store.check())


def test_a_merge_outlives_a_version_that_no_longer_says_so(
    store: Store,
    scope: Scope,
    three: tuple[Memory, ...],
    merge: Callable[..., None],
    read: Read,
    make: Make,
) -> None:
    merge(CI, LONG)
    store.replace(scope, after(three[0], content="Puffin"))
    read()
    assert held(store, scope)[CI] == (LONG, 1, 1, (CI,))
