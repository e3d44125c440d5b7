"""The concept graph of a store: who reads memories for it, and what becomes of that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Mention, Merge, Statement
from bearinmind.errors import AlreadyMerged, ConceptNotFound
from bearinmind.protocols import Job
from bearinmind.store import mentions, relations, rows
from bearinmind.store.database import Owned, Transaction
from bearinmind.store.graph_search import GraphSearchInDatabase
from bearinmind.types import MemoryId, Scope, UserId


class _Reading(NamedTuple):
    """A version that was read, and what was found in it."""

    job: int
    target: str
    extractor: int
    row: int
    owner: UserId
    since: int
    until: int
    found: Extraction

    def source(self) -> relations.Source:
        """Where what it states comes from."""
        return relations.Source(self.target, self.since, self.until, self.row)

    def statements(self) -> list[Statement]:
        """What it states, once each."""
        return [*dict.fromkeys(filter(relations.relates_two, self.found.statements))]


class GraphInDatabase(GraphSearchInDatabase):
    """Satisfies `bearinmind.protocols.Graph`."""

    # ---- the extractor in use ------------------------------------------------------------------

    def extractor(self) -> str:
        """The key of the extractor in use; empty when there is none."""
        found = self._database.read("extractor_in_use")
        return str(found[0][1]) if found else ""

    def use_extractor(self, key: str, *, again: bool = False) -> int:
        """Make sure that every version is read by this extractor; how many are to be read."""
        if again or self.extractor() != key:  # the usual case needs no turn at writing
            with self._database.writing(alone=True) as transaction:
                transaction.change("retire_extractor")
                transaction.change("drop_other_readings", {"key": key})
                if key:
                    _begin(transaction, key, again=again)
        [[due]] = self._database.read("count_readings_due", {"key": key})
        return int(due)

    # ---- what was read -------------------------------------------------------------------------

    def finish_extraction(
        self, jobs: Sequence[Job], found: Sequence[Extraction], at: datetime
    ) -> None:
        """Keep what was read and remove the jobs, in one transaction."""
        with self._database.writing(*(job.owner for job in jobs)) as transaction:
            readings = _readings(transaction, jobs, found)
            for owner in dict.fromkeys(reading.owner for reading in readings):
                own = [reading for reading in readings if reading.owner == owner]
                _keep(Owned(transaction, owner), own, rows.moment(at))

    def known_names(self, scope: Scope, names: Collection[ConceptName]) -> set[ConceptName]:
        """Those of these names that are concepts of which some memory is the subject."""
        asked = {"owner": scope.user, "names": [*names]}
        return {ConceptName(name) for [name] in self._database.read("known_names", asked)}

    def add_mentions(
        self,
        scope: Scope,
        found: Mapping[MemoryId, Sequence[Mention]],
        *,
        given: bool = False,
    ) -> int:
        """Add mentions to present versions of memories; how many were new."""
        with self._writing(scope) as transaction:
            readable = _readable(transaction, found)
            added = [mention for id_ in readable for mention in found[id_]]
            known = mentions.keep_concepts(transaction, added)
            mentioned = [
                {"concept": concept, "row": row, "roles": roles}
                for id_, row in readable.items()
                for concept, roles in mentions.roles_of(found[id_], known).items()
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
        """Keep relations from elsewhere with their evidence; how many were new.

        One whose evidence cannot be read by anybody is not kept.
        """
        source = relations.Source(origin, rows.moment(at), given=True)
        with self._writing(scope) as transaction:
            readable = _readable(transaction, {id_ for _, ids in statements for id_ in ids})
            kept = [
                (statement, [readable[id_] for id_ in ids if id_ in readable] if ids else [None])
                for statement, ids in statements
                if relations.relates_two(statement)
            ]
            ends = [end for said, by in kept if by for end in (said.source, said.target)]
            known = mentions.keep_concepts(transaction, ends)
            new: set[int] = set()
            for statement, by in kept:
                for row in by:
                    placed = source._replace(row=row)
                    stated = relations.state(transaction, statement, known, placed)
                    new |= {stated.relation} if stated.is_new else set()
        return len(new)

    def retract(self, scope: Scope, number: int, at: datetime) -> bool:
        """Stop believing a relation; False when there is none that is believed."""
        with self._writing(scope) as transaction:
            return relations.retract(transaction, number, rows.moment(at))

    def end_relation(self, scope: Scope, number: int, valid_to: datetime, at: datetime) -> bool:
        """Record at a moment that a relation held only until another one."""
        now, end = rows.moment(at), rows.moment(valid_to)
        with self._writing(scope) as transaction:
            if not relations.retract(transaction, number, now):
                return False
            relations.keep_ended(transaction, number, end, now)
        return True

    # ---- merges --------------------------------------------------------------------------------

    def merge(self, scope: Scope, merge: Merge) -> None:
        """Take two concepts for one; into an alias means into its concept."""
        with self._writing(scope) as transaction:
            known = mentions.numbers(transaction, {merge.alias, merge.into})
            for name in (merge.alias, merge.into):
                if name not in known:
                    raise ConceptNotFound(f"no memory mentions {name!r}")
            alias = known[merge.alias]
            into = mentions.stands_for(transaction, known[merge.into])
            if into == alias or transaction.row("merged_already", {"alias": alias}):
                raise AlreadyMerged(f"{merge.alias!r} is merged already")
            [number] = transaction.numbers(1)
            new = {"number": number, "alias": alias, "concept": into, "score": merge.score}
            said = {"reason": merge.reason, "merged_at": rows.from_time(merge.merged_at)}
            transaction.change("insert_merge", new | said)
            mentions.point_anew(transaction, _standing_for(transaction, alias))

    def unmerge(self, scope: Scope, alias: ConceptName, at: datetime) -> bool:
        """Take them for two again; False when they are not merged."""
        with self._writing(scope) as transaction:
            number = mentions.numbers(transaction, [alias]).get(alias)
            undone = {"alias": number, "at": rows.from_time(at)}
            if transaction.change("undo_merge", undone) == 0 or number is None:
                return False
            top = mentions.stands_for(transaction, number)
            mentions.point_anew(transaction, _standing_for(transaction, top))
        return True


# What follows runs inside a transaction of the caller.


def _begin(transaction: Transaction, key: str, *, again: bool) -> None:
    """Take an extractor into use, with a job for all that it has not read."""
    transaction.change("take_extractor", {"key": key})
    [[number, _]] = transaction.rows("extractor_in_use")
    transaction.change("queue_readings", {"key": key, "extractor": number, "again": again})


def _readings(
    transaction: Transaction, jobs: Sequence[Job], found: Sequence[Extraction]
) -> list[_Reading]:
    """What was read, as far as it is still wanted."""
    read = {(job.number, job.target): each for job, each in zip(jobs, found, strict=True)}
    wanted = transaction.rows("readings_to_keep", rows.from_jobs(jobs))
    return [_Reading._make((*row, read[row[:2]])) for row in wanted if row[:2] in read]


def _keep(transaction: Owned, readings: Sequence[_Reading], at: int) -> None:
    """Keep what was read for one owner."""
    stated = {reading.row: reading.statements() for reading in readings}
    ends = [end for said in stated.values() for each in said for end in (each.source, each.target)]
    mentioned = [mention for reading in readings for mention in reading.found.mentions]
    known = mentions.keep_concepts(transaction, [*mentioned, *ends])
    roles = {x.row: mentions.roles_of(x.found.mentions, known) for x in readings}
    loosened = mentions.set_mentions(transaction, roles)
    kept = {
        reading.row: [
            relations.state(transaction, statement, known, reading.source()).relation
            for statement in stated[reading.row]
        ]
        for reading in readings
    }
    relations.settle(transaction, relations.end_others(transaction, kept, at))
    transaction.change_each("keep_reading", [reading._asdict() for reading in readings])
    transaction.change_each("finish_reading", [reading._asdict() for reading in readings])
    mentions.drop_orphans(transaction, loosened)


def _readable(transaction: Owned, ids: Collection[MemoryId]) -> dict[MemoryId, int]:
    """The rows of the present versions of those of these memories that may be read."""
    found = transaction.rows("readable_rows", {"ids": [*ids]})
    return {MemoryId(id_): row for id_, row in found}


def _standing_for(transaction: Owned, concept: int) -> list[int]:
    """A concept and all that stand for it."""
    found = transaction.rows("standing_for", {"concepts": [concept]})
    return [concept, *(number for [number] in found)]
