"""Whatever many users do, nobody ever reads what the model says is invisible, in any leg."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from plain_reading import mention, states
from recollect import analysis
from recollect.concepts import ConceptName, Extraction, Merge, Role, name_of
from recollect.errors import Conflict, NotFound
from recollect.protocols import AuditEntry, History, Page, Sealed, Store
from recollect.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    Space,
    State,
)
from tenants import Tenants, alike

MINUTE = timedelta(minutes=1)
WORDS = ["heron", "otter", "gannet", "dunlin"]
IDS = [MemoryId(f"m{number:02}") for number in range(6)]  # the same for all: each has some of them
SPACE = Space(model="compass", revision="1", dimensions=4)
HIDDEN = "[sensitive]"

numbers = st.integers(0, 99)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
ids = st.sampled_from(IDS)
names = st.sampled_from([name_of(word) for word in WORDS])
tags = st.lists(st.sampled_from(["red", "blue"]), max_size=2, unique=True).map(tuple)
filters = st.fixed_dictionaries(
    {
        "categories": st.sampled_from([frozenset(), frozenset({"people"})]),
        "tags": st.sampled_from([frozenset(), frozenset({"red"})]),
        "project": st.sampled_from([None, "sea"]),
    }
)
_lives = count()


def vector_of(memory: Memory) -> np.ndarray:
    """The vector of a memory, which no other content has."""
    seed = int.from_bytes(analysis.fingerprint(memory.content)[:4])
    made = np.random.default_rng(seed).standard_normal(4)
    return np.asarray(made / np.linalg.norm(made), np.float32)


def extraction_of(memory: Memory) -> Extraction:
    """Every word is a concept, and the first knows the last."""
    said = memory.content.split()
    mentions = [mention(word, Role.SUBJECT if n == 0 else Role.NAME) for n, word in enumerate(said)]
    return Extraction(tuple(mentions), (states(said[0], "knows", said[-1]),))


class ManyTenants(RuleBasedStateMachine):
    """Users with look-alike names live in one store, beside all that others did there before."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.users = self.alike = alike(f"ada{next(_lives)}.")
        self.outsider = Scope(user=self.users[0].user[:-1])  # its name begins all of the others
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.model = Tenants()
        self.made = 0
        self.names: dict[Scope, set[ConceptName]] = defaultdict(set)
        self.linked: dict[Scope, set[tuple[MemoryId, str, MemoryId]]] = defaultdict(set)
        self.noted: dict[Scope, list[AuditEntry]] = defaultdict(list)
        self.sealed: dict[Scope, set[tuple[MemoryId, int]]] = defaultdict(set)
        store.use_space(SPACE)
        store.use_extractor("words")

    @initialize(chosen=st.sets(numbers, min_size=2, max_size=4), marked_alike=st.booleans())
    def arrive(self, chosen: set[int], marked_alike: bool) -> None:
        """Few enough that each comes to have something."""
        others = sorted({number % len(self.alike) for number in chosen})
        self.users = self.alike[-2:] if marked_alike else [self.alike[n] for n in others]

    def _user(self, chosen: int) -> Scope:
        return self.users[chosen % len(self.users)]

    def _tick(self) -> datetime:
        self.now += MINUTE
        return self.now

    def _made(self, id_: MemoryId, said: str, labels: tuple[str, ...]) -> Memory:
        """A memory with a word that no other memory has."""
        self.made += 1
        at = self._tick()
        return Memory(
            id=id_,
            owner=self.outsider.user,  # the scope decides, whatever the memory says
            content=f"{said} only{self.made}",
            category="people" if self.made % 2 else "facts",
            tags=labels,
            keywords=(),
            importance=0.5,
            sensitive=False,
            created_at=at,
            updated_at=at,
            deleted_at=None,
            valid_from=None,
            valid_to=None,
            provenance=Provenance(project="sea" if self.made % 3 else None),
            version=1,
        )

    def _keep(self, scope: Scope, *versions: Memory) -> None:
        for memory in versions:
            self.model.keep(scope, memory)
            if not memory.sensitive:
                self.names[scope] |= {name_of(word) for word in memory.content.split()}

    # ---- memories ------------------------------------------------------------------------------

    @rule(chosen=numbers, id_=ids, said=words, labels=tags, old=st.none() | ids)
    def put(
        self, chosen: int, id_: MemoryId, said: str, labels: tuple[str, ...], old: MemoryId | None
    ) -> None:
        scope, memory = self._user(chosen), self._made(id_, said, labels)
        supersedes = old is not None and old != id_ and old in self.model.present(scope)
        links = [self._link(id_, LinkKind.SUPERSEDES, old)] if old and supersedes else []
        if _done(lambda: self.store.put(scope, memory, links)):
            self._keep(scope, memory)
            self.linked[scope] |= {(each.source, each.kind, each.target) for each in links}

    @rule(chosen=numbers, id_=ids, said=words, labels=tags)
    def bring_a_history(
        self, chosen: int, id_: MemoryId, said: str, labels: tuple[str, ...]
    ) -> None:
        scope, first = self._user(chosen), self._made(id_, said, labels)
        second = replace(
            first, content=f"{first.content} later", version=2, updated_at=self._tick()
        )
        if self.store.put_many(scope, [History(versions=(first, second))]) != [None]:
            self._keep(scope, first, second)

    @rule(chosen=numbers, id_=ids, said=words, delete=st.booleans())
    def change(self, chosen: int, id_: MemoryId, said: str, delete: bool) -> None:
        """Anybody tries to change any memory; it succeeds for those who have it."""
        scope = self._user(chosen)
        known = self.model.present(scope).get(id_) or self._anybodys(id_)
        if known is None or known.sensitive:
            return
        changed = replace(
            known,
            content=f"{said} only{self.made}",
            version=known.version + 1,
            updated_at=self._tick(),
            deleted_at=self.now if delete else None,
        )
        self.made += 1
        if _done(lambda: self.store.replace(scope, changed)):
            assert id_ in self.model.present(scope)
            self._keep(scope, changed)

    @rule(chosen=numbers, id_=ids)
    def hide(self, chosen: int, id_: MemoryId) -> None:
        scope = self._user(chosen)
        known = self.model.present(scope).get(id_)
        if known is None or known.sensitive:
            return
        before = [x for x in self.model.versions(scope) if x.id == id_ and not x.sensitive]
        hidden = [replace(each, content=HIDDEN, sensitive=True) for each in before]
        last = replace(hidden[-1], version=known.version + 1, updated_at=self._tick())
        records = [_sealed(scope, each) for each in (*hidden, last)]
        self.store.replace(scope, last, sealed=records, concealed=hidden)
        self.model.conceal(scope, id_, HIDDEN)
        self._keep(scope, last)
        self.sealed[scope] |= {(each.id, each.version) for each in records}

    @rule(chosen=numbers, id_=ids)
    def purge(self, chosen: int, id_: MemoryId) -> None:
        scope = self._user(chosen)
        self.store.purge(scope, [id_])
        self.model.purge(scope, id_)
        self.sealed[scope] = {each for each in self.sealed[scope] if each[0] != id_}

    def _anybodys(self, id_: MemoryId) -> Memory | None:
        return next((each.memory for each in self.model.held if each.memory.id == id_), None)

    # ---- links, secrets, vectors, the graph ----------------------------------------------------

    def _link(self, source: MemoryId, kind: LinkKind, target: MemoryId) -> Link:
        return Link(source=source, target=target, kind=kind, created_at=self.now)

    @rule(chosen=numbers, one=ids, two=ids, kind=st.sampled_from(LinkKind), undo=st.booleans())
    def link(self, chosen: int, one: MemoryId, two: MemoryId, kind: LinkKind, undo: bool) -> None:
        scope, made = self._user(chosen), self._link(one, kind, two)
        if one != two and {one, two} <= {*self.model.present(scope)}:
            if _done(lambda: self.store.add_link(scope, made)):
                self.linked[scope].add((one, kind, two))
            closed = replace(made, removed_at=self._tick())
            assert self.store.remove_link(self.outsider, closed) is False
            if undo:
                self.store.remove_link(scope, closed)

    @rule(chosen=numbers, id_=ids)
    def note(self, chosen: int, id_: MemoryId) -> None:
        scope = self._user(chosen)
        entry = AuditEntry(self._tick(), scope.user, "get", id_, 1, "agent")
        self.store.note(entry)
        self.noted[scope].insert(0, entry)

    @rule()
    def embed(self) -> None:
        jobs = self.store.claim(["embed"], 999, self._tick(), self.now + MINUTE)
        if jobs:
            vectors = np.array([vector_of(job.memory) for job in jobs], np.float32)
            self.store.finish_embedding(SPACE, jobs, vectors)

    @rule()
    def read(self) -> None:
        jobs = self.store.claim(["extract"], 999, self._tick(), self.now + MINUTE)
        found = [extraction_of(job.memory) for job in jobs]
        self.store.finish_extraction(jobs, found, self.now)

    @rule(chosen=numbers, alias=names, into=names, undo=st.booleans())
    def merge(self, chosen: int, alias: ConceptName, into: ConceptName, undo: bool) -> None:
        scope = self._user(chosen)
        merge = Merge(alias=alias, into=into, reason="alike", score=0.5, merged_at=self._tick())
        _done(lambda: self.store.merge(scope, merge))
        if undo:
            self.store.unmerge(scope, alias, self._tick())

    @rule(chosen=numbers, id_=ids, word=st.sampled_from(WORDS))
    def give(self, chosen: int, id_: MemoryId, word: str) -> None:
        """Somebody says what a memory mentions and states, whether it is theirs or not."""
        scope = self._user(chosen)
        said = f"given{self.made}"
        readable = self.model.present(scope).get(id_)
        theirs = readable is not None and not readable.sensitive and readable.deleted_at is None
        stated = states(said, "knows", word)
        new = self.store.add_mentions(scope, {id_: [mention(said)]}, given=True)
        kept = self.store.add_statements(scope, [(stated, [id_])], self._tick(), "import")
        assert bool(new or kept) <= theirs
        if theirs:
            self.names[scope] |= {name_of(said), name_of(word)}

    @rule(chosen=numbers, of=numbers, end=st.booleans())
    def retract(self, chosen: int, of: int, end: bool) -> None:
        """Somebody names a relation by its number, which may be another's number too."""
        scope, other = self._user(chosen), self._user(of)
        believed = [*self.store.all_relations(Filter(scope=other, now=self.now))]
        own = {each.number for each in self.store.all_relations(Filter(scope=scope, now=self.now))}
        for relation in believed[:1]:
            at = self._tick()
            if end:
                done = self.store.end_relation(scope, relation.number, at - MINUTE, at)
            else:
                done = self.store.retract(scope, relation.number, at)
            assert done <= (relation.number in own)

    # ---- what is seen --------------------------------------------------------------------------

    @rule(chosen=numbers, asked=filters, back=st.none() | st.integers(0, 40))
    def look(self, chosen: int, asked: dict[str, object], back: int | None) -> None:
        as_of = None if back is None else self.now - back * MINUTE
        scope = self._user(chosen)
        self._look(Filter(scope=scope, now=self.now, as_of=as_of, **asked))  # type: ignore[arg-type]

    def teardown(self) -> None:
        for scope in (*self.users, self.outsider):
            self._look(Filter(scope=scope, now=self.now))

    def _look(self, filter_: Filter) -> None:
        self._look_at_memories(filter_)
        self._look_by_words(filter_)
        self._look_by_meaning(filter_)
        self._look_at_the_graph(filter_)
        self._look_at_secrets(filter_.scope)

    def _look_at_memories(self, filter_: Filter) -> None:
        store, scope, as_of = self.store, filter_.scope, filter_.as_of
        versions = self.model.versions(scope)
        present = self.model.present(scope)
        assert store.get_many(scope, IDS, as_of) == self.model.present(scope, as_of)
        for id_ in IDS:
            assert store.get(scope, id_) == present.get(id_)
            assert store.versions(scope, id_) == [each for each in versions if each.id == id_]
        assert store.resolve(scope, "m", 99) == sorted({each.id for each in versions})
        browsed = store.browse(replace(filter_, states=frozenset(State)), Page(limit=99))
        assert {each.id: each for each in browsed} == self.model.admitted(filter_)
        facts = store.statistics(scope, self.now)
        assert facts.live + facts.superseded + facts.expired + facts.deleted == len(present)
        assert facts.earlier_versions == len(versions) - len(present)
        links = [*store.links(scope, IDS, as_of), *store.superseding(scope, IDS, as_of)]
        own = self.linked[scope]
        assert {(x.source, x.kind, x.target) for x in (*links, *store.all_links(scope))} <= own
        assert store.has_links(scope) <= bool(own)

    def _look_by_words(self, filter_: Filter) -> None:
        everybodys = [*WORDS, *(f"only{number}" for number in range(self.made + 1))]
        statistics = self.store.lexical_statistics(filter_.scope, everybodys)
        held = [x for x in self.model.versions(filter_.scope) if x.deleted_at is None]
        if statistics.own:  # else a file counts all that it holds
            assert statistics.total == len(held)
            expected = {term: sum(_holds(x, term) for x in held) for term in everybodys}
            assert dict(statistics.frequency) == expected
        admitted = self._findable(filter_)
        for terms in (everybodys, WORDS[:1]):
            found = self.store.lexical_matches(filter_, terms, every=False, limit=999)
            assert {match.id: match.load() for match in found} == {
                id_: x for id_, x in admitted.items() if any(_holds(x, term) for term in terms)
            }
        every = self.store.lexical_matches(filter_, WORDS[:2], every=True, limit=999)
        assert {match.id for match in every} <= {*admitted}

    def _findable(self, filter_: Filter) -> dict[MemoryId, Memory]:
        admitted = self.model.admitted(filter_)
        return {id_: memory for id_, memory in admitted.items() if memory.deleted_at is None}

    def _look_by_meaning(self, filter_: Filter) -> None:
        query = vector_of(self.model.held[0].memory) if self.model.held else np.eye(4)[0]
        asked = np.asarray(query, np.float32)
        answer = self.store.nearest(filter_, SPACE, asked, 99)
        cosines = self.store.cosines(filter_, SPACE, asked, IDS)
        admitted = self._findable(filter_)
        for id_, cosine in (*answer.nearest, *cosines.items()):
            assert id_ in admitted
            assert not admitted[id_].sensitive
            assert cosine == pytest.approx(float(vector_of(admitted[id_]) @ query), abs=3e-3)
        assert max(answer.searched, answer.population) <= len(self.model.present(filter_.scope))

    def _look_at_the_graph(self, filter_: Filter) -> None:
        store, scope = self.store, filter_.scope
        everybodys = {*self._names_of_all()}
        mentioned = [
            *store.mentions_in(filter_, IDS),
            *store.mentioning(filter_, everybodys, 99),
            *store.mentioning(filter_, everybodys, 99, Role.SUBJECT),
            *store.all_mentions(filter_),
        ]
        related = [*store.relations(filter_, everybodys, 999), *store.all_relations(filter_)]
        concepts = [*store.concepts(scope, everybodys).values(), *store.hubs(scope, 999)]
        concepts += store.hubs(scope, 999, containing="e")
        merges = store.merges(scope, undone=True)
        admitted = self._findable(filter_)
        assert {each.id for each in mentioned} <= {*admitted}
        assert {id_ for each in related for id_ in each.evidence} <= {*admitted}
        seen = {each.concept for each in mentioned} | store.known_names(scope, everybodys)
        seen |= {name for each in related for name in (each.source, each.target)}
        seen |= {name for each in concepts for name in (each.name, *each.aliases)}
        seen |= {name for each in merges for name in (each.alias, each.into)}
        assert seen <= self.names[scope]
        most = len(self.model.present(scope)) * len(WORDS)  # a concept may stand for all words
        assert all(each.memories <= most for each in (*mentioned, *concepts))
        counts, so_far = store.graph_counts(scope), store.read_so_far(scope, 999)
        assert counts.concepts <= len(self.names[scope])
        assert max(counts.waiting, so_far.waiting) <= len(self.model.present(scope))
        assert so_far.has_concepts <= bool(self.names[scope])

    def _names_of_all(self) -> Iterator[ConceptName]:
        for own in self.names.values():
            yield from own

    def _look_at_secrets(self, scope: Scope) -> None:
        records = [record for id_ in IDS for record in self.store.sealed(scope, id_)]
        assert {record.owner for record in records} <= {scope.user}
        assert {(record.id, record.version) for record in records} == self.sealed[scope]
        present = self.model.present(scope).values()
        hidden = {x.id for x in present if x.sensitive and x.deleted_at is None}
        assert {memory.id for memory in self.store.sensitive(scope)} == hidden
        assert self.store.audit(scope, 999) == self.noted[scope]


def _done(verb: Callable[[], object]) -> bool:
    """Whether it was done; what contradicts what is stored is not."""
    try:
        verb()
    except (Conflict, NotFound):
        return False
    return True


def _holds(memory: Memory, term: str) -> bool:
    lines: Iterable[object] = analysis.entry(memory)
    return any(f" {term} " in line for line in lines if isinstance(line, str))


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


def test_nobody_sees_what_the_model_says_is_invisible(store: Store) -> None:
    run_state_machine_as_test(
        lambda: ManyTenants(store),
        settings=settings(
            max_examples=8,
            stateful_step_count=50,
            derandomize=True,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    findings = store.check()
    assert all(finding.good for finding in findings), findings
