"""Many threads change one store at once: no change is lost, and no promise is broken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

import numpy as np
import pytest

from bearinmind.errors import DuplicateLink, IdTaken, SupersedeCycle, VersionConflict
from bearinmind.protocols import Finding, Store
from bearinmind.types import (
    AlreadyKnown,
    Filter,
    Link,
    LinkKind,
    Memory,
    Outcome,
    Scope,
    Space,
    Stored,
    UserId,
)
from support.extractors import HOUR, extraction_of

Make = Callable[..., Memory]
MakeLink = Callable[..., Link]
Answer = TypeVar("Answer")
THREADS = 8  # more than a store of the contract has connections
SPACES = [Space(model="compass", revision=str(number), dimensions=2) for number in range(3)]


def at_once(act: Callable[[int], Answer], threads: int = THREADS) -> list[Answer]:
    """What an act answers on each of several threads that begin together."""
    start = threading.Barrier(threads)

    def begin(number: int) -> Answer:
        start.wait()
        return act(number)

    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(begin, range(threads))]


def troubles(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.good]


def test_the_same_content_is_stored_once_and_everybody_is_told_which(
    store: Store, scope: Scope, make: Make
) -> None:
    for attempt in range(5):
        memories = [make(f"said by all {attempt}") for _ in range(THREADS)]

        def put(number: int, all_the_same: Sequence[Memory] = memories) -> Outcome:
            return store.put(scope, all_the_same[number])

        outcomes = at_once(put)
        [stored] = [each for each in outcomes if isinstance(each, Stored)]
        known = [each for each in outcomes if isinstance(each, AlreadyKnown)]
        assert {each.memory.id for each in known} == {stored.memory.id}
        assert len(known) == THREADS - 1


def test_an_id_is_taken_by_one(store: Store, scope: Scope, make: Make) -> None:
    memories = [make(f"said by {n}", id="m00000000001") for n in range(THREADS)]

    def put(number: int) -> bool:
        with suppress(IdTaken):
            store.put(scope, memories[number])
            return True
        return False

    assert sum(at_once(put)) == 1
    assert len(store.versions(scope, memories[0].id)) == 1


def test_of_those_who_change_the_same_version_one_succeeds(
    store: Store, scope: Scope, make: Make
) -> None:
    """Whoever is told so and tries again changes what the other one made of it."""
    first = make("counted 0", keywords=())
    store.put(scope, first)

    def add(number: int) -> None:
        for step in range(3):
            word = f"w{number}x{step}"
            while True:
                present = store.get(scope, first.id)
                assert present is not None
                changed = replace(
                    present, keywords=(*present.keywords, word), version=present.version + 1
                )
                with suppress(VersionConflict):
                    store.replace(scope, changed)
                    break

    at_once(add)
    versions = store.versions(scope, first.id)
    assert [each.version for each in versions] == [*range(1, 3 * THREADS + 2)]
    assert {*versions[-1].keywords} == {f"w{n}x{step}" for n in range(THREADS) for step in range(3)}
    assert not troubles(store.check())


def test_no_circle_of_supersedes_is_ever_closed(
    store: Store, scope: Scope, make: Make, link: MakeLink
) -> None:
    ring = [make(f"memory {n}") for n in range(4)]
    for memory in ring:
        store.put(scope, memory)
    for _ in range(4):

        def supersede(number: int) -> Link | None:
            made = link(ring[number], LinkKind.SUPERSEDES, ring[(number + 1) % 4])
            try:
                store.add_link(scope, made)
            except SupersedeCycle:
                return None
            return made

        made = at_once(supersede, 4)
        assert made.count(None) == 1
        for each in filter(None, made):
            store.remove_link(scope, replace(each, removed_at=each.created_at + HOUR))


def test_a_link_is_kept_once(store: Store, scope: Scope, make: Make, link: MakeLink) -> None:
    one, two = make("one"), make("two")
    store.put(scope, one)
    store.put(scope, two)

    def add(_: int) -> bool:
        with suppress(DuplicateLink):
            store.add_link(scope, link(one, LinkKind.SEE_ALSO, two))
            return True
        return False

    assert sum(at_once(add)) == 1
    assert len(store.links(scope, [one.id])) == 1


@pytest.mark.parametrize("users", [1, 3, THREADS])
def test_what_many_write_is_all_there_and_counted_right(
    store: Store, make: Make, noon: datetime, users: int
) -> None:
    memories = [[make(f"walrus number {n} of {t}") for n in range(6)] for t in range(THREADS)]
    scopes = [Scope(user=UserId(f"user {number % users}")) for number in range(THREADS)]

    def write(number: int) -> None:
        for memory in memories[number]:
            store.put(scopes[number], memory)
        store.purge(scopes[number], [memories[number][0].id])

    at_once(write)
    for user in {*scopes}:
        own = [m.id for n in range(THREADS) if scopes[n] == user for m in memories[n][1:]]
        found = store.lexical_matches(
            Filter(scope=user, now=noon), ["walrus"], every=True, limit=99
        )
        assert {each.id for each in found} == {*own}
        assert store.statistics(user, noon).live == len(own)
    assert not troubles(store.check())


def test_whatever_space_and_extractor_come_into_use_meanwhile_nothing_is_left_out(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    memories = [[make(f"Gannet | {n} {t}") for n in range(8)] for t in range(THREADS)]
    store.use_space(SPACES[0])

    def live(number: int) -> None:
        for step, memory in enumerate(memories[number]):
            if number == 0:
                store.use_space(SPACES[step % 3])
                store.activate_filled()
            elif number == 1:
                store.use_extractor(f"plain {step % 2}")
            elif number == 2:
                _work(store, noon)
            store.put(scope, memory)

    at_once(live)
    assert not troubles(store.check()), "each has its vector or a job, and is read or will be"
    while _work(store, noon):
        pass
    store.activate_filled()
    assert not troubles(store.check())
    [active, *_] = store.spaces()
    assert active.embedded == THREADS * 8


def _work(store: Store, noon: datetime) -> int:
    """Do the jobs that wait; how many there were."""
    jobs = store.claim(["embed"], 50, noon, noon + HOUR)
    for space in SPACES:
        own = [job for job in jobs if job.target == space.key]
        if own:
            store.finish_embedding(space, own, np.ones((len(own), 2), np.float32))
    read = store.claim(["extract"], 50, noon, noon + HOUR)
    store.finish_extraction(read, [extraction_of(job.memory) for job in read], noon)
    return len(jobs) + len(read)
