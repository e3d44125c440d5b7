"""Random lives of the concept graph, led by stores side by side; what is mentioned, by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
)

from bearinmind.concepts import (
    ConceptName,
    Extraction,
    Kind,
    Mention,
    Merge,
    Relation,
    Role,
    Statement,
)
from bearinmind.errors import Conflict, NotFound
from bearinmind.protocols import History, Job, Sealed, Store
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.testing import TemporaryStore
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, MemoryId, Provenance, Scope, UserId
from support.few_lives import lead_few_lives
from support.graph_model import GraphModel

USERS = [Scope(user=UserId(name)) for name in ("ada", "eve")]
MINUTE = timedelta(minutes=1)
LETTERS = [ConceptName(letter) for letter in "abcdef"]

users = st.sampled_from(USERS)
names = st.sampled_from(LETTERS)
numbers = st.integers(0, 99)
#: What a memory says: pairs of letters, each of which is a relation or a mention in some role.
contents = st.lists(st.text("abcdef", min_size=2, max_size=2), max_size=4).map(" ".join)


def mention(letter: str, place: int) -> Mention:
    kind = [Kind.TOPIC, Kind.NAME, Kind.PERSON, Kind.HOST][place % 4]
    return Mention(name_of(letter), [*Role][place % 4], kind, letter.upper() if place else letter)


def extraction(memory: Memory, target: str) -> Extraction:
    """What is read in a memory: the second extractor sees no relation in the first pair."""
    pairs = memory.content.split()[:-1]
    found = [mention(letter, place) for place, pair in enumerate(pairs) for letter in pair]
    stated = [
        Statement(mention(pair[0], 1), "knows", mention(pair[1], 2), weight=(1 + place) / 4)
        for place, pair in enumerate(pairs)
        if place or target == "first"
    ]
    return Extraction(tuple(found[target == "second" :]), tuple(stated))


class Claim(NamedTuple):
    """Jobs as every store gave them, and as the model knows them."""

    jobs: list[list[Job]]
    numbers: list[tuple[str, int]]


class GraphSideBySide(RuleBasedStateMachine):
    """Whatever is done, all stores answer alike, and as the model expects; they stay sound."""

    def __init__(self, *others: Store) -> None:
        super().__init__()
        self.stores: list[Store] = [TemporaryStore(), *others]
        self.model = GraphModel()
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.count = 0
        self.held: list[Claim] = []
        self.use("first", again=False)

    def teardown(self) -> None:
        for store in self.stores:
            store.close()

    def all(self, verb: Callable[[Store], object]) -> object:
        """What every store answered."""
        first, *others = (_answer(store, verb) for store in self.stores)
        assert all(other == first for other in others)
        return first

    def _tick(self) -> datetime:
        self.now += MINUTE
        return self.now

    def _made(self, content: str, tag: bool) -> Memory:
        self.count += 1
        return Memory(
            id=MemoryId(f"m{self.count:04}"),
            owner=UserId("anyone"),
            content=f"{content} {self.count}",
            category="people" if tag else "facts",
            tags=(),
            keywords=(),
            importance=0.5,
            sensitive=self.count % 7 == 0,
            created_at=self.now,
            updated_at=self._tick(),
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

    @rule(content=contents, tag=st.booleans(), now=st.booleans())
    def put(self, content: str, tag: bool, now: bool) -> None:
        memory = self._made(content, tag)
        self.all(lambda store: store.put(USERS[self.count % 2], memory))
        self.model.keep(USERS[self.count % 2], memory)
        if now:
            self.read()

    @rule(one=contents, two=contents)
    def bring_a_history(self, one: str, two: str) -> None:
        first = self._made(one, tag=False)
        second = replace(first, updated_at=self._tick(), version=2, content=f"{two} {self.count}")
        history = History(versions=(first, second))
        self.all(lambda store: store.put_many(USERS[self.count % 2], [history]))
        self.model.keep(USERS[self.count % 2], *history.versions)

    @rule(chosen=numbers, content=st.none() | contents, gone=st.booleans(), hide=numbers)
    def change(self, chosen: int, content: str | None, gone: bool, hide: int) -> None:
        found = self._chosen(chosen)
        if found is None:
            return
        scope, memory = found
        last = memory.content.split()[-1]
        changed = replace(
            memory,
            content=memory.content if content is None else f"{content} {last}",
            version=memory.version + 1,
            updated_at=self._tick(),
            deleted_at=self.now if gone else None,
            sensitive=memory.sensitive or not hide,
        )
        concealed = []
        if changed.sensitive and not memory.sensitive:
            before = self.stores[0].versions(scope, memory.id)
            concealed = [replace(x, content="hidden", sensitive=True) for x in before]
        sealed = [_sealed(scope, x) for x in concealed]
        self.all(lambda store: store.replace(scope, changed, sealed=sealed, concealed=concealed))
        self.model.conceal(scope, *concealed)
        self.model.keep(scope, changed)

    @rule(chosen=numbers)
    def purge(self, chosen: int) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            for store in self.stores:
                store.purge(scope, [memory.id])
            self.model.forget(scope, memory.id)

    # ---- reading -------------------------------------------------------------------------------

    @rule(key=st.sampled_from(["first", "second", ""]), again=st.booleans())
    def use(self, key: str, again: bool) -> None:
        self.all(lambda store: store.use_extractor(key, again=again))
        self.model.use(key, again=again)

    @rule(limit=st.integers(1, 9))
    def claim(self, limit: int) -> None:
        now = self._tick()
        claims = [store.claim(["extract"], limit, now, now + MINUTE) for store in self.stores]
        first, *others = ([job._replace(number=0) for job in jobs] for jobs in claims)
        assert all(other == first for other in others)
        self.held.append(Claim(claims, [*map(self.model.job_of, first)]))

    @rule()
    def read(self) -> None:
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
        at = self._tick()
        found = [extraction(job.memory, job.target) for job in claim.jobs[0]]
        for store, jobs in zip(self.stores, claim.jobs, strict=True):
            store.finish_extraction(jobs, found, at)
        self.model.finish(claim.jobs[0], claim.numbers, found)

    @rule(chosen=numbers, name=names, place=st.integers(0, 3), given=st.booleans())
    def add_a_mention(self, chosen: int, name: str, place: int, given: bool) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            more = {memory.id: [mention(name, place)], MemoryId("none"): [mention("z", 1)]}
            self.all(lambda store: store.add_mentions(scope, more, given=given))
            self.model.add(scope, memory.id, mention(name, place), given=given)

    # ---- relations and merges ------------------------------------------------------------------

    @rule(one=names, two=names, chosen=numbers, alone=st.booleans())
    def add_a_statement(self, one: str, two: str, chosen: int, alone: bool) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            stated = Statement(mention(one, 1), "knows", mention(two, 1), weight=0.3)
            given = [(stated, [] if alone else [memory.id])]
            at = self._tick()
            self.all(lambda store: store.add_statements(scope, given, at, "import"))
            if not alone and one != two:
                self.model.state(scope, memory.id)

    @rule(scope=users, chosen=numbers, end=st.booleans())
    def retract(self, scope: Scope, chosen: int, end: bool) -> None:
        filter_, at = Filter(scope=scope, now=self.now), self._tick()

        def attempt(store: Store) -> tuple[bool, bool] | None:
            believed = [*store.all_relations(filter_)]
            if not believed:
                return None
            number = believed[chosen % len(believed)].number  # each store has numbers of its own
            if end:
                done = store.end_relation(scope, number, at - MINUTE, at)
            else:
                done = store.retract(scope, number, at)
            return done, store.retract(scope, number, at)

        assert self.all(attempt) in (None, (True, False))

    @rule(scope=users, alias=names, into=names)
    def merge(self, scope: Scope, alias: ConceptName, into: ConceptName) -> None:
        merge = Merge(alias=alias, into=into, reason="alike", score=0.5, merged_at=self._tick())
        self.all(lambda store: store.merge(scope, merge))

    @rule(scope=users, alias=names)
    def unmerge(self, scope: Scope, alias: ConceptName) -> None:
        at = self._tick()
        self.all(lambda store: store.unmerge(scope, alias, at))

    # ---- what they answer ----------------------------------------------------------------------

    @rule(scope=users, asked=st.lists(names), limit=st.integers(1, 3), role=st.sampled_from(Role))
    def ask(self, scope: Scope, asked: list[ConceptName], limit: int, role: Role) -> None:
        filter_ = Filter(scope=scope, now=self.now, categories=frozenset({"people"}))
        self.all(lambda store: store.mentioning(filter_, asked, limit, role))
        self.all(lambda store: _plain(store.relations(filter_, asked, limit)))
        self.all(lambda store: store.hubs(scope, limit, containing=str(asked[:1])))

    @rule(scope=users, back=st.integers(0, 30))
    def ask_of_then(self, scope: Scope, back: int) -> None:
        filter_ = Filter(scope=scope, now=self.now, as_of=self.now - back * MINUTE)
        self.all(lambda store: store.mentioning(filter_, LETTERS, 9))
        mentioned = self.all(lambda store: [*store.all_mentions(filter_)])
        assert isinstance(mentioned, list)
        assert {*mentioned} == self.model.mentioned(filter_, self._merged(scope))
        self.all(lambda store: _plain(store.all_relations(filter_)))

    def _merged(self, scope: Scope) -> dict[ConceptName, ConceptName]:
        return {merge.alias: merge.into for merge in self.stores[0].merges(scope)}

    def _compare(self, scope: Scope) -> None:
        ids = [MemoryId(f"m{number:04}") for number in range(self.count + 1)]
        filter_ = Filter(scope=scope, now=self.now)
        self.all(lambda store: store.concepts(scope, LETTERS))
        self.all(lambda store: store.known_names(scope, LETTERS))
        self.all(lambda store: store.hubs(scope, 9))
        self.all(lambda store: store.graph_counts(scope))
        self.all(lambda store: store.read_so_far(scope, 1_000))
        self.all(lambda store: store.merges(scope, undone=True))
        mentioned = self.all(lambda store: store.mentions_in(filter_, ids))
        assert isinstance(mentioned, list)
        assert {*mentioned} == self.model.mentioned(filter_, self._merged(scope))
        self.all(lambda store: store.mentioning(filter_, LETTERS, 3))
        self.all(lambda store: _plain(store.relations(filter_, LETTERS, 99)))
        self.all(lambda store: _plain(store.all_relations(filter_)))

    @invariant()
    def everything_is_the_same(self) -> None:
        for scope in USERS:
            self._compare(scope)
        self.all(lambda store: store.extractor())
        self.all(lambda store: store.work_counts(self.now))

    @invariant()
    def the_file_is_sound(self) -> None:
        assert [x for store in self.stores for x in store.check() if not x.good] == []


def _answer(store: Store, verb: Callable[[Store], object]) -> object:
    try:
        return verb(store)
    except (Conflict, NotFound) as exc:
        return exc.code


def _plain(relations: Iterable[Relation]) -> list[Relation]:
    """Relations without their numbers, which each store gives as it likes."""
    return [replace(relation, number=0) for relation in relations]


def _sealed(scope: Scope, memory: Memory) -> Sealed:
    return Sealed(
        owner=scope.user,
        id=memory.id,
        version=memory.version,
        key_id="key",
        nonce=b"0",
        ciphertext=b"hidden",
        fingerprint=f"{memory.id} {memory.version}".encode(),
    )


LIVES = settings(
    max_examples=20,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestGraph = GraphSideBySide.TestCase
TestGraph.settings = LIVES


def test_postgres_leads_the_same_lives(migrated_database: Callable[[], str]) -> None:
    lead_few_lives(lambda: GraphSideBySide(PostgresStore(migrated_database())), LIVES)
