"""Random lives of spaces, vectors and jobs, led by every store side by side."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bearinmind.protocols import History, Job, SpaceState, Store
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import MemoryStore
from bearinmind.types import Filter, Memory, MemoryId, Provenance, Scope, Space, UserId

SPACES = [Space(model="made-up", revision=str(n), dimensions=3) for n in range(3)]
USERS = [Scope(user=UserId(name)) for name in ("ada", "eve")]
MINUTE = timedelta(minutes=1)

users = st.sampled_from(USERS)
spaces = st.sampled_from(SPACES)
#: What a memory says is the direction in which it points.
contents = st.tuples(*[st.integers(-2, 2)] * 3).map(lambda xyz: " ".join(map(str, xyz)))


def pointing(content: str) -> np.ndarray:
    return np.array(content.split()[:3], np.float32)


class VectorsSideBySide(RuleBasedStateMachine):
    """Whatever is done, all stores answer alike."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.stores: list[Store] = [SqliteStore(self.folder / "memories.db"), MemoryStore()]
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.count = 0
        self.held: list[list[list[Job]]] = []  # claims, each as every store gave it
        self.use(SPACES[0])

    def teardown(self) -> None:
        unwell = [x for x in self.stores[0].check() if not x.good and x.name != "work"]
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)
        assert unwell == [], "no version is left without its vector or a job"

    def both(self, verb: Callable[[Store], object]) -> object:
        """What every store answered."""
        first, second = (verb(store) for store in self.stores)
        assert first == second
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
        memory = self.stores[1].get(scope, id_)
        return (scope, memory) if memory else None

    # ---- memories ------------------------------------------------------------------------------

    @rule(content=contents, category=st.sampled_from(["facts", "people"]), now=st.booleans())
    def put(self, content: str, category: str, now: bool) -> None:
        memory = self._made(content, category)
        self.both(lambda store: store.put(USERS[self.count % 2], memory))
        if now:
            self.embed()

    @rule(one=contents, two=contents)
    def bring_a_history(self, one: str, two: str) -> None:
        first = self._made(one, "facts")
        later = {"updated_at": self.now + MINUTE, "version": 2, "content": f"{two} {self.count}"}
        history = History(versions=(first, replace(first, **later)))  # type: ignore[arg-type]
        self.both(lambda store: store.put_many(USERS[self.count % 2], [history]))
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
        self.both(lambda store: store.replace(scope, changed))

    @rule(chosen=st.integers(0, 99))
    def purge(self, chosen: int) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            self.both(lambda store: store.purge(scope, [memory.id]))

    # ---- spaces and jobs -----------------------------------------------------------------------

    @rule(space=spaces)
    def use(self, space: Space) -> None:
        self.both(lambda store: store.use_space(space))

    @rule()
    def activate(self) -> None:
        self.both(lambda store: store.activate_filled())

    @rule()
    def drop(self) -> None:
        self.both(lambda store: store.drop_retired())

    @rule(limit=st.integers(1, 9))
    def claim(self, limit: int) -> None:
        self.now += MINUTE / 4
        claims = [
            store.claim(["embed"], limit, self.now, self.now + MINUTE) for store in self.stores
        ]
        told = [[job._replace(number=0) for job in jobs] for jobs in claims]
        assert told[0] == told[1]
        self.held.append(claims)

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
        claims = self.held[-1 - late]
        if not keep:
            self.held.remove(claims)
        for space in SPACES:
            new = []
            for store, jobs in zip(self.stores, claims, strict=True):
                mine = [job for job in jobs if job.target == space.key]
                vectors = np.array([pointing(job.memory.content) for job in mine], np.float32)
                new.append(store.finish_embedding(space, mine, vectors.reshape(-1, 3)))
            assert new[0] == new[1]

    @rule(late=st.integers(0, 2), minutes=st.integers(0, 3), dead=st.booleans())
    def give_back(self, late: int, minutes: int, dead: bool) -> None:
        if len(self.held) > late:
            due = self.now + minutes * MINUTE
            for store, jobs in zip(self.stores, self.held[-1 - late], strict=True):
                store.give_back(jobs, f"error {minutes}", due, dead=dead)

    @rule()
    def revive(self) -> None:
        self.both(lambda store: store.revive("embed"))

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
        answers = [store.nearest(filter_, space, pointing(query), limit) for store in self.stores]
        assert answers[0].nearest == answers[1].nearest
        assert answers[0].searched == answers[1].searched
        assert np.allclose(answers[0][2:5], answers[1][2:5], atol=0.01)

    @invariant()
    def everything_is_the_same(self) -> None:
        known = self.both(lambda store: store.spaces())
        assert isinstance(known, list)
        states = [each.state for each in known]
        assert states.count(SpaceState.ACTIVE) == bool(known)
        assert states.count(SpaceState.FILLING) <= 1
        self.both(lambda store: store.work_counts(self.now))
        self.both(lambda store: store.next_due(self.now))

    @invariant()
    def what_is_near_is_the_same(self) -> None:
        for scope in USERS:
            for space in SPACES:
                self.ask(scope, space, "1 0 0", 99, None, None)
            self.ask(scope, SPACES[0], "0 1 0", 2, "people", None)
            self.ask(scope, SPACES[0], "0 0 1", 99, None, 3)


TestVectorsSideBySide = VectorsSideBySide.TestCase
TestVectorsSideBySide.settings = settings(
    max_examples=20,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
