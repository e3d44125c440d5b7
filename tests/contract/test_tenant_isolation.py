"""Whatever many users do, nobody ever reads what the model says is invisible, in any leg."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count, permutations

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from bearinmind.concepts import ConceptName, Extraction, Merge, Role
from bearinmind.errors import Conflict, NotAllowed, NotFound
from bearinmind.protocols import AuditEntry, History, Store
from bearinmind.text.names import name_of
from bearinmind.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Right,
    Scope,
    Share,
    UserId,
)
from support.extractors import mention, states
from support.tenant_views import IDS, SPACE, WORDS, Looking, vector_of
from support.tenants import Tenants, Thing, alike, sealed

MINUTE = timedelta(minutes=1)
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
        self.outsider = Scope(user=UserId(self.users[0].user[:-1]))  # all others begin with it
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.model = Tenants()
        self.made = 0
        store.use_space(SPACE)
        store.use_extractor("words")

    @initialize(chosen=st.sets(numbers, min_size=2, max_size=4), marked_alike=st.booleans())
    def arrive(self, chosen: set[int], marked_alike: bool) -> None:
        """Few enough that each comes to have much; what has a number has the same for all."""
        others = sorted({number % len(self.alike) for number in chosen})
        self.users = self.alike[-2:] if marked_alike else [self.alike[n] for n in others]
        for user in range(len(self.users)):
            for number, id_ in enumerate(IDS[:3]):
                if (user + number) % 2:
                    self.put(user, id_, "heron otter", ("red",), None)
                else:
                    self.bring_a_history(user, id_, "otter gannet", ())
        for user in range(len(self.users)):
            self.share(user, user + 1, IDS[0], write=True)
            self.share(user, user + 1, "red", write=False)
        self.embed()
        self.read()

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

    # ---- memories ------------------------------------------------------------------------------

    @rule(chosen=numbers, id_=ids, said=words, labels=tags, old=st.none() | ids)
    def put(
        self, chosen: int, id_: MemoryId, said: str, labels: tuple[str, ...], old: MemoryId | None
    ) -> None:
        scope, memory = self._user(chosen), self._made(id_, said, labels)
        supersedes = old is not None and old != id_ and old in self.model.present(scope)
        links = [self._link(id_, LinkKind.SUPERSEDES, old)] if old and supersedes else []
        if _done(lambda: self.store.put(scope, memory, links)):
            self.model.keep(scope, memory)
            for each in links:
                self.model.link(scope, each)

    @rule(chosen=numbers, id_=ids, said=words, labels=tags)
    def bring_a_history(
        self, chosen: int, id_: MemoryId, said: str, labels: tuple[str, ...]
    ) -> None:
        scope, first = self._user(chosen), self._made(id_, said, labels)
        second = replace(
            first, content=f"{first.content} later", version=2, updated_at=self._tick()
        )
        if self.store.put_many(scope, [History(versions=(first, second))]) != [None]:
            self.model.keep(scope, first)
            self.model.keep(scope, second)

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
            self.model.keep(scope, changed)

    @rule(chosen=numbers, id_=ids)
    def hide(self, chosen: int, id_: MemoryId) -> None:
        scope = self._user(chosen)
        known = self.model.present(scope).get(id_)
        if known is None or known.sensitive:
            return
        before = [x for x in self.model.versions(scope) if x.id == id_ and not x.sensitive]
        hidden = [replace(each, content=HIDDEN, sensitive=True) for each in before]
        last = replace(hidden[-1], version=known.version + 1, updated_at=self._tick())
        records = [sealed(scope, each) for each in (*hidden, last)]
        self.store.replace(scope, last, sealed=records, concealed=hidden)
        self.model.conceal(scope, id_, HIDDEN)
        self.model.keep(scope, last)
        self.model.sealed[scope] |= {(each.id, each.version) for each in records}

    @rule(chosen=numbers, id_=ids)
    def purge(self, chosen: int, id_: MemoryId) -> None:
        scope = self._user(chosen)
        self.store.purge(scope, [id_])
        self.model.purge(scope, id_)

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
                self.model.link(scope, made)
            closed = replace(made, removed_at=self._tick())
            assert self.store.remove_link(self.outsider, closed) is False
            if undo:
                self.store.remove_link(scope, closed)
                self.model.unlink(scope, made)

    @rule(chosen=numbers, id_=ids)
    def note(self, chosen: int, id_: MemoryId) -> None:
        scope = self._user(chosen)
        entry = AuditEntry(self._tick(), scope.user, "get", id_, 1, "agent")
        self.store.note(entry)
        self.model.noted[scope].insert(0, entry)

    @rule()
    def embed(self) -> None:
        jobs = self.store.claim(["embed"], 999, self._tick(), self.now + MINUTE)
        if jobs:
            vectors = np.array([vector_of(job.memory) for job in jobs], np.float32)
            self.store.finish_embedding(SPACE, jobs, vectors)
            self.model.embedded |= {job.memory for job in jobs}

    @rule()
    def read(self) -> None:
        jobs = self.store.claim(["extract"], 999, self._tick(), self.now + MINUTE)
        found = [extraction_of(job.memory) for job in jobs]
        self.store.finish_extraction(jobs, found, self.now)
        self.model.read |= {job.memory for job in jobs}
        for job, each in zip(jobs, found, strict=True):
            self.model.mentions[job.memory] |= {mention.name for mention in each.mentions}

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
        if readable and theirs:
            self.model.names[scope] |= {name_of(said), name_of(word)}
            self.model.read.add(readable)
            self.model.mentions[readable].add(name_of(said))

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

    # ---- shares --------------------------------------------------------------------------------

    @rule(
        chosen=numbers, to=numbers, what=ids | st.sampled_from(["red", "blue"]), write=st.booleans()
    )
    def share(self, chosen: int, to: int, what: str, write: bool) -> None:
        """Somebody shares a memory that is perhaps not theirs, or whatever has a tag."""
        owner, reader = self._user(chosen), self._user(to)
        right = Right.WRITE if write else Right.READ
        thing = _thing(owner, reader, what)
        if owner != reader and _done(
            lambda: self.store.add_share(owner, self._share(thing, right))
        ):
            self.model.shares[thing] = right

    @rule(chosen=numbers, number=numbers)
    def end_a_share(self, chosen: int, number: int) -> None:
        """Somebody ends a share; it succeeds for who has made it."""
        things = sorted(self.model.shares, key=str)
        for thing in things[number % len(things) :][:1] if things else []:
            owner = self._user(chosen)
            made = self._share(thing, Right.READ)
            share = replace(made, ended_at=self._tick())
            same = thing._replace(owner=owner.user)
            assert self.store.end_share(owner, share) == (same in self.model.shares)
            self.model.shares.pop(same, None)

    @rule(
        chosen=numbers, to=numbers, id_=ids, said=words, delete=st.booleans(), retag=st.booleans()
    )
    def change_as_reader(
        self, chosen: int, to: int, id_: MemoryId, said: str, delete: bool, retag: bool
    ) -> None:
        """Anybody tries to change anybody's memory; it succeeds for who may write it."""
        owner, reader = self._user(chosen), self._user(to)
        known = self.model.present(owner).get(id_)
        if known is None or owner == reader:
            return
        as_reader = Filter(scope=owner, reader=reader.user, now=self.now)
        changed = replace(
            known,
            content=f"{said} only{self.made}",
            tags=("red",) if retag else known.tags,
            version=known.version + 1,
            updated_at=self._tick(),
            deleted_at=self.now if delete else None,
        )
        self.made += 1
        replaced = self.model.replaced(owner)
        may = self.model.right(as_reader, known) is Right.WRITE and id_ not in replaced
        try:
            self.store.replace_shared(as_reader, changed)
        except NotAllowed:
            assert not may or changed.tags != known.tags
        else:
            assert may
            assert changed.tags == known.tags
            self.model.keep(owner, changed)

    def _share(self, thing: Thing, right: Right) -> Share:
        return Share(
            owner=thing.owner,
            reader=thing.reader,
            right=right,
            memory=thing.id,
            tag=thing.tag,
            created_at=self._tick(),
        )

    # ---- what is seen --------------------------------------------------------------------------

    @rule(chosen=numbers, asked=filters, back=st.none() | st.integers(0, 40))
    def look(self, chosen: int, asked: dict[str, object], back: int | None) -> None:
        as_of = None if back is None else self.now - back * MINUTE
        scope = self._user(chosen)
        filter_ = Filter(scope=scope, now=self.now, as_of=as_of, **asked)  # type: ignore[arg-type]
        Looking(self.store, self.model, filter_).everywhere()

    @rule(chosen=numbers, to=numbers, asked=filters, back=st.none() | st.integers(0, 40))
    def look_as_reader(
        self, chosen: int, to: int, asked: dict[str, object], back: int | None
    ) -> None:
        as_of = None if back is None or back % 4 else self.now - back * MINUTE
        owner, reader = self._user(chosen), self._user(to)
        if owner != reader:
            filter_ = Filter(scope=owner, reader=reader.user, now=self.now, as_of=as_of, **asked)  # type: ignore[arg-type]
            Looking(self.store, self.model, filter_).as_reader()

    def teardown(self) -> None:
        for owner, reader in permutations([*self.users, self.outsider], 2):
            filter_ = Filter(scope=owner, reader=reader.user, now=self.now)
            Looking(self.store, self.model, filter_).as_reader()
        for scope in (*self.users, self.outsider):
            everything = Filter(scope=scope, now=self.now)
            red = replace(everything, tags=frozenset({"red"}))
            people = replace(everything, categories=frozenset({"people"}))
            for filter_ in (everything, red, people):
                Looking(self.store, self.model, filter_).everywhere()


def _thing(owner: Scope, reader: Scope, what: str) -> Thing:
    """What is shared: an id, or a tag."""
    id_ = MemoryId(what) if what in IDS else None
    return Thing(owner.user, reader.user, id_, None if id_ else what)


def _done(verb: Callable[[], object]) -> bool:
    """Whether it was done; what contradicts what is stored is not."""
    try:
        verb()
    except (Conflict, NotFound):
        return False
    return True


def test_nobody_sees_what_the_model_says_is_invisible(store: Store) -> None:
    run_state_machine_as_test(
        lambda: ManyTenants(store),  # type: ignore[arg-type]  # whatever makes one will do
        settings=settings(
            max_examples=6,
            stateful_step_count=50,
            derandomize=True,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    findings = store.check()
    assert all(finding.good for finding in findings), findings
