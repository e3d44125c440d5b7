"""The concepts of a store and the versions that mention them.

Everything here runs inside a transaction of the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bearinmind.concepts import ConceptName, Mention
from bearinmind.store import relations, rows
from bearinmind.store.database import Owned, Version
from bearinmind.store.graph_search import ROLE_BITS
from bearinmind.types import Memory, MemoryId

Numbers = dict[ConceptName, int]  #: of the concepts of one owner


def belong(transaction: Owned, row: int, memory: Memory) -> None:
    """Give a version that was just inserted its mentions, or the job that will bring them.

    A version that says the same as the last one that was read takes over what was found there.
    """
    if memory.deleted_at is not None or memory.sensitive:
        return
    read_by = _take_over(transaction, row, memory) if memory.version > 1 else None
    in_use = transaction.row("extractor_in_use")
    if in_use is not None and in_use[0] != read_by:
        transaction.insert("insert_job", [_job(in_use[1], Version(row, memory))])


def queue(transaction: Owned, versions: Sequence[Version]) -> None:
    """Queue the jobs that will read versions that were just inserted."""
    in_use = transaction.row("extractor_in_use")
    if in_use is not None:
        read = [each for each in versions if not each.memory.sensitive]
        transaction.insert("insert_job", [_job(in_use[1], version) for version in read])


def _job(key: str, version: Version) -> dict[str, object]:
    place = 2 if version.past else 0
    return {"kind": "extract", "target": key, "row": version.row, "turn": place}


def _take_over(transaction: Owned, row: int, memory: Memory) -> int | None:
    """Take over what an earlier version mentions and states; which extractor read it, if any."""
    before = transaction.row("known_before", {"id": memory.id, "version": memory.version})
    if before is None or not _says_the_same(rows.to_memory(before[2:]), memory):
        return None
    earlier, extractor = before[:2]
    transaction.change("copy_mentions", {"row": row, "before": earlier})
    relations.take_over(transaction, row, earlier)
    if extractor is None:  # it was given what it mentions, and is still to be read
        return None
    transaction.change("keep_reading", {"row": row, "extractor": extractor})
    return int(extractor)


def _says_the_same(one: Memory, other: Memory) -> bool:
    return (one.content, one.tags, one.keywords) == (other.content, other.tags, other.keywords)


def forget(transaction: Owned, ids: Sequence[MemoryId]) -> None:
    """Remove all that the graph has of every version of these memories."""
    forget_rows(transaction, [r for [r] in transaction.rows("rows_of_memories", {"ids": [*ids]})])


def forget_rows(transaction: Owned, of: Sequence[int]) -> None:
    """Remove all that the graph has of these versions, to the last word that only they say."""
    versions = {"rows": [*of]}
    mentioned = transaction.rows("mentions_of_rows", versions)
    related = relations.forget_rows(transaction, of)
    for statement in ("forget_mentions", "forget_readings"):
        transaction.change(statement, versions)
    drop_orphans(transaction, {concept for _, concept, _ in mentioned} | related)


def keep_concepts(transaction: Owned, mentions: Iterable[Mention]) -> Numbers:
    """Make concepts known; under which numbers they are."""
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
    return numbers(transaction, {name for name, _ in first})


def numbers(transaction: Owned, names: Iterable[ConceptName]) -> Numbers:
    """Under which numbers those of these names are that are concepts."""
    return dict(transaction.rows("concept_numbers", {"names": [*names]}))


def roles_of(mentions: Iterable[Mention], known: Numbers) -> dict[int, int]:
    """By the number of a concept: in which roles it is mentioned."""
    roles: dict[int, int] = {}
    for mention in mentions:
        if mention.name:
            number = known[mention.name]
            roles[number] = roles.get(number, 0) | ROLE_BITS[mention.role]
    return roles


def set_mentions(transaction: Owned, found: Mapping[int, Mapping[int, int]]) -> set[int]:
    """Let versions mention these concepts and no others; which concepts are mentioned less.

    What somebody gave a version to mention stays.
    """
    versions = {"rows": [*found]}
    before = transaction.rows("mentions_of_rows", versions)
    missing = [known for known in before if known[1] not in found[known[0]]]
    gone = [(row, concept) for row, concept, given in missing if not given]
    transaction.change_each(
        "remove_mention", [{"row": row, "concept": concept} for row, concept in gone]
    )
    transaction.change_each(
        "set_mention",
        [
            {"row": row, "concept": concept, "roles": roles}
            for row, mentioned in found.items()
            for concept, roles in mentioned.items()
        ]
        + [{"row": row, "concept": x, "roles": given} for row, x, given in missing if given],
    )
    return {concept for _, concept in gone}


def drop_orphans(transaction: Owned, concepts: Iterable[int]) -> None:
    """Remove those of these concepts that nothing mentions or relates any more.

    Their merges go with them: what they held together falls apart.
    """
    candidates = sorted(concepts)
    found = transaction.rows("orphans", {"concepts": candidates})
    if not found:
        return
    gone = [number for [number] in found]
    tops = [stands_for(transaction, number) for number in gone]
    members = transaction.rows("standing_for", {"concepts": gone + tops})
    orphans = {"concepts": gone}
    transaction.change("remove_merges", orphans)
    point_anew(transaction, [number for [number] in members])
    transaction.change("remove_concepts", orphans)


def stands_for(transaction: Owned, concept: int) -> int:
    """Which concept a concept stands for."""
    [[top]] = transaction.rows("stands_for", {"concept": concept})
    return int(top)


def point_anew(transaction: Owned, concepts: Iterable[int]) -> None:
    """Let these concepts stand for what the merges that hold lead to."""
    transaction.change("point_anew", {"concepts": [*concepts]})
