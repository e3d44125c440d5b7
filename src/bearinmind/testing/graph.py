"""The concept graph of a store in memory: everything is counted anew whenever it is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Merge, Role, Statement
from bearinmind.errors import AlreadyMerged, ConceptNotFound
from bearinmind.protocols import Job
from bearinmind.testing.graph_search import GraphSearchInMemory, KeptMerge, Mentions
from bearinmind.testing.holdings import Holdings, Row
from bearinmind.testing.queue import is_readable
from bearinmind.testing.relations import KeptRelation, Says
from bearinmind.types import Memory, MemoryId, Scope, UserId

EXTRACT = "extract"
_VAGUE = [Kind.TOPIC, Kind.NAME]  # the vaguest first: whatever else is known replaces them


class GraphInMemory(GraphSearchInMemory):
    """Satisfies `bearinmind.protocols.Graph`."""

    def __init__(self) -> None:
        super().__init__()
        self._extractor = ""
        self._read_by: dict[int, str] = {}
        self._given: dict[int, Mentions] = {}
        self._relation_numbers = itertools.count(1)

    # ---- following the memories ----------------------------------------------------------------

    def _forget(self, gone: AbstractSet[int]) -> None:
        super()._forget(gone)
        for number in gone:
            self._mentions.pop(number, None)
            self._given.pop(number, None)
            self._read_by.pop(number, None)
            for relation in self._relations:
                relation.evidence.pop(number, None)
        self._relations = [x for x in self._relations if x.evidence or not x.founded]
        self._drop_orphans()

    def _belong(self, row: Row, owned: Holdings) -> None:
        """Give a new version its mentions, or the job that will bring them."""
        super()._belong(row, owned)
        if not is_readable(row):
            return
        known = [x for x in owned.earlier(row) if self._is_known(x.number)]
        before = max(known, key=lambda x: x.memory.version, default=None)
        if before and _says(before.memory) == _says(row.memory):
            self._take_over(row, before)
        if self._extractor and self._read_by.get(row.number) != self._extractor:
            self._queue(EXTRACT, self._extractor, row)

    def _is_known(self, number: int) -> bool:
        """Whether the graph has anything of a version."""
        stated = any(number in relation.evidence for relation in self._relations)
        return number in self._read_by or bool(self._mentions.get(number)) or stated

    def _take_over(self, row: Row, before: Row) -> None:
        for kept in (self._mentions, self._given):
            if before.number in kept:
                kept[row.number] = dict(kept[before.number])
        if before.number in self._read_by:
            self._read_by[row.number] = self._read_by[before.number]
        for relation in self._relations:
            said = relation.evidence.get(before.number)
            if said and said.until is None and not relation.decided:
                since = row.memory.updated_at
                relation.evidence[row.number] = said._replace(since=since)

    def _drop_orphans(self) -> None:
        """Remove the concepts that nothing mentions or relates, and their merges."""
        held = {row.number: row.memory.owner for row in self._rows()}
        needed = {(held[n], name) for n, said in self._mentions.items() for name in said}
        for relation in self._relations:
            needed |= {(relation.owner, relation.source), (relation.owner, relation.target)}
        self._known = {key: known for key, known in self._known.items() if key in needed}
        self._merged = [
            x for x in self._merged if {(x.owner, x.merge.alias), (x.owner, x.merge.into)} <= needed
        ]

    # ---- the extractor in use ------------------------------------------------------------------

    def extractor(self) -> str:
        """The key of the extractor in use; empty when there is none."""
        return self._extractor

    def use_extractor(self, key: str, *, again: bool = False) -> int:
        """Make sure that every version is read by this extractor; how many are to be read."""
        with self._lock:
            if again or key != self._extractor:
                self._extractor = key
                self._drop(lambda job: job.kind == EXTRACT and job.target != key)
                queued = {job.row for job in self._jobs.values() if job.kind == EXTRACT}
                for row in sorted(self._rows()) if key else ():
                    unread = again or self._read_by.get(row.number) != key
                    if is_readable(row) and unread and row.number not in queued:
                        self._queue(EXTRACT, key, row, has_time=True)
            jobs = [x for x in self._jobs.values() if x.kind == EXTRACT and x.target == key]
            return sum(not job.dead for job in jobs)

    # ---- what was read -------------------------------------------------------------------------

    def finish_extraction(
        self, jobs: Sequence[Job], found: Sequence[Extraction], at: datetime
    ) -> None:
        """Keep what was read and remove the jobs, in one transaction."""
        with self._lock:
            rows = self._by_number()
            kept: list[tuple[Row, Extraction]] = []
            for job, extraction in zip(jobs, found, strict=True):
                queued = self._jobs.get(job.number)
                if queued and (queued.kind, queued.target) == (EXTRACT, job.target):
                    del self._jobs[job.number]
                    self._read_by[queued.row] = job.target
                    kept.append((rows[queued.row], extraction))
            for owner in dict.fromkeys(row.memory.owner for row, _ in kept):
                own = [(row, said) for row, said in kept if row.memory.owner == owner]
                for row, extraction in own:
                    self._mentions[row.number] = dict(self._given.get(row.number, {}))
                    self._mention(row, extraction.mentions)
                for row, extraction in own:
                    self._keep_statements(row, extraction.statements, at)
            self._drop_orphans()

    def _mention(self, row: Row, mentions: Sequence[Mention]) -> int:
        """Let a version mention these, too; how many concepts it did not mention so."""
        said = self._mentions.setdefault(row.number, {})
        before = dict(said)
        for mention in mentions:
            if mention.name:
                self._learn(row.memory.owner, mention)
        _add(said, mentions)
        return sum(before.get(name) != roles for name, roles in said.items())

    def _learn(self, owner: UserId, mention: Mention) -> None:
        """Make a concept known; a more telling kind replaces one that says little."""
        label, kind = self._known.setdefault((owner, mention.name), (mention.label, mention.kind))
        if _telling(mention.kind) > _telling(kind):
            self._known[owner, mention.name] = (label, mention.kind)

    def _keep_statements(self, row: Row, statements: Iterable[Statement], at: datetime) -> None:
        """A version states these and nothing else that was read in it."""
        stated = []
        for statement in filter(_relates_two, statements):
            says = Says(since=row.memory.updated_at)
            origin = self._read_by[row.number]
            relation, _ = self._state(row.memory.owner, statement, origin, says, row)
            stated.append(relation.number)
        for relation in self._relations:
            said = relation.evidence.get(row.number)
            if said and said.until is None and not said.given and relation.number not in stated:
                relation.evidence[row.number] = said._replace(until=at)

    def known_names(self, scope: Scope, names: Collection[ConceptName]) -> set[ConceptName]:
        """Those of these names that are concepts of which some memory is the subject."""
        with self._lock:
            found = self.concepts(scope, names)
        return {name for name, concept in found.items() if concept.subjects}

    def add_mentions(
        self,
        scope: Scope,
        found: Mapping[MemoryId, Sequence[Mention]],
        *,
        given: bool = False,
    ) -> int:
        """Add mentions to present versions of memories; how many were new."""
        with self._lock:
            readable = self._readable(scope)
            new = 0
            for id_ in [x for x in found if x in readable]:
                new += self._mention(readable[id_], found[id_])
                if given:
                    _add(self._given.setdefault(readable[id_].number, {}), found[id_])
        return new

    def _readable(self, scope: Scope) -> dict[MemoryId, Row]:
        held = self._holdings[scope.user].at(None)
        return {id_: row for id_, row in held.items() if is_readable(row)}

    # ---- relations -----------------------------------------------------------------------------

    def add_statements(
        self,
        scope: Scope,
        statements: Sequence[tuple[Statement, Sequence[MemoryId]]],
        at: datetime,
        origin: str,
    ) -> int:
        """Keep relations from elsewhere with their evidence; how many were new."""
        new: set[int] = set()
        with self._lock:
            readable = self._readable(scope)
            for statement, ids in statements:
                if not _relates_two(statement):
                    continue
                by = [readable[id_] for id_ in ids if id_ in readable] if ids else [None]
                for row in by:
                    says = Says(since=at, given=True)
                    relation, is_new = self._state(scope.user, statement, origin, says, row)
                    new |= {relation.number} if is_new else set()
        return len(new)

    def _state(
        self, owner: UserId, statement: Statement, origin: str, says: Says, row: Row | None
    ) -> tuple[KeptRelation, bool]:
        """A relation that was stated before gains evidence; else it is new."""
        for end in (statement.source, statement.target):
            self._learn(owner, end)
        relation = KeptRelation.of(owner, statement, origin, says.since, founded=row is not None)
        before = [x for x in self._relations if x.takes(relation)]
        known = min(
            before, key=lambda x: (not x.decided, x.retracted_at or says.since), default=None
        )
        if known is None:
            relation.number = next(self._relation_numbers)
            self._relations.append(relation)
        elif not known.decided:
            known.weight = max(known.weight, relation.weight)
        kept = known or relation
        if row is not None:
            kept.support(row.number, says)
        return kept, known is None

    def retract(self, scope: Scope, number: int, at: datetime) -> bool:
        """Stop believing a relation; False when there is none that is believed."""
        with self._lock:
            relation = self._relation(scope, number)
            recorded_at, retracted_at = relation.span(self._by_number()) if relation else (at, at)
            if relation is None or retracted_at is not None:
                return False
            relation.recorded_at, relation.retracted_at, relation.decided = recorded_at, at, True
        return True

    def _relation(self, scope: Scope, number: int) -> KeptRelation | None:
        own = [x for x in self._relations if x.owner == scope.user]
        return next((x for x in own if x.number == number), None)

    def end_relation(self, scope: Scope, number: int, valid_to: datetime, at: datetime) -> bool:
        """Record at a moment that a relation held only until another one."""
        with self._lock:
            relation = self._relation(scope, number)
            if relation is None or not self.retract(scope, number, at):
                return False
            source, target = (self._end(scope.user, x) for x in (relation.source, relation.target))
            said = Statement(source, relation.type, target, relation.weight, relation.valid_from)
            present = [x for x in self._readable(scope).values() if relation.is_said(x, None)]
            for row in sorted(present) if relation.founded else [None]:
                says = Says(since=at, given=True)
                self._state(
                    scope.user, said._replace(valid_to=valid_to), relation.origin, says, row
                )
        return True

    def _end(self, owner: UserId, name: ConceptName) -> Mention:
        label, kind = self._known[owner, name]
        return Mention(name, Role.NAME, kind, label)

    # ---- merges --------------------------------------------------------------------------------

    def merge(self, scope: Scope, merge: Merge) -> None:
        """Take two concepts for one; into an alias means into its concept."""
        with self._lock:
            for name in (merge.alias, merge.into):
                if (scope.user, name) not in self._known:
                    raise ConceptNotFound(f"no memory mentions {name!r}")
            into = self._standing(scope.user, merge.into)
            if into == merge.alias or self._standing(scope.user, merge.alias) != merge.alias:
                raise AlreadyMerged(f"{merge.alias!r} is merged already")
            self._merged.append(KeptMerge(scope.user, replace(merge, into=into, undone_at=None)))

    def unmerge(self, scope: Scope, alias: ConceptName, at: datetime) -> bool:
        """Take them for two again; False when they are not merged."""
        with self._lock:
            for place, (owner, merge) in enumerate(self._merged):
                if (owner, merge.alias, merge.undone_at) == (scope.user, alias, None):
                    self._merged[place] = KeptMerge(owner, replace(merge, undone_at=at))
                    return True
        return False


def _add(mentions: Mentions, more: Iterable[Mention]) -> None:
    for mention in more:
        if mention.name:
            roles = mentions.get(mention.name, frozenset())
            mentions[mention.name] = roles | {mention.role}


def _says(memory: Memory) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return memory.content, memory.tags, memory.keywords


def _telling(kind: Kind) -> int:
    return _VAGUE.index(kind) if kind in _VAGUE else len(_VAGUE)


def _relates_two(statement: Statement) -> bool:
    source, target = statement.source.name, statement.target.name
    return bool(source and target and statement.type) and source != target
