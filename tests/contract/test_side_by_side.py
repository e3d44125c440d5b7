"""Random lives of a memory, led by stores side by side and by a model in dicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime, timedelta

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
)

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import AlreadyDeleted, MindError
from bearinmind.protocols import Store
from bearinmind.remember.admit import check_tags
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.testing import FixedClock, TemporaryStore, counting_ids
from bearinmind.types import (
    AlreadyKnown,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    SortBy,
    State,
    Stored,
)
from support.few_lives import lead_few_lives
from support.memory_model import BY_AN_AGENT, MemoryModel

WORDS = ["walrus", "walruses", "seal", "otter", "parseConfig", "parse_config", "3.11.7", "the"]
CATEGORIES = st.sampled_from(["facts", "people", "Decision"])
TAGS = st.lists(st.sampled_from(["red", "blue", "dark green"]), max_size=2).map(tuple)
contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
importances = st.sampled_from([0.0, 0.5, 1.0])
#: That one memory outdates another is decided, not linked: test_outdating.py is about that.
kinds = st.sampled_from([kind for kind in LinkKind if kind is not LinkKind.OUTDATES])
hours = st.integers(-48, 48)

Verb = Callable[[Mind], object]
Made = MemoryId | MultipleResults[MemoryId]


class SideBySide(RuleBasedStateMachine):
    """Whatever is done, all stores answer alike, and as the model expects."""

    ids: Bundle[MemoryId] = Bundle("ids")

    def __init__(self, *others: Store) -> None:
        super().__init__()
        self.clock = FixedClock()
        chosen = Settings(decay_days={"people": 30.0})
        self.memories = [
            Mind(store, chosen, clock=self.clock, new_id=counting_ids())
            for store in (TemporaryStore(), *others)
        ]
        self.model = MemoryModel()
        self.moments: list[datetime] = [self.clock()]

    def teardown(self) -> None:
        for memory in self.memories:
            memory.close()

    def all(self, verb: Verb) -> object:
        """What every store answered, or the kind of error that each raised."""
        self.clock.advance(minutes=1)
        first, *others = (self._attempt(verb, memory) for memory in self.memories)
        assert all(other == first for other in others)
        return first

    @staticmethod
    def _attempt(verb: Verb, memory: Mind) -> object:
        try:
            return verb(memory)
        except MindError as error:
            return type(error)

    def write(self, verb: Verb) -> None:
        written = self.all(verb)
        if isinstance(written, Memory):
            self.model.keep(written)

    # ---- the write path ------------------------------------------------------------------------

    @rule(
        target=ids,
        content=contents,
        category=CATEGORIES,
        tags=TAGS,
        importance=importances,
        ages=hours,
        valid=st.one_of(st.none(), st.tuples(hours, st.integers(1, 48))),
    )
    def store(
        self,
        content: str,
        category: str,
        tags: tuple[str, ...],
        importance: float,
        ages: int,
        valid: tuple[int, int] | None,
    ) -> Made:
        twin, now = self.model.twin(content), self.clock()
        begins = None if valid is None else now + timedelta(hours=valid[0])
        outcome = self.all(
            lambda memory: memory.store(
                content,
                category=category,
                tags=tags,
                importance=importance,
                created_at=now - timedelta(hours=ages) if ages > 0 else None,
                valid_from=begins,
                valid_to=begins + timedelta(hours=valid[1]) if begins and valid else None,
            )
        )
        return self._remember(outcome, twin)

    @rule(target=ids, content=contents, old=ids)
    def supersede(self, content: str, old: MemoryId) -> Made:
        twin = self.model.twin(content)
        outcome = self.all(lambda memory: memory.store(content, supersedes=[old]))
        if self.model.versions[old][-1].deleted_at is not None:
            assert outcome is AlreadyDeleted
            return multiple()
        made = self._remember(outcome, twin)
        assert isinstance(outcome, Stored | AlreadyKnown)
        ends = (outcome.memory.id, LinkKind.SUPERSEDES, old)
        if self.model.refusal(*ends) is None:  # what is known already supersedes it, too
            self.model.link(*ends, self.clock(), BY_AN_AGENT)
        return made

    def _remember(self, outcome: object, twin: Memory | None) -> Made:
        """What is stored is new, unless something says the same already."""
        if not isinstance(outcome, Stored):
            assert outcome == AlreadyKnown(memory=twin)  # type: ignore[arg-type]  # None is neither
            return multiple()
        assert twin is None
        self.model.keep(outcome.memory)
        return outcome.memory.id

    @rule(id_=ids, content=st.none() | contents, importance=st.none() | importances, tags=TAGS)
    def update(
        self, id_: MemoryId, content: str | None, importance: float | None, tags: tuple[str, ...]
    ) -> None:
        self.write(
            lambda memory: memory.update(id_, content=content, importance=importance, tags=tags)
        )

    @rule(id_=ids)
    def delete(self, id_: MemoryId) -> None:
        deleted = self.all(lambda memory: memory.delete(id_))
        if isinstance(deleted, Memory):  # with what its deletion brought back, which is not kept
            kept = {each.name: getattr(deleted, each.name) for each in fields(Memory)}
            self.model.keep(Memory(**kept))
            self.model.bridge(id_, deleted.updated_at)

    @rule(id_=ids)
    def restore(self, id_: MemoryId) -> None:
        self.write(lambda memory: memory.restore(id_))

    @rule(id_=consumes(ids))
    def purge(self, id_: MemoryId) -> None:
        self.delete(id_)
        plan = self.all(lambda memory: memory.plan_purge([id_]))
        self.all(lambda memory: memory.purge(memory.plan_purge([id_])))
        if not isinstance(plan, type):
            self.model.purge(id_)

    @rule(source=ids, kind=kinds, end=ids)
    def link(self, source: MemoryId, kind: LinkKind, end: MemoryId) -> None:
        refusal = self.model.refusal(source, kind, end)
        link = self.all(lambda memory: memory.link(source, kind, end))
        assert isinstance(link, Link) if refusal is None else link is refusal
        if refusal is None:
            self.model.link(source, kind, end, self.clock())

    @rule(source=ids, end=ids)
    def link_as_newer(self, source: MemoryId, end: MemoryId) -> None:
        self.link(source, LinkKind.SUPERSEDES, end)

    @rule(source=ids, kind=st.sampled_from(LinkKind), end=ids)
    def unlink(self, source: MemoryId, kind: LinkKind, end: MemoryId) -> None:
        held = [(x.source, x.kind, x.target) for x in self.model.holding()]
        link = self.all(lambda memory: memory.unlink(source, kind, end))
        assert isinstance(link, Link) == ((source, kind, end) in held)
        if isinstance(link, Link):
            self.model.unlink(source, kind, end, self.clock())

    @rule(data=st.data())
    def unlink_one_that_holds(self, data: st.DataObject) -> None:
        holding = self.model.holding()
        if holding:
            chosen = data.draw(st.sampled_from(holding))
            self.unlink(chosen.source, chosen.kind, chosen.target)

    @rule(span=st.integers(1, 48))
    def let_time_pass(self, span: int) -> None:
        self.moments.append(self.clock.advance(hours=span))

    # ---- the read path -------------------------------------------------------------------------

    @rule(
        text=contents,
        limit=st.integers(1, 4),
        tags=TAGS,
        back=st.none() | st.integers(0, 96),
        states=st.lists(st.sampled_from(State), max_size=2),
        sort_by=st.sampled_from(SortBy),
        budget=st.none() | st.integers(0, 60),
    )
    def recall(
        self,
        text: str,
        limit: int,
        tags: tuple[str, ...],
        back: int | None,
        states: list[State],
        sort_by: SortBy,
        budget: int | None,
    ) -> None:
        as_of = None if back is None else self.clock() - timedelta(hours=back)

        def ask(memory: Mind) -> object:
            answer = memory.recall(
                text,
                limit=limit,
                tags=tags,
                as_of=as_of,
                states=states,
                sort_by=sort_by,
                budget_bytes=budget,
                expanded=["otter"],
            )
            assert not answer.trace.degraded
            admitted = self.model.listed(states or [State.LIVE], self.clock(), as_of)
            assert all(hit.memory in admitted for hit in answer.hits)
            assert all({*check_tags(tags)} <= {*hit.memory.tags} for hit in answer.hits)
            return answer.hits, answer.trace.fused, answer.trace.judged, answer.trace.dropped

        self.all(ask)

    @rule(id_=ids, text=contents, limit=st.integers(1, 2))
    def ask_why(self, id_: MemoryId, text: str, limit: int) -> None:
        self.all(lambda memory: memory.why(id_))
        self.all(lambda memory: memory.why_not(text, id_, limit=limit))
        self.all(lambda memory: memory.timeline(id_, before=2, after=2, states=[*State]))

    @invariant()
    def everything_is_the_same(self) -> None:
        assert self.all(lambda memory: memory.stats()) == self.model.statistics(self.clock())
        links = self.all(lambda memory: [*memory.transfer.links()])
        assert isinstance(links, list)
        assert sorted(links, key=repr) == sorted(self.model.links, key=repr)
        self.all(lambda memory: memory.recall("walrus seal otter parse 3.11", limit=50).hits)
        for state in State:
            listed = self.all(lambda memory, state=state: [*memory.list(states=[state], limit=99)])  # type: ignore[misc]
            assert listed == self.model.listed([state], self.clock())

    @invariant()
    def every_version_is_kept(self) -> None:
        for memory in self.memories:
            kept = {id_: [*memory.versions(id_)] for id_ in self.model.versions}
            assert kept == self.model.versions
            listed = {found.id for found in memory.list(states=[*State], limit=99)}
            assert listed == {*self.model.versions}

    @invariant()
    def every_moment_sees_what_was_true_then(self) -> None:
        for moment in self.moments[-3:]:
            for memory in self.memories:
                seen = memory.list(as_of=moment, states=[*State], limit=99)
                assert [*seen] == self.model.listed([*State], self.clock(), moment)


LIVES = settings(
    max_examples=40,
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = LIVES


def test_postgres_leads_the_same_lives(migrated_database: Callable[[], str]) -> None:
    lead_few_lives(lambda: SideBySide(PostgresStore(migrated_database())), LIVES)
