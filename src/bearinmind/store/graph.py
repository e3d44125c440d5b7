"""Writes the concept graph of a store: extractors, mentions, relations and merges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Mention, Merge, Statement
from bearinmind.errors import AlreadyMerged, ConceptNotFound
from bearinmind.protocols import Job
from bearinmind.store import rows
from bearinmind.store.graph_search import ROLE_BITS, GraphSearchInDatabase
from bearinmind.store.rows import Owned
from bearinmind.types import Memory, MemoryId, Scope, UserId


class _ReadVersion(NamedTuple):
    """A version that was read, and its extraction."""

    job: int
    target: str
    extractor: int
    row: int
    owner: UserId
    since: int
    until: int
    extraction: Extraction

    def source(self) -> StatementSource:
        return StatementSource(self.target, self.since, self.until, self.row)

    def statements(self) -> list[Statement]:
        return [*dict.fromkeys(filter(relates_two, self.extraction.statements))]


class GraphInDatabase(GraphSearchInDatabase):
    """Satisfies `bearinmind.protocols.Graph`."""

    # ---- the extractor in use ------------------------------------------------------------------

    def extractor(self) -> str:
        records = self._database.read("extractor_in_use")
        return str(records[0][1]) if records else ""

    def use_extractor(self, key: str, *, again: bool = False) -> int:
        if again or self.extractor() != key:  # the usual case needs no write transaction
            with self._database.writing(alone=True) as transaction:
                transaction.change("retire_extractor")
                transaction.change("drop_other_readings", {"key": key})
                if key:  # every version that it has not read gets a job
                    transaction.change("take_extractor", {"key": key})
                    [[number, _]] = transaction.rows("extractor_in_use")
                    reading = {"key": key, "extractor": number, "again": again}
                    transaction.change("queue_readings", reading)
        [[due]] = self._database.read("count_readings_due", {"key": key})
        return int(due)

    # ---- what was read -------------------------------------------------------------------------

    def finish_extraction(
        self, jobs: Sequence[Job], extractions: Sequence[Extraction], at: datetime
    ) -> None:
        with self._database.writing(*(job.owner for job in jobs)) as transaction:
            for owner in dict.fromkeys(job.owner for job in jobs):
                own = [(x, y) for x, y in zip(jobs, extractions, strict=True) if x.owner == owner]
                owned = Owned(transaction, owner)
                read = {(job.number, job.target): each for job, each in own}
                numbers = {"numbers": [number for number, _ in read]}
                # Those that are still wanted, in the order of jobs: first labels stay.
                wanted = {row[:2]: row for row in owned.rows("readings_to_keep", numbers)}
                found = [_ReadVersion._make((*wanted[x], read[x])) for x in read if x in wanted]
                _keep_readings(owned, found, rows.moment(at))

    def known_names(self, scope: Scope, names: Collection[ConceptName]) -> set[ConceptName]:
        records = self._read(scope, "known_names", names=[*names])
        return {ConceptName(name) for [name] in records}

    def add_mentions(
        self, scope: Scope, mentions: Mapping[MemoryId, Sequence[Mention]], *, given: bool = False
    ) -> int:
        with self._writing(scope) as transaction:
            readable = _readable(transaction, mentions)
            added = [mention for id_ in readable for mention in mentions[id_]]
            known = keep_concepts(transaction, added)
            mentioned = [
                {"concept": concept, "row": row, "roles": roles}
                for id_, row in readable.items()
                for concept, roles in roles_of(mentions[id_], known).items()
            ]
            new = transaction.change_each("add_mention", mentioned)
            if given:
                transaction.change_each("give_mention", mentioned)
        return new

    # ---- relations from elsewhere --------------------------------------------------------------

    def add_statements(
        self,
        scope: Scope,
        statements: Sequence[tuple[Statement, Sequence[MemoryId]]],
        at: datetime,
        origin: str,
    ) -> int:
        """A relation whose evidence is all hidden or missing is not kept."""
        source = StatementSource(origin, rows.moment(at), given=True)
        with self._writing(scope) as transaction:
            readable = _readable(transaction, {id_ for _, ids in statements for id_ in ids})
            kept = [
                (statement, [readable[id_] for id_ in ids if id_ in readable] if ids else [None])
                for statement, ids in statements
                if relates_two(statement)
            ]
            ends = [end for each, by in kept if by for end in (each.source, each.target)]
            known = keep_concepts(transaction, ends)
            new: set[int] = set()
            for statement, by in kept:
                for row in by:
                    placed = source._replace(row=row)
                    relation, is_new = keep_statement(transaction, statement, known, placed)
                    new |= {relation} if is_new else set()
        return len(new)

    def retract(self, scope: Scope, number: int, at: datetime) -> bool:
        with self._writing(scope) as transaction:
            return bool(
                transaction.change("retract_relation", {"number": number, "at": rows.moment(at)})
            )

    def end_relation(self, scope: Scope, number: int, valid_to: datetime, at: datetime) -> bool:
        now, end = rows.moment(at), rows.moment(valid_to)
        with self._writing(scope) as transaction:
            if not transaction.change("retract_relation", {"number": number, "at": now}):
                return False
            keep_ended_relation(transaction, number, end, now)
        return True

    # ---- merges --------------------------------------------------------------------------------

    def merge(self, scope: Scope, merge: Merge) -> None:
        """Merge one concept into another; an alias means its concept."""
        with self._writing(scope) as transaction:
            known = concept_numbers(transaction, {merge.alias, merge.into})
            for name in (merge.alias, merge.into):
                if name not in known:
                    raise ConceptNotFound(f"no memory mentions {name!r}")
            alias = known[merge.alias]
            into = stands_for(transaction, known[merge.into])
            if into == alias or transaction.row("merged_already", {"alias": alias}):
                raise AlreadyMerged(f"{merge.alias!r} is merged already")
            [number] = transaction.numbers(1)
            new = {"number": number, "alias": alias, "concept": into, "score": merge.score}
            reason = {"reason": merge.reason, "merged_at": rows.from_time(merge.merged_at)}
            transaction.change("insert_merge", new | reason)
            _repoint_group(transaction, alias)

    def unmerge(self, scope: Scope, alias: ConceptName, at: datetime) -> bool:
        with self._writing(scope) as transaction:
            number = concept_numbers(transaction, [alias]).get(alias)
            undone = {"alias": number, "at": rows.from_time(at)}
            if transaction.change("undo_merge", undone) == 0 or number is None:
                return False
            _repoint_group(transaction, stands_for(transaction, number))
        return True


# The functions below run inside a transaction of the caller.


def _keep_readings(transaction: Owned, readings: Sequence[_ReadVersion], at: int) -> None:
    """Keep the extractions of one owner."""
    stated = {reading.row: reading.statements() for reading in readings}
    ends = [
        end
        for statements in stated.values()
        for each in statements
        for end in (each.source, each.target)
    ]
    mentioned = [mention for reading in readings for mention in reading.extraction.mentions]
    known = keep_concepts(transaction, [*mentioned, *ends])
    roles = {x.row: roles_of(x.extraction.mentions, known) for x in readings}
    loosened = set_mentions(transaction, roles)
    kept = {
        reading.row: [
            keep_statement(transaction, statement, known, reading.source())[0]
            for statement in stated[reading.row]
        ]
        for reading in readings
    }
    evidence = [{"row": row, "stated": numbers, "at": at} for row, numbers in kept.items()]
    ended = transaction.rows_of_each("end_evidence", evidence)
    settle_relations(transaction, {number for records in ended for [number] in records})
    transaction.change_each("keep_reading", [reading._asdict() for reading in readings])
    transaction.change_each("finish_reading", [reading._asdict() for reading in readings])
    drop_orphans(transaction, loosened)


def _readable(transaction: Owned, ids: Collection[MemoryId]) -> dict[MemoryId, int]:
    """The rows of the present versions of these memories, as far as they may be read."""
    records = transaction.rows("readable_rows", {"ids": [*ids]})
    return {MemoryId(id_): row for id_, row in records}


def _repoint_group(transaction: Owned, concept: int) -> None:
    """Recompute what a concept and all that are merged into it stand for."""
    records = transaction.rows("standing_for", {"concepts": [concept]})
    group = [concept, *(number for [number] in records)]
    transaction.change("point_anew", {"concepts": group})


ConceptNumbers = dict[ConceptName, int]  #: of the concepts of one owner


def copy_mentions(transaction: Owned, row: int, memory: Memory) -> int | None:
    """Copy what an earlier version with the same text mentions and states to an inserted one.

    The extractor that read it, if any did.
    """
    before = transaction.row("known_before", {"id": memory.id, "version": memory.version})
    if before is None or _text_of(rows.to_memory(before[2:])) != _text_of(memory):
        return None
    earlier, extractor = before[:2]
    transaction.change("copy_mentions", {"row": row, "before": earlier})
    transaction.change("copy_evidence", {"row": row, "before": earlier})
    transaction.change("extend_relations_of", {"row": row})
    if extractor is None:  # its mentions were given, and it is still to be read
        return None
    transaction.change("keep_reading", {"row": row, "extractor": extractor})
    return int(extractor)


def _text_of(memory: Memory) -> tuple[object, ...]:
    return memory.content, memory.tags, memory.keywords


def forget_memories(transaction: Owned, ids: Sequence[MemoryId]) -> None:
    """Remove everything that the graph has of these memories."""
    forget_versions(
        transaction, [r for [r] in transaction.rows("rows_of_memories", {"ids": [*ids]})]
    )


def forget_versions(transaction: Owned, of: Sequence[int]) -> None:
    """Remove everything that the graph has of these versions, and the concepts of only these."""
    versions = {"rows": [*of]}
    mentioned = transaction.rows("mentions_of_rows", versions)
    related = forget_evidence(transaction, of)
    for statement in ("forget_mentions", "forget_readings"):
        transaction.change(statement, versions)
    drop_orphans(transaction, {concept for _, concept, _ in mentioned} | related)


def keep_concepts(transaction: Owned, mentions: Iterable[Mention]) -> ConceptNumbers:
    """Add concepts; their numbers by name."""
    first: dict[tuple[ConceptName, str], Mention] = {}
    for mention in mentions:
        if mention.name:
            first.setdefault((mention.name, mention.kind), mention)
    unused = transaction.numbers(len(first))
    transaction.change_each(
        "keep_concept",
        [
            mention._asdict() | {"number": number}
            for number, mention in zip(unused, first.values(), strict=True)
        ],
    )
    return concept_numbers(transaction, {name for name, _ in first})


def concept_numbers(transaction: Owned, names: Iterable[ConceptName]) -> ConceptNumbers:
    """The numbers of the concepts among these names."""
    return dict(transaction.rows("concept_numbers", {"names": [*names]}))


def roles_of(mentions: Iterable[Mention], known: ConceptNumbers) -> dict[int, int]:
    """The roles in which concepts are mentioned, by the number of the concept."""
    roles: dict[int, int] = {}
    for mention in mentions:
        if mention.name:
            number = known[mention.name]
            roles[number] = roles.get(number, 0) | ROLE_BITS[mention.role]
    return roles


def set_mentions(transaction: Owned, mentions_by_row: Mapping[int, Mapping[int, int]]) -> set[int]:
    """Replace the mentions of versions; the concepts that lost a mention.

    Mentions that were given by a user stay.
    """
    versions = {"rows": [*mentions_by_row]}
    before = transaction.rows("mentions_of_rows", versions)
    missing = [known for known in before if known[1] not in mentions_by_row[known[0]]]
    gone = [(row, concept) for row, concept, given_roles in missing if not given_roles]
    transaction.change_each(
        "remove_mention", [{"row": row, "concept": concept} for row, concept in gone]
    )
    transaction.change_each(
        "set_mention",
        [
            {"row": row, "concept": concept, "roles": roles}
            for row, mentioned in mentions_by_row.items()
            for concept, roles in mentioned.items()
        ]
        + [
            {"row": row, "concept": x, "roles": given_roles}
            for row, x, given_roles in missing
            if given_roles
        ],
    )
    return {concept for _, concept in gone}


def drop_orphans(transaction: Owned, concepts: Iterable[int]) -> None:
    """Remove the concepts among these that nothing mentions or relates any more.

    Their merges go with them, so their aliases become concepts again.
    """
    candidates = sorted(concepts)
    records = transaction.rows("orphans", {"concepts": candidates})
    if not records:
        return
    gone = [number for [number] in records]
    tops = [stands_for(transaction, number) for number in gone]
    members = transaction.rows("standing_for", {"concepts": gone + tops})
    orphans = {"concepts": gone}
    transaction.change("remove_merges", orphans)
    transaction.change("point_anew", {"concepts": [number for [number] in members]})
    transaction.change("remove_concepts", orphans)


def stands_for(transaction: Owned, concept: int) -> int:
    """The concept that a concept is merged into, at the end of the chain."""
    [[top]] = transaction.rows("stands_for", {"concept": concept})
    return int(top)


class StatementSource(NamedTuple):
    """Where a statement comes from, and when it holds."""

    origin: str
    since: int
    until: int = rows.NOT_YET
    row: int | None = None  #: the version that is its evidence; None when it has none
    given: bool = False  #: by a user, rather than read in the version


def relates_two(statement: Statement) -> bool:
    """Whether a statement relates two different concepts by a type."""
    source, target = statement.source.name, statement.target.name
    return bool(source and target and statement.type) and source != target


def keep_statement(
    transaction: Owned,
    statement: Statement,
    numbers: Mapping[ConceptName, int],
    source: StatementSource,
) -> tuple[int, bool]:
    """Keep a statement between concepts with these numbers; its relation, and whether it is new."""
    relation = {
        "source": numbers[statement.source.name],
        "type": statement.type,
        "target": numbers[statement.target.name],
        "weight": min(max(statement.weight, 0.0), 1.0),
        "valid_from": rows.from_time(statement.valid_from),
        "valid_to": rows.from_time(statement.valid_to),
    }
    return _keep_relation(transaction, relation, source)


def _keep_relation(
    transaction: Owned, statement: Mapping[str, Any], source: StatementSource
) -> tuple[int, bool]:
    """Add evidence to the relation that was stated before, or add a new relation."""
    relation = {**statement, **source._asdict(), "founded": source.row is not None}
    before = transaction.row("stated_before", relation)
    if before is None:
        [unused] = transaction.numbers(1)
        [[number]] = transaction.rows("insert_relation", {**relation, "number": unused})
    else:
        number, decided = before
        if not decided:
            transaction.change("extend_relation", {**relation, "number": number})
    if source.row is not None:
        transaction.change("keep_evidence", {**relation, "number": number})
    return number, before is None


def settle_relations(transaction: Owned, relations: Iterable[int]) -> None:
    """Recompute how long these relations are believed, from their evidence."""
    numbers = sorted(relations)
    transaction.change("settle_relations", {"relations": numbers})


def forget_evidence(transaction: Owned, of: Sequence[int]) -> set[int]:
    """Remove what these versions are evidence for; the ends of the relations that go with it."""
    versions = {"rows": [*of]}
    touched = {number for [number] in transaction.rows("relations_of_rows", versions)}
    if not touched:
        return set()
    transaction.change("forget_evidence", versions)
    candidates = {"relations": sorted(touched)}
    unfounded = transaction.rows("ends_of_unfounded", candidates)
    gone = {number for number, _, _ in unfounded}
    transaction.change("remove_relations", {"relations": sorted(gone)})
    settle_relations(transaction, touched - gone)
    return {end for _, *ends in unfounded for end in ends}


def keep_ended_relation(transaction: Owned, number: int, valid_to: int, at: int) -> None:
    """Keep a relation again with an end, and with its present evidence."""
    names = ("source", "type", "target", "weight", "valid_from", "origin", "founded")
    [record] = transaction.rows("relation", {"number": number})
    relation = {**dict(zip(names, record, strict=True)), "valid_to": valid_to}
    source = StatementSource(origin=relation["origin"], since=at, given=True)
    if not relation["founded"]:
        _keep_relation(transaction, relation, source)
    for [row] in transaction.rows("present_evidence", {"number": number}):
        _keep_relation(transaction, relation, source._replace(row=row))
