"""The concept graph of a SQLite file: who reads memories for it, and what becomes of that."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from recollect.concepts import ConceptName, Extraction, Mention, Merge, Statement
from recollect.errors import AlreadyMerged, ConceptNotFound
from recollect.protocols import Job
from recollect.store import mentions, relations, rows
from recollect.store.graph_search import GraphSearchInFile
from recollect.store.queries import SQLITE as SQL
from recollect.types import MemoryId, Scope, UserId


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
        return relations.Source(self.owner, self.target, self.since, self.until, self.row)

    def statements(self) -> list[Statement]:
        """What it states, once each."""
        return [*dict.fromkeys(filter(relations.relates_two, self.found.statements))]


class GraphInFile(GraphSearchInFile):
    """Satisfies `recollect.protocols.Graph`."""

    # ---- the extractor in use ------------------------------------------------------------------

    def extractor(self) -> str:
        """The key of the extractor in use; empty when there is none."""
        found = self._read("extractor_in_use")
        return str(found[0][1]) if found else ""

    def use_extractor(self, key: str, *, again: bool = False) -> int:
        """Make sure that every version is read by this extractor; how many are to be read."""
        if again or self.extractor() != key:  # the usual case needs no turn at writing
            with self._write() as connection:
                connection.execute(SQL["retire_extractor"])
                connection.execute(SQL["drop_other_readings"], (key,))
                if key:
                    _begin(connection, key, again=again)
        [[due]] = self._read("count_readings_due", (key,))
        return int(due)

    # ---- what was read -------------------------------------------------------------------------

    def finish_extraction(
        self, jobs: Sequence[Job], found: Sequence[Extraction], at: datetime
    ) -> None:
        """Keep what was read and remove the jobs, in one transaction."""
        with self._write() as connection:
            readings = _readings(connection, jobs, found)
            loosened: set[int] = set()
            for owner in dict.fromkeys(reading.owner for reading in readings):
                own = [reading for reading in readings if reading.owner == owner]
                loosened |= _keep(connection, owner, own, rows.moment(at))
            for reading in readings:
                connection.execute(SQL["keep_reading"], reading._asdict())
                connection.execute(SQL["finish_reading"], (reading.job, reading.target))
            mentions.drop_orphans(connection, loosened)

    def known_names(self, scope: Scope, names: Collection[ConceptName]) -> set[ConceptName]:
        """Those of these names that are concepts of which some memory is the subject."""
        asked = {"owner": scope.user, "names": json.dumps([*names])}
        return {ConceptName(name) for [name] in self._read("known_names", asked)}

    def add_mentions(
        self,
        scope: Scope,
        found: Mapping[MemoryId, Sequence[Mention]],
        *,
        given: bool = False,
    ) -> int:
        """Add mentions to present versions of memories; how many were new."""
        with self._write() as connection:
            readable = _readable(connection, scope, found)
            added = [mention for id_ in readable for mention in found[id_]]
            known = mentions.keep_concepts(connection, scope.user, added)
            new = 0
            for id_, row in readable.items():
                for concept, roles in mentions.roles_of(found[id_], known).items():
                    mention = {"concept": concept, "row": row, "roles": roles}
                    new += connection.execute(SQL["add_mention"], mention).rowcount
                    if given:
                        connection.execute(SQL["give_mention"], mention)
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
        source = relations.Source(scope.user, origin, rows.moment(at), given=True)
        with self._write() as connection:
            readable = _readable(connection, scope, {id_ for _, ids in statements for id_ in ids})
            kept = [
                (statement, [readable[id_] for id_ in ids if id_ in readable] if ids else [None])
                for statement, ids in statements
                if relations.relates_two(statement)
            ]
            ends = [end for said, by in kept if by for end in (said.source, said.target)]
            known = mentions.keep_concepts(connection, scope.user, ends)
            new: set[int] = set()
            for statement, by in kept:
                for row in by:
                    placed = source._replace(row=row)
                    stated = relations.state(connection, statement, known, placed)
                    new |= {stated.relation} if stated.is_new else set()
        return len(new)

    def retract(self, scope: Scope, number: int, at: datetime) -> bool:
        """Stop believing a relation; False when there is none that is believed."""
        with self._write() as connection:
            return relations.retract(connection, scope.user, number, rows.moment(at))

    def end_relation(self, scope: Scope, number: int, valid_to: datetime, at: datetime) -> bool:
        """Record at a moment that a relation held only until another one."""
        now, end = rows.moment(at), rows.moment(valid_to)
        with self._write() as connection:
            if not relations.retract(connection, scope.user, number, now):
                return False
            relations.keep_ended(connection, scope.user, number, end, now)
        return True

    # ---- merges --------------------------------------------------------------------------------

    def merge(self, scope: Scope, merge: Merge) -> None:
        """Take two concepts for one; into an alias means into its concept."""
        with self._write() as connection:
            known = mentions.numbers(connection, scope.user, {merge.alias, merge.into})
            for name in (merge.alias, merge.into):
                if name not in known:
                    raise ConceptNotFound(f"no memory mentions {name!r}")
            alias = known[merge.alias]
            [into] = connection.execute(SQL["stands_for"], (known[merge.into],)).fetchone()
            if into == alias or connection.execute(SQL["merged_already"], (alias,)).fetchone():
                raise AlreadyMerged(f"{merge.alias!r} is merged already")
            new = {"owner": scope.user, "alias": alias, "concept": into, "score": merge.score}
            said = {"reason": merge.reason, "merged_at": rows.from_time(merge.merged_at)}
            connection.execute(SQL["insert_merge"], new | said)
            mentions.point_anew(connection, _standing_for(connection, alias))

    def unmerge(self, scope: Scope, alias: ConceptName, at: datetime) -> bool:
        """Take them for two again; False when they are not merged."""
        with self._write() as connection:
            number = mentions.numbers(connection, scope.user, [alias]).get(alias)
            undone = {"alias": number, "at": rows.from_time(at)}
            if connection.execute(SQL["undo_merge"], undone).rowcount == 0 or number is None:
                return False
            [top] = connection.execute(SQL["stands_for"], (number,)).fetchone()
            mentions.point_anew(connection, _standing_for(connection, top))
        return True


# What follows runs inside a transaction of the caller.


def _begin(connection: sqlite3.Connection, key: str, *, again: bool) -> None:
    """Take an extractor into use, with a job for all that it has not read."""
    connection.execute(SQL["take_extractor"], (key,))
    [number, _] = connection.execute(SQL["extractor_in_use"]).fetchone()
    connection.execute(SQL["queue_readings"], {"key": key, "extractor": number, "again": again})


def _readings(
    connection: sqlite3.Connection, jobs: Sequence[Job], found: Sequence[Extraction]
) -> list[_Reading]:
    """What was read, as far as it is still wanted."""
    read = {(job.number, job.target): each for job, each in zip(jobs, found, strict=True)}
    numbers = json.dumps([job.number for job in jobs])
    wanted = connection.execute(SQL["readings_to_keep"], {"numbers": numbers}).fetchall()
    return [_Reading._make((*row, read[row[:2]])) for row in wanted if row[:2] in read]


def _keep(
    connection: sqlite3.Connection, owner: UserId, readings: Sequence[_Reading], at: int
) -> set[int]:
    """Keep what was read for one owner; which concepts are mentioned or related less."""
    stated = {reading.row: reading.statements() for reading in readings}
    ends = [end for said in stated.values() for each in said for end in (each.source, each.target)]
    mentioned = [mention for reading in readings for mention in reading.found.mentions]
    known = mentions.keep_concepts(connection, owner, [*mentioned, *ends])
    roles = {x.row: mentions.roles_of(x.found.mentions, known) for x in readings}
    loosened = mentions.set_mentions(connection, roles)
    unsettled: set[int] = set()
    for reading in readings:
        kept = [
            relations.state(connection, statement, known, reading.source()).relation
            for statement in stated[reading.row]
        ]
        unsettled |= relations.end_others(connection, reading.row, kept, at)
    relations.settle(connection, unsettled)
    return loosened


def _readable(
    connection: sqlite3.Connection, scope: Scope, ids: Collection[MemoryId]
) -> dict[MemoryId, int]:
    """The rows of the present versions of those of these memories that may be read."""
    asked = {"owner": scope.user, "ids": json.dumps([*ids])}
    found = connection.execute(SQL["readable_rows"], asked).fetchall()
    return {MemoryId(id_): row for id_, row in found}


def _standing_for(connection: sqlite3.Connection, concept: int) -> list[int]:
    """A concept and all that stand for it."""
    found = connection.execute(SQL["standing_for"], (json.dumps([concept]),)).fetchall()
    return [concept, *(number for [number] in found)]
