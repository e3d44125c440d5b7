"""Random lives of the concept graph, led by every store side by side."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bearinmind.concepts import (
    ConceptName,
    Extraction,
    Kind,
    Mention,
    Merge,
    Role,
    Statement,
    name_of,
)
from bearinmind.errors import Conflict, NotFound
from bearinmind.protocols import History, Job, Sealed, Store
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import MemoryStore
from bearinmind.types import Filter, Memory, MemoryId, Provenance, Scope, UserId

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


class GraphSideBySide(RuleBasedStateMachine):
    """Whatever is done, all stores answer alike, and the file stays sound."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.stores: list[Store] = [SqliteStore(self.folder / "memories.db"), MemoryStore()]
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.count = 0
        self.held: list[list[list[Job]]] = []  # claims, each as every store gave it
        self.both(lambda store: store.use_extractor("first"))

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)

    def both(self, verb: Callable[[Store], object]) -> object:
        """What every store answered."""
        first, second = (_answer(store, verb) for store in self.stores)
        assert first == second
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
        memory = self.stores[1].get(scope, id_)
        return (scope, memory) if memory else None

    # ---- memories ------------------------------------------------------------------------------

    @rule(content=contents, tag=st.booleans(), now=st.booleans())
    def put(self, content: str, tag: bool, now: bool) -> None:
        memory = self._made(content, tag)
        self.both(lambda store: store.put(USERS[self.count % 2], memory))
        if now:
            self.read()

    @rule(one=contents, two=contents)
    def bring_a_history(self, one: str, two: str) -> None:
        first = self._made(one, tag=False)
        second = replace(first, updated_at=self._tick(), version=2, content=f"{two} {self.count}")
        history = History(versions=(first, second))
        self.both(lambda store: store.put_many(USERS[self.count % 2], [history]))

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
            before = self.stores[1].versions(scope, memory.id)
            concealed = [replace(x, content="hidden", sensitive=True) for x in before]
        sealed = [_sealed(scope, x) for x in concealed]
        self.both(lambda store: store.replace(scope, changed, sealed=sealed, concealed=concealed))

    @rule(chosen=numbers)
    def purge(self, chosen: int) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            self.both(lambda store: store.purge(scope, [memory.id]))

    # ---- reading -------------------------------------------------------------------------------

    @rule(key=st.sampled_from(["first", "second", ""]), again=st.booleans())
    def use(self, key: str, again: bool) -> None:
        self.both(lambda store: store.use_extractor(key, again=again))

    @rule(limit=st.integers(1, 9))
    def claim(self, limit: int) -> None:
        now = self._tick()
        claims = [store.claim(["extract"], limit, now, now + MINUTE) for store in self.stores]
        told = [[job._replace(number=0) for job in jobs] for jobs in claims]
        assert told[0] == told[1]
        self.held.append(claims)

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
        claims = self.held[-1 - late]
        if not keep:
            self.held.remove(claims)
        at = self._tick()
        for store, jobs in zip(self.stores, claims, strict=True):
            found = [extraction(job.memory, job.target) for job in jobs]
            store.finish_extraction(jobs, found, at)

    @rule(chosen=numbers, name=names, place=st.integers(0, 3), given=st.booleans())
    def add_a_mention(self, chosen: int, name: str, place: int, given: bool) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            more = {memory.id: [mention(name, place)], MemoryId("none"): [mention("z", 1)]}
            self.both(lambda store: store.add_mentions(scope, more, given=given))

    # ---- relations and merges ------------------------------------------------------------------

    @rule(one=names, two=names, chosen=numbers, alone=st.booleans())
    def add_a_statement(self, one: str, two: str, chosen: int, alone: bool) -> None:
        found = self._chosen(chosen)
        if found is not None:
            scope, memory = found
            stated = Statement(mention(one, 1), "knows", mention(two, 1), weight=0.3)
            given = [(stated, [] if alone else [memory.id])]
            at = self._tick()
            self.both(lambda store: store.add_statements(scope, given, at, "import"))

    @rule(scope=users, chosen=numbers, end=st.booleans())
    def retract(self, scope: Scope, chosen: int, end: bool) -> None:
        believed = [*self.stores[1].all_relations(Filter(scope=scope, now=self.now))]
        if believed:
            number, at = believed[chosen % len(believed)].number, self._tick()
            if end:
                self.both(lambda store: store.end_relation(scope, number, at - MINUTE, at))
            else:
                self.both(lambda store: store.retract(scope, number, at))
            self.both(lambda store: store.retract(scope, number, at))

    @rule(scope=users, alias=names, into=names)
    def merge(self, scope: Scope, alias: ConceptName, into: ConceptName) -> None:
        merge = Merge(alias=alias, into=into, reason="alike", score=0.5, merged_at=self._tick())
        self.both(lambda store: store.merge(scope, merge))

    @rule(scope=users, alias=names)
    def unmerge(self, scope: Scope, alias: ConceptName) -> None:
        at = self._tick()
        self.both(lambda store: store.unmerge(scope, alias, at))

    # ---- what they answer ----------------------------------------------------------------------

    @rule(scope=users, asked=st.lists(names), limit=st.integers(1, 3), role=st.sampled_from(Role))
    def ask(self, scope: Scope, asked: list[ConceptName], limit: int, role: Role) -> None:
        filter_ = Filter(scope=scope, now=self.now, categories=frozenset({"people"}))
        self.both(lambda store: store.mentioning(filter_, asked, limit, role))
        self.both(lambda store: store.relations(filter_, asked, limit))
        self.both(lambda store: store.hubs(scope, limit, containing=str(asked[:1])))

    @rule(scope=users, back=st.integers(0, 30))
    def ask_of_then(self, scope: Scope, back: int) -> None:
        filter_ = Filter(scope=scope, now=self.now, as_of=self.now - back * MINUTE)
        self.both(lambda store: store.mentioning(filter_, LETTERS, 9))
        self.both(lambda store: [*store.all_mentions(filter_)])
        self.both(lambda store: [*store.all_relations(filter_)])

    def _compare(self, scope: Scope) -> None:
        ids = [MemoryId(f"m{number:04}") for number in range(self.count + 1)]
        filter_ = Filter(scope=scope, now=self.now)
        self.both(lambda store: store.concepts(scope, LETTERS))
        self.both(lambda store: store.known_names(scope, LETTERS))
        self.both(lambda store: store.hubs(scope, 9))
        self.both(lambda store: store.graph_counts(scope))
        self.both(lambda store: store.read_so_far(scope, 1_000))
        self.both(lambda store: store.merges(scope, undone=True))
        self.both(lambda store: store.mentions_in(filter_, ids))
        self.both(lambda store: store.mentioning(filter_, LETTERS, 3))
        self.both(lambda store: store.relations(filter_, LETTERS, 99))
        self.both(lambda store: [*store.all_relations(filter_)])

    @invariant()
    def everything_is_the_same(self) -> None:
        for scope in USERS:
            self._compare(scope)
        self.both(lambda store: store.extractor())
        self.both(lambda store: store.work_counts(self.now))

    @invariant()
    def the_file_is_sound(self) -> None:
        assert [finding for finding in self.stores[0].check() if not finding.good] == []


def _answer(store: Store, verb: Callable[[Store], object]) -> object:
    try:
        return verb(store)
    except (Conflict, NotFound) as exc:
        return exc.code


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


TestGraphSideBySide = GraphSideBySide.TestCase
TestGraphSideBySide.settings = settings(
    max_examples=20,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
