"""Random lives of spaces, vectors and jobs, led by stores side by side and by a model in dicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
)

from bearinmind.protocols import History, Job, Nearby, SpaceState, Store
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.testing import TemporaryStore
from bearinmind.types import Filter, Memory, MemoryId, Provenance, Scope, Space, UserId
from support.few_lives import lead_few_lives
from support.vector_model import VectorModel, pointing

SPACES = [Space(model="made-up", revision=str(n), dimensions=3) for n in range(3)]
USERS = [Scope(user=UserId(name)) for name in ("ada", "eve")]
MINUTE = timedelta(minutes=1)
CLOSE = 2e-3  # what is kept of a vector has 11 bits

users = st.sampled_from(USERS)
spaces = st.sampled_from(SPACES)
#: What a memory says is the direction in which it points.
contents = st.tuples(*[st.integers(-2, 2)] * 3).map(lambda xyz: " ".join(map(str, xyz)))


class Claim(NamedTuple):
    """Jobs as every store gave them, and their numbers in the model."""

    jobs: list[list[Job]]
    numbers: list[int]


class VectorsSideBySide(RuleBasedStateMachine):
    """Whatever is done, all stores answer alike, and as the model expects."""

    def __init__(self, *others: Store) -> None:
        super().__init__()
        self.stores: list[Store] = [TemporaryStore(), *others]
        self.model = VectorModel()
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.count = 0
        self.held: list[Claim] = []
        self.use(SPACES[0])

    def teardown(self) -> None:
        found = [finding for store in self.stores for finding in store.check()]
        for store in self.stores:
            store.close()
        unwell = [x for x in found if not x.good and x.name != "work"]
        assert unwell == [], "no version is left without its vector or a job"

    def all(self, verb: Callable[[Store], object]) -> object:
        """What every store answered."""
        first, *others = (verb(store) for store in self.stores)
        assert all(other == first for other in others)
        return first

    def _made(self, content: str, category: str) -> Memory:
        self.count += 1
        return Memory(
            id=MemoryId(f"m{self.count:04}"),
            owner=UserId("anyone"),
            content=f"{content} {self.count}",
            category=category,
            tags=(),
            keywords=(),
            importance=0.5,
            sensitive=self.count % 7 == 0,
            created_at=self.now,
            updated_at=self.now,
            deleted_at=None,
            valid_from=None,
            valid_to=None,
            provenance=Provenance(),
            version=1,
        )

    def _chosen(self, chosen: int) -> tuple[Scope, Memory] | None:
        """One of the memories that are there."""
        number = 1 + chosen % max(1, self.count)
        scope, id_ = USERS[number % 2], MemoryId(f"m{number:04}")
        memory = self.stores[0].get(scope, id_)
        return (scope, memory) if memory else None

    # ---- memories ------------------------------------------------------------------------------

    @rule(content=contents, category=st.sampled_from(["facts", "people"]), now=st.booleans())
    def put(self, content: str, category: str, now: bool) -> None:
        memory = self._made(content, category)
        self.all(lambda store: store.put(USERS[self.count % 2], memory))
        self.model.keep(USERS[self.count % 2], memory)
        if now:
            self.embed()

    @rule(one=contents, two=contents)
    def bring_a_history(self, one: str, two: str) -> None:
        first = self._made(one, "facts")
        later = {"updated_at": self.now + MINUTE, "version": 2, "content": f"{two} {self.count}"}
        history = History(versions=(first, replace(first, **later)))  # type: ignore[arg-type]
        self.all(lambda store: store.put_many(USERS[self.count % 2], [history]))
        self.model.keep(USERS[self.count % 2], *history.versions)
        self.now += MINUTE

    @rule(chosen=st.integers(0, 99), content=st.none() | contents, gone=st.booleans())
    def change(self, chosen: int, content: str | None, gone: bool) -> None:
        found = self._chosen(chosen)
        if found is None:
            return
        scope, memory = found
        said = memory.content if content is None else f"{content} {memory.content.split()[3]}"
        self.now += MINUTE
        changed = replace(
            memory,
            content=said,
            version=memory.version + 1,
            updated_at=self.now,
            deleted_at=self.now if gone else None,
        )
        self.all(lambda store: store.replace(scope, changed))
        self.model.keep(scope, changed)

    @rule(chosen=st.integers(0, 99))
    def purge(self, chosen: int) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            for store in self.stores:
                store.purge(scope, [memory.id])
            self.model.forget(scope, memory.id)

    # ---- spaces and jobs -----------------------------------------------------------------------

    @rule(space=spaces)
    def use(self, space: Space) -> None:
        state = self.all(lambda store: store.use_space(space))
        self.model.use(space)
        assert state == self.model.states[space]

    @rule()
    def activate(self) -> None:
        if self.all(lambda store: store.activate_filled()):
            self.model.activate()

    @rule()
    def drop(self) -> None:
        assert self.all(lambda store: store.drop_retired()) == self.model.drop_retired()

    @rule(limit=st.integers(1, 9))
    def claim(self, limit: int) -> None:
        self.now += MINUTE / 4
        claims = [
            store.claim(["embed"], limit, self.now, self.now + MINUTE) for store in self.stores
        ]
        first, *others = ([job._replace(number=0) for job in jobs] for jobs in claims)
        assert all(other == first for other in others)
        self.held.append(Claim(claims, [*map(self.model.number_of, first)]))

    @rule()
    def embed(self) -> None:
        """Do all that waits."""
        self.claim(999)
        self.finish(0, keep=False)

    @rule(late=st.integers(0, 2), keep=st.booleans())
    def finish(self, late: int, keep: bool) -> None:
        """Do what was claimed, now or some claims ago; maybe try to do it again later."""
        if len(self.held) <= late:
            return
        claim = self.held[-1 - late]
        if not keep:
            self.held.remove(claim)
        for space in SPACES:
            chosen = [n for n, job in enumerate(claim.jobs[0]) if job.target == space.key]
            numbers = [claim.numbers[n] for n in chosen]
            expected = self.model.finish(space, [claim.jobs[0][n] for n in chosen], numbers)
            for store, jobs in zip(self.stores, claim.jobs, strict=True):
                mine = [jobs[n] for n in chosen]
                vectors = np.array([pointing(job.memory.content) for job in mine], np.float32)
                new = store.finish_embedding(space, mine, vectors.reshape(-1, 3))
                assert new == expected

    @rule(late=st.integers(0, 2), minutes=st.integers(0, 3), dead=st.booleans())
    def give_back(self, late: int, minutes: int, dead: bool) -> None:
        if len(self.held) > late:
            due = self.now + minutes * MINUTE
            for store, jobs in zip(self.stores, self.held[-1 - late].jobs, strict=True):
                store.give_back(jobs, f"error {minutes}", due, dead=dead)

    @rule()
    def revive(self) -> None:
        self.all(lambda store: store.revive("embed"))

    # ---- what they answer ----------------------------------------------------------------------

    @rule(
        scope=users,
        space=spaces,
        query=contents,
        limit=st.integers(0, 9),
        category=st.none() | st.just("people"),
        back=st.none() | st.integers(0, 20),
    )
    def ask(
        self,
        scope: Scope,
        space: Space,
        query: str,
        limit: int,
        category: str | None,
        back: int | None,
    ) -> None:
        filter_ = Filter(
            scope=scope,
            now=self.now,
            categories=frozenset({category} if category else ()),
            as_of=None if back is None else self.now - back * MINUTE,
        )
        expected = self.model.nearest(filter_, space, pointing(query))
        present = self.model.nearest(Filter(scope=scope, now=self.now), space, pointing(query))
        cosines = [near.cosine for near in present]
        spread = [*map(float, (np.mean(cosines), np.std(cosines)))] if cosines else [0.0, 0.0]
        for store in self.stores:
            answer = store.nearest(filter_, space, pointing(query), limit)
            assert _same(answer.nearest, expected, limit)
            assert answer.searched == len(expected)
            assert np.allclose(answer[2:5], [*spread, len(cosines)], atol=0.01)

    @invariant()
    def everything_is_the_same(self) -> None:
        known = self.all(lambda store: store.spaces())
        assert isinstance(known, list)
        assert {each.space: each.state for each in known} == self.model.states
        states = [each.state for each in known]
        assert states.count(SpaceState.ACTIVE) == bool(known)
        assert states.count(SpaceState.FILLING) <= 1
        for each in known:
            waiting = sum(target == each.space.key for target, _ in self.model.jobs)
            assert each.waiting + each.dead == waiting
            assert each.embedded == len(self.model.embedded[each.space])
        self.all(lambda store: store.work_counts(self.now))
        self.all(lambda store: store.next_due(self.now))

    @invariant()
    def what_is_near_is_the_same(self) -> None:
        for scope in USERS:
            for space in SPACES:
                self.ask(scope, space, "1 0 0", 99, None, None)
            self.ask(scope, SPACES[0], "0 1 0", 2, "people", None)
            self.ask(scope, SPACES[0], "0 0 1", 99, None, 3)


def _same(answer: list[Nearby], expected: list[Nearby], limit: int) -> bool:
    """Whether these are the nearest; what is as near as another may stand in its place."""
    cosines = {near.id: near.cosine for near in expected}
    given, best = ([near.cosine for near in each[:limit]] for each in (answer, expected))
    own = [cosines.get(near.id, 9.0) for near in answer]
    near = np.allclose(given, own, atol=CLOSE)
    return len(given) == len(best) and near and np.allclose(given, best, atol=CLOSE)


LIVES = settings(
    max_examples=20,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestVectors = VectorsSideBySide.TestCase
TestVectors.settings = LIVES


def test_postgres_leads_the_same_lives(migrated_database: Callable[[], str]) -> None:
    lead_few_lives(lambda: VectorsSideBySide(PostgresStore(migrated_database())), LIVES)
