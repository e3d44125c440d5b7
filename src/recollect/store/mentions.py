"""The concepts of a SQLite file and the versions that mention them.

Everything here runs inside a transaction of the caller.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from recollect.concepts import ConceptName, Mention
from recollect.store import relations, rows
from recollect.store.graph_search import ROLE_BITS
from recollect.store.queries import SQLITE as SQL
from recollect.types import Memory, MemoryId, Scope, UserId

Numbers = dict[ConceptName, int]  #: of the concepts of one owner


def belong(connection: sqlite3.Connection, scope: Scope, row: int, memory: Memory) -> None:
    """Give a version that was just inserted its mentions, or the job that will bring them.

    A version that says the same as the last one that was read takes over what was found there.
    """
    if memory.deleted_at is not None or memory.sensitive:
        return
    read_by = _take_over(connection, scope, row, memory) if memory.version > 1 else None
    in_use = connection.execute(SQL["extractor_in_use"]).fetchone()
    if in_use is not None and in_use[0] != read_by:
        connection.execute(SQL["queue_reading"], {"key": in_use[1], "row": row})


def _take_over(
    connection: sqlite3.Connection, scope: Scope, row: int, memory: Memory
) -> int | None:
    """Take over what an earlier version mentions and states; which extractor read it, if any."""
    place = {"owner": scope.user, "id": memory.id, "version": memory.version}
    before = connection.execute(SQL["known_before"], place).fetchone()
    if before is None or not _says_the_same(rows.to_memory(before[2:]), memory):
        return None
    earlier, extractor = before[:2]
    connection.execute(SQL["copy_mentions"], {"row": row, "before": earlier})
    relations.take_over(connection, row, earlier)
    if extractor is None:  # it was given what it mentions, and is still to be read
        return None
    connection.execute(SQL["keep_reading"], {"row": row, "extractor": extractor})
    return int(extractor)


def _says_the_same(one: Memory, other: Memory) -> bool:
    return (one.content, one.tags, one.keywords) == (other.content, other.tags, other.keywords)


def forget(connection: sqlite3.Connection, scope: Scope, ids: Sequence[MemoryId]) -> None:
    """Remove all that the graph has of every version of these memories."""
    parameters = {"owner": scope.user, "ids": json.dumps(ids)}
    forget_rows(connection, [r for [r] in connection.execute(SQL["rows_of_memories"], parameters)])


def forget_rows(connection: sqlite3.Connection, of: Sequence[int]) -> None:
    """Remove all that the graph has of these versions, to the last word that only they say."""
    versions = {"rows": json.dumps(of)}
    mentioned = connection.execute(SQL["mentions_of_rows"], versions).fetchall()
    related = relations.forget_rows(connection, of)
    for statement in ("forget_mentions", "forget_readings"):
        connection.execute(SQL[statement], versions)
    drop_orphans(connection, {concept for _, concept, _ in mentioned} | related)


def keep_concepts(
    connection: sqlite3.Connection, owner: UserId, mentions: Iterable[Mention]
) -> Numbers:
    """Make concepts known; under which numbers they are."""
    first: dict[tuple[ConceptName, str], Mention] = {}
    for mention in mentions:
        if mention.name:
            first.setdefault((mention.name, mention.kind), mention)
    connection.executemany(
        SQL["keep_concept"],
        [{"owner": owner} | mention._asdict() for mention in first.values()],
    )
    return numbers(connection, owner, {name for name, _ in first})


def numbers(connection: sqlite3.Connection, owner: UserId, names: Iterable[ConceptName]) -> Numbers:
    """Under which numbers those of these names are that are concepts."""
    parameters = {"owner": owner, "names": json.dumps([*names])}
    return dict(connection.execute(SQL["concept_numbers"], parameters).fetchall())


def roles_of(mentions: Iterable[Mention], known: Numbers) -> dict[int, int]:
    """By the number of a concept: in which roles it is mentioned."""
    roles: dict[int, int] = {}
    for mention in mentions:
        if mention.name:
            number = known[mention.name]
            roles[number] = roles.get(number, 0) | ROLE_BITS[mention.role]
    return roles


def set_mentions(
    connection: sqlite3.Connection, found: Mapping[int, Mapping[int, int]]
) -> set[int]:
    """Let versions mention these concepts and no others; which concepts are mentioned less.

    What somebody gave a version to mention stays.
    """
    versions = {"rows": json.dumps([*found])}
    before = connection.execute(SQL["mentions_of_rows"], versions).fetchall()
    missing = [known for known in before if known[1] not in found[known[0]]]
    gone = [(row, concept) for row, concept, given in missing if not given]
    connection.executemany(
        SQL["remove_mention"], [{"row": row, "concept": concept} for row, concept in gone]
    )
    connection.executemany(
        SQL["set_mention"],
        [
            {"row": row, "concept": concept, "roles": roles}
            for row, mentioned in found.items()
            for concept, roles in mentioned.items()
        ]
        + [{"row": row, "concept": x, "roles": given} for row, x, given in missing if given],
    )
    return {concept for _, concept in gone}


def drop_orphans(connection: sqlite3.Connection, concepts: Iterable[int]) -> None:
    """Remove those of these concepts that nothing mentions or relates any more.

    Their merges go with them: what they held together falls apart.
    """
    candidates = json.dumps(sorted(concepts))
    found = connection.execute(SQL["orphans"], {"concepts": candidates}).fetchall()
    if not found:
        return
    gone = [number for [number] in found]
    tops = [connection.execute(SQL["stands_for"], each).fetchone()[0] for each in found]
    members = connection.execute(SQL["standing_for"], (json.dumps(gone + tops),)).fetchall()
    orphans = {"concepts": json.dumps(gone)}
    connection.execute(SQL["remove_merges"], orphans)
    point_anew(connection, [number for [number] in members])
    connection.execute(SQL["remove_concepts"], orphans)


def point_anew(connection: sqlite3.Connection, concepts: Iterable[int]) -> None:
    """Let these concepts stand for what the merges that hold lead to."""
    connection.execute(SQL["point_anew"], {"concepts": json.dumps([*concepts])})
