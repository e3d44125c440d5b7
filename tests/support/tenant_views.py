"""Everything that one user can see of a store, held against a model of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bearinmind.concepts import Role
from bearinmind.protocols import Page, Store
from bearinmind.recall import history
from bearinmind.recall.history import Whose, listing
from bearinmind.text import analysis
from bearinmind.types import Filter, Link, Memory, MemoryId, Scope, Space, State
from support.tenants import Edge, Tenants, Thing

WORDS = ["heron", "otter", "gannet", "dunlin"]
IDS = [MemoryId(f"m{number:02}") for number in range(6)]  # the same for all: each has some of them
SPACE = Space(model="compass", revision="1", dimensions=4)
_MANY = 999


def vector_of(memory: Memory) -> np.ndarray:
    """The vector of a memory, which no other content has."""
    seed = int.from_bytes(analysis.fingerprint(memory.content)[:4])
    made = np.random.default_rng(seed).standard_normal(4)
    return np.asarray(made / np.linalg.norm(made), np.float32)


@dataclass(frozen=True, slots=True)
class Looking:
    """Asks a store for what a filter admits, in every way there is, and compares."""

    store: Store
    model: Tenants
    filter: Filter

    @property
    def scope(self) -> Scope:
        return self.filter.scope

    def everywhere(self) -> None:
        self.at_memories()
        self.at_lists()
        self.at_links()
        self.by_words()
        self.by_meaning()
        self.at_concepts()
        self.at_the_graph()
        self.at_secrets()

    def as_reader(self) -> None:
        """What somebody sees by whom the filter is read: what is shared, and nothing beside."""
        self.at_shared_memories()
        self.at_shared_words()
        self.by_matching()
        self.by_meaning()
        self.at_shared_concepts()
        self.at_evidence()

    def at_memories(self) -> None:
        store, scope, as_of = self.store, self.scope, self.filter.as_of
        versions, present = self.model.versions(scope), self.model.present(scope)
        assert store.get_many(scope, IDS, as_of) == self.model.present(scope, as_of)
        for id_ in IDS:
            assert store.get(scope, id_) == present.get(id_)
            assert store.versions(scope, id_) == [each for each in versions if each.id == id_]
        assert store.resolve(scope, "m", _MANY) == sorted({each.id for each in versions})
        self._browse()
        facts = store.statistics(scope, self.filter.now)
        assert facts.held == len(present)
        assert facts.earlier_versions == len(versions) - len(present)
        assert sum(facts.categories.values()) == facts.live

    def _browse(self) -> None:
        for newest_first in (True, False):
            page = Page(limit=_MANY, newest_first=newest_first)
            browsed = self.store.browse(replace(self.filter, states=frozenset(State)), page)
            assert {each.id: each for each in browsed} == self.model.admitted(self.filter)

    def at_lists(self) -> None:
        """A list and a timeline have what can be seen of everybody, and nothing beside."""
        meant = replace(self.filter, states=frozenset(State))
        visible = self.model.visible_to(meant)
        seen = listing(self.store, meant)
        assert seen.browse(Page(limit=_MANY)) == visible[::-1]
        assert sum(seen.counts()) == len(visible)
        others = listing(self.store, meant, Whose.OTHERS).browse(Page(limit=_MANY))
        assert others == [each for each in visible[::-1] if each.owner != self.scope.user]
        for anchor in visible[len(visible) // 2 :][:1]:
            around = history.timeline(seen.browse, anchor, before=_MANY, after=_MANY)
            assert [*around.before, anchor, *around.after] == visible

    def at_shared_memories(self) -> None:
        store, filter_, admitted = self.store, self.filter, self.model.admitted(self.filter)
        self._browse()
        assert store.visible(filter_, IDS) == admitted
        assert store.visible_beginning(filter_, "m", _MANY) == sorted(admitted)
        rights = {id_: self.model.right(filter_, memory) for id_, memory in admitted.items()}
        assert store.rights(filter_, IDS) == rights
        given = {thing for thing in self.model.shares if thing.reader == filter_.reader}
        assert filter_.reader is not None
        assert {*store.sharers(filter_.reader)} == {thing.owner for thing in given}
        told = store.shared_with(filter_.reader)
        assert {Thing(x.owner, x.reader, x.memory, x.tag) for x in told} == given
        assert all(
            x.right == self.model.shares[Thing(x.owner, x.reader, x.memory, x.tag)] for x in told
        )

    def at_links(self) -> None:
        store, scope, as_of = self.store, self.scope, self.filter.as_of
        own = self.model.links[scope]
        assert _edges(store.all_links(scope)) == own
        assert _edges(store.links(scope, IDS)) == self.model.holding[scope]
        assert _edges(store.links(scope, IDS, as_of)) <= own
        assert _edges(store.newer(scope, IDS, as_of)) <= own
        assert store.has_links(scope) == bool(own)

    def by_words(self) -> None:
        everybodys = [*WORDS, *{word for own in self.model.names.values() for word in own}]
        held = [each for each in self.model.versions(self.scope) if each.deleted_at is None]
        statistics = self.store.lexical_statistics(self.scope, everybodys)
        assert statistics.total == len(held)
        said = self.model.said[self.scope]  # how frequent a term is may be remembered
        assert all(count <= said[term] for term, count in statistics.frequency.items())
        self.by_matching()

    def at_shared_words(self) -> None:
        """Of what is not shared no word is counted."""
        seen = [*self.model.shared(self.filter).values()]
        everybodys = [*WORDS, *{word for own in self.model.names.values() for word in own}]
        statistics = self.store.visible_statistics(self.filter, everybodys)
        assert statistics.total == len(seen)
        lengths = [analysis.entry(memory).length for memory in seen]
        assert statistics.average_length == pytest.approx(sum(lengths) / (len(seen) or 1))
        assert statistics.frequency == {
            term: sum(_holds(memory, term) for memory in seen) for term in everybodys
        }

    def by_matching(self) -> None:
        everybodys = [*WORDS, *{word for own in self.model.names.values() for word in own}]
        findable = self.model.findable(self.filter)
        for terms in (everybodys, WORDS[:1], WORDS[:2]):
            for every, enough in ((False, any), (True, all)):
                found = self.store.lexical_matches(self.filter, terms, every=every, limit=_MANY)
                assert {match.id: match.load() for match in found} == {
                    id_: memory
                    for id_, memory in findable.items()
                    if enough(_holds(memory, term) for term in terms)
                }

    def by_meaning(self) -> None:
        query = vector_of(self.model.held[0].memory) if self.model.held else np.eye(4)[0]
        asked = np.asarray(query, np.float32)
        answer = self.store.nearest(self.filter, SPACE, asked, _MANY)
        embedded = {
            id_: pytest.approx(float(vector_of(memory) @ query), abs=3e-3)
            for id_, memory in self.model.findable(self.filter).items()
            if memory in self.model.embedded and not memory.sensitive
        }
        assert dict(answer.nearest) == embedded
        assert self.store.cosines(self.filter, SPACE, asked, IDS) == embedded
        assert answer.searched == len(embedded)
        assert answer.population <= len(self.model.present(self.scope))
        if self.filter.reader is not None:
            assert answer.population == len(embedded)
            cosines = [near.cosine for near in answer.nearest] or [0.0]
            assert answer.mean == pytest.approx(np.mean(cosines), abs=3e-3)
            assert answer.deviation == pytest.approx(np.std(cosines), abs=3e-3)

    def at_concepts(self) -> None:
        store, scope, own = self.store, self.scope, self.model.names[self.scope]
        everybodys = {name for names in self.model.names.values() for name in names}
        concepts = {each.name: each for each in store.concepts(scope, everybodys).values()}
        mentioned = [each for each in concepts.values() if each.memories]
        mentioned.sort(key=lambda each: (-each.memories, each.name))
        assert store.hubs(scope, _MANY) == mentioned
        assert {each.name for each in store.hubs(scope, _MANY, containing="e")} <= {*concepts}
        merges = store.merges(scope, undone=True)
        seen = {name for each in concepts.values() for name in (each.name, *each.aliases)}
        seen |= {name for each in merges for name in (each.alias, each.into)}
        assert seen | store.known_names(scope, everybodys) <= own
        assert all(each.memories <= self._most for each in mentioned)
        counts, so_far = store.graph_counts(scope), store.read_so_far(scope, _MANY)
        assert counts.concepts <= len(own)
        assert max(counts.waiting, so_far.waiting) <= len(self.model.present(scope))
        assert so_far.has_concepts <= bool(own)

    @property
    def _most(self) -> int:
        """Mentions that one concept can have; it may stand for several words of a memory."""
        return len(self.model.present(self.scope)) * len(WORDS)

    def at_the_graph(self) -> None:
        store, filter_, own = self.store, self.filter, self.model.names[self.scope]
        everybodys = {name for names in self.model.names.values() for name in names}
        findable = self.model.findable(filter_)
        read = {id_ for id_, memory in findable.items() if memory in self.model.read}
        about = store.mentioning(filter_, everybodys, _MANY, Role.SUBJECT)
        assert {each.id for each in about} <= read
        for mentioned in (
            store.mentions_in(filter_, IDS),
            store.mentioning(filter_, everybodys, _MANY),
            [*store.all_mentions(filter_)],
        ):
            assert {each.id for each in mentioned} == read
            assert {each.concept for each in mentioned} <= own
            assert all(each.memories <= self._most for each in mentioned)
        self.at_evidence()

    def at_shared_concepts(self) -> None:
        """A concept is known by the names that visible memories use, and counted by them."""
        store, filter_ = self.store, self.filter
        everybodys = sorted({name for names in self.model.names.values() for name in names})
        seen = [x for x in self.model.shared(filter_).values() if x in self.model.read]
        used = {name for memory in seen for name in self.model.mentions[memory]}
        concepts = store.visible_concepts(filter_, everybodys)
        assert {*concepts} == used
        for concept in concepts.values():
            said = [{concept.name, *concept.aliases} & self.model.mentions[x] for x in seen]
            assert {concept.name, *concept.aliases} <= used
            assert concept.memories == sum(map(len, said))
        counted = {each.name: (each.memories, each.subjects) for each in concepts.values()}
        read = {id_ for id_, x in self.model.findable(filter_).items() if x in self.model.read}
        for mentioned in (
            store.mentions_in(filter_, IDS),
            store.mentioning(filter_, everybodys, _MANY),
            [*store.all_mentions(filter_)],
        ):
            assert {each.id for each in mentioned} == read
            assert all(counted[each.concept] == each[3:] for each in mentioned)

    def at_evidence(self) -> None:
        store, filter_, own = self.store, self.filter, self.model.names[self.scope]
        everybodys = {name for names in self.model.names.values() for name in names}
        findable = self.model.findable(filter_)
        for related in (store.relations(filter_, everybodys, _MANY), store.all_relations(filter_)):
            for relation in related:
                assert {relation.source, relation.target} <= own
                assert {*relation.evidence} <= {*findable}
                assert relation.evidence or filter_.reader is None

    def at_secrets(self) -> None:
        records = [record for id_ in IDS for record in self.store.sealed(self.scope, id_)]
        assert {record.owner for record in records} <= {self.scope.user}
        assert {(record.id, record.version) for record in records} == self.model.sealed[self.scope]
        present = self.model.present(self.scope).values()
        hidden = {each.id for each in present if each.sensitive and each.deleted_at is None}
        assert {memory.id for memory in self.store.sensitive(self.scope)} == hidden
        assert self.store.audit(self.scope, _MANY) == self.model.noted[self.scope]


def _edges(links: Iterable[Link]) -> set[Edge]:
    return {(each.source, str(each.kind), each.target) for each in links}


def _holds(memory: Memory, term: str) -> bool:
    lines: Iterable[object] = analysis.entry(memory)
    return any(f" {term} " in line for line in lines if isinstance(line, str))
