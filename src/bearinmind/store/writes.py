"""What writes do to versions and links, and to everything that is derived from them.

Index, vectors, jobs, proposals and numbers of changes. All of it runs inside a transaction of the
caller.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from secrets import token_hex
from typing import Any, NamedTuple

from bearinmind.changes import Subject, link_subject, memory_subject
from bearinmind.errors import DuplicateLink, KeyRetired, SupersedeCycle
from bearinmind.proposals import CONCEALED, REDACTED
from bearinmind.protocols import History, Sealed
from bearinmind.store import graph, rows, spaces
from bearinmind.store.database import Database, Parameters, Version
from bearinmind.store.rows import Owned
from bearinmind.text import analysis
from bearinmind.types import AlreadyKnown, Link, LinkKind, Memory, MemoryId, Outcome, Stored, new_id


def insert_version(database: Database, transaction: Owned, memory: Memory, known_by: bytes) -> None:
    """Add the present version of a memory, with its content hash."""
    [number] = transaction.numbers(1)
    version = rows.from_memory(memory, None) | {"row": number, "content_hash": known_by}
    [[row]] = transaction.rows("insert_memory", version)
    conceal_judgements(transaction, [memory])
    if memory.deleted_at is None:
        index_versions(database, transaction, {row: memory})
        embedded: Container[int] = ()
        read_by = None
        if memory.version > 1 and not memory.sensitive:
            embedded = spaces.copy_vectors(database, transaction, row, memory)
            read_by = graph.copy_mentions(transaction, row, memory)
        queue_versions(transaction, [Version(row, memory)], embedded, read_by)


def close_version(database: Database, transaction: Owned, present: Memory, at: datetime) -> None:
    """End the present version of a memory."""
    place = {"id": present.id, "version": present.version}
    for [row] in transaction.rows("close_version", place | {"replaced_at": rows.from_time(at)}):
        for statement in ("forget_comparison", *database.steps.closed):
            transaction.change(statement, {"row": row})


def remove_versions_after(transaction: Owned, id: MemoryId, version: int) -> None:
    """Remove the versions of a memory after one."""
    behind = {"id": id, "version": version}
    records = transaction.rows("rows_behind", behind)
    forget_derived(transaction, [row for [row] in records])
    transaction.change("forget_secrets_behind", behind)
    transaction.change("delete_behind", behind)


def purge_memories(transaction: Owned, ids: Sequence[MemoryId]) -> None:
    """Remove memories, with their links, shares and everything derived from them.

    The caller removes their last terms from the index by `scrub_index`.
    """
    parameters = {"ids": [*ids]}
    spaces.forget_memories(transaction, ids)
    graph.forget_memories(transaction, ids)
    redact_proposals(transaction, ids)
    forgetting = ("forget_secrets", "forget_shares")
    for statement in (*forgetting, "delete_links", "delete_indexed", "delete_memories"):
        transaction.change(statement, parameters)


def index_versions(database: Database, transaction: Owned, versions: Mapping[int, Memory]) -> None:
    """Index the terms of versions, by the number of their row."""
    entries = {row: analysis.entry(memory) for row, memory in versions.items()}
    transaction.insert(
        "insert_indexed",
        [
            {"row": row, **database.entry_parameters(transaction.owner, entry)}
            for row, entry in entries.items()
        ],
    )
    terms = sum(entry.length for entry in entries.values())
    for statement in database.steps.indexed:
        transaction.change(statement, {"versions": len(entries), "terms": terms})


def scrub_index(database: Database, transaction: Owned) -> None:
    """Remove what deleted entries have left behind in the index."""
    for statement in database.steps.forgotten:
        transaction.change(statement)


def forget_derived(transaction: Owned, rows: Sequence[int]) -> None:
    """Remove what index, spaces, queue and graph have of versions,."""
    for row in rows:
        for statement in ("forget_indexed_row", "forget_vectors_of_row", "forget_jobs_of_row"):
            transaction.change(statement, {"row": row})
    graph.forget_versions(transaction, rows)


def conceal_versions(
    database: Database, transaction: Owned, concealed: Sequence[Memory], sealed: Sequence[Sealed]
) -> None:
    """Overwrite the text of earlier versions, and what is made from it: index, graph, proposals."""
    if not concealed:
        return
    fingerprints = {record.version: record.fingerprint for record in sealed}
    for memory in concealed:
        overwritten: dict[str, Any] = {
            "id": memory.id,
            "version": memory.version,
            "content": memory.content,
            "content_hash": fingerprints[memory.version],
        }
        for [row] in transaction.rows("conceal_version", overwritten):
            forget_derived(transaction, [row])
            if memory.deleted_at is None:
                index_versions(database, transaction, {row: memory})
    scrub_index(database, transaction)
    redact_proposals(transaction, [concealed[0].id], CONCEALED)


def keep_sealed(transaction: Owned, sealed: Sequence[Sealed]) -> None:
    """Keep sealed records; those under a retired key are refused."""
    if not sealed:
        return
    gone = retired_keys(transaction)
    for record in sealed:
        if record.key_id in gone:
            raise KeyRetired(f"the key {record.key_id} was rotated away")
        transaction.change("keep_secret", asdict(record))


def retired_keys(transaction: Owned) -> frozenset[str]:
    """The keys whose records are refused."""
    return frozenset(row[0] for row in transaction.rows("retired_keys"))


def content_hash(transaction: Owned, memory: Memory, sealed: Sequence[Sealed]) -> bytes:
    """The content hash of a version; of a sensitive one never the hash of its text."""
    known = hash_without_history(memory, sealed)
    if known is not None:
        return known
    row = transaction.row("hash_of", {"id": memory.id, "version": memory.version - 1})
    return bytes(row[0]) if row else analysis.fingerprint(memory.content)


def hash_without_history(memory: Memory, sealed: Sequence[Sealed]) -> bytes | None:
    """The content hash of a version, as far as it can be known without the version before.

    None for a sensitive one without a record: its content is that of the version before.
    """
    if not memory.sensitive:
        return analysis.fingerprint(memory.content)
    records = [record for record in sealed if record.version <= memory.version]
    return max(records, key=lambda record: record.version).fingerprint if records else None


class _NewMemory(NamedTuple):
    """A history to insert, and the content hashes of its versions."""

    history: History
    hashes: tuple[bytes, ...]


class BulkInsert:
    """Inserts many histories with few statements."""

    def __init__(
        self, database: Database, transaction: Owned, siblings: Container[MemoryId] = ()
    ) -> None:
        self._database = database
        self._transaction = transaction
        self._siblings = siblings
        self._kept: dict[MemoryId, _NewMemory] = {}
        self._live: dict[bytes, Memory] = {}  # the oldest memory of each content

    def admit(self, histories: Sequence[History]) -> list[Outcome | None]:
        """Decide which of them are new; None where that id is stored already, in any state."""
        arrivals = [_NewMemory(each, content_hashes(each)) for each in histories]
        candidates = [
            rows.as_known(each.history.versions[-1], each.hashes[-1]) for each in arrivals
        ]
        ids = [each["id"] for each in candidates]
        stored = {id_ for [id_] in self._transaction.rows("stored_ids", {"ids": ids})}
        known = self._transaction.rows_of_each("known", candidates)
        return [
            None if id_ in stored else self._outcome(each, [rows.to_memory(row) for row in same])
            for each, id_, same in zip(arrivals, ids, known, strict=True)
        ]

    def _outcome(self, arrival: _NewMemory, known: list[Memory]) -> Outcome | None:
        present, hash_ = arrival.history.versions[-1], arrival.hashes[-1]
        if present.id in self._kept:
            return None
        if present.deleted_at is None:
            same = [*known, *([self._live[hash_]] if hash_ in self._live else [])]
            oldest = min(same, key=_age, default=None)
            if oldest is not None and oldest.id not in self._siblings:
                return AlreadyKnown(memory=oldest)
            self._live[hash_] = min([present, *same], key=_age)
        self._kept[present.id] = arrival
        return Stored(memory=present)

    def take(self, histories: Iterable[History]) -> None:
        """Treat all of these as new; none of their ids is stored."""
        for history in histories:
            self._kept[history.versions[-1].id] = _NewMemory(history, content_hashes(history))

    @property
    def kept(self) -> list[MemoryId]:
        return [*self._kept]

    def keep(self) -> None:
        """Insert the new ones, each version with everything derived from it."""
        if not self._kept:
            return
        transaction = self._transaction
        memories, parameters = zip(*self._versions(), strict=True)
        placed = zip(self._insert(parameters), memories, parameters, strict=True)
        live = [
            Version(row, memory, past=values["replaced_at"] != rows.NOT_YET)
            for row, memory, values in placed
            if memory.deleted_at is None
        ]
        conceal_judgements(transaction, memories)
        index_versions(self._database, transaction, {each.row: each.memory for each in live})
        queue_versions(transaction, live)
        for arrival in self._kept.values():
            keep_sealed(transaction, arrival.history.sealed)

    def _versions(self) -> Iterator[tuple[Memory, dict[str, Any]]]:
        """Every version that is kept, with its parameters."""
        for history, hashes in self._kept.values():
            ends = [*(later.updated_at for later in history.versions[1:]), None]
            for memory, end, known_by in zip(history.versions, ends, hashes, strict=True):
                yield memory, rows.from_memory(memory, end) | {"content_hash": known_by}

    def _insert(self, versions: Sequence[Parameters]) -> list[int]:
        """Add versions; the numbers of their rows."""
        numbers = self._transaction.numbers(len(versions))
        numbered = [
            {**version, "row": number} for number, version in zip(numbers, versions, strict=True)
        ]
        known_numbers = [number for number in numbers if number is not None]
        if known_numbers:
            self._transaction.insert("insert_memory", numbered)
            return known_numbers
        return [row for [[row]] in self._transaction.rows_of_each("insert_memory", numbered)]


def content_hashes(history: History) -> tuple[bytes, ...]:
    """The content hash of each version. A sensitive one may have that of the version before."""
    hashes: list[bytes] = []
    for memory in history.versions:
        known_by = hash_without_history(memory, history.sealed)
        before = hashes[-1] if hashes else analysis.fingerprint(memory.content)
        hashes.append(known_by or before)
    return tuple(hashes)


def _age(memory: Memory) -> tuple[object, MemoryId]:
    return memory.created_at, memory.id


# ---- jobs of inserted versions ------------------------------------------------------------------


def queue_versions(
    transaction: Owned,
    versions: Sequence[Version],
    embedded: Container[int] = (),
    read_by: int | None = None,
) -> None:
    """Queue the jobs that embed, read and compare inserted versions.

    `embedded` are the spaces that have their vectors already, `read_by` is the extractor that has
    read them. Past versions come last, and are not compared.
    """
    plain = [each for each in versions if not each.memory.sensitive]
    if not plain:
        return
    for space, key, _, turn in transaction.rows("spaces_in_use"):
        if space not in embedded:
            transaction.insert("insert_job", [_job("embed", x, key, turn) for x in plain])
    for extractor, key in transaction.rows("extractor_in_use"):
        if extractor != read_by:
            transaction.insert("insert_job", [_job("extract", x, key) for x in plain])
    transaction.insert("insert_job", [_job("compare", x) for x in plain if not x.past])


def _job(kind: str, version: Version, target: str = "", turn: int = 0) -> dict[str, object]:
    place = 2 if version.past else turn
    return {"kind": kind, "target": target, "row": version.row, "turn": place}


# ---- proposals -----------------------------------------------------------------------------------

_DIGEST = 32  # bytes


def redact_proposals(transaction: Owned, ids: Sequence[MemoryId], reason: str = REDACTED) -> None:
    """Remove what proposals say of these memories.

    Their ids and digests too, for random ones: they are made from the text, and a short text can be
    guessed from them. So the same may be proposed again.
    """
    # As they stand in the JSON that is kept.
    named = [json.dumps(id_, ensure_ascii=False) for id_ in ids]
    redacted = [
        {"id": id_, "new_id": new_id(), "digest": token_hex(_DIGEST), "reason": reason}
        for [id_] in transaction.rows("proposals_naming", {"named": named})
    ]
    transaction.change_each("redact_proposal", redacted)


# ---- links, without texts about a memory that is sensitive ---------------------------------------


def insert_link(transaction: Owned, link: Link) -> None:
    """Keep a link; duplicates and supersede cycles are refused."""
    refuse_cycle(transaction, link)
    if not transaction.change("insert_link", link_row(transaction, link)):
        raise DuplicateLink(f"{link.source} {link.kind} {link.target} is there already")


def refuse_cycle(transaction: Owned, link: Link) -> None:
    """Raise when a link would make a memory supersede itself."""
    if link.kind is LinkKind.SUPERSEDES and link.removed_at is None:
        reverse = rows.from_noun(link) | {"source": link.target, "target": link.source}
        if transaction.row("supersedes_already", reverse):
            raise SupersedeCycle(
                f"{link.target} already supersedes {link.source}, directly or by way of others"
            )


def link_row(transaction: Owned, link: Link) -> dict[str, Any]:
    """A link as parameters, without texts about a memory that has a sensitive version.

    They quote it. Every store leaves them out by the same rule, so that need not be synced.
    """
    judgement = link.judgement
    ends = {"ids": [link.source, link.target]}
    if judgement is not None and transaction.rows("sensitive_among", ends):
        link = replace(link, judgement=replace(judgement, thing="", aspect="", evidence=()))
    return rows.from_link(link)


def conceal_judgements(transaction: Owned, versions: Iterable[Memory]) -> None:
    """Remove the texts of what was judged about memories that are sensitive."""
    for id_ in dict.fromkeys(memory.id for memory in versions if memory.sensitive):
        transaction.change("conceal_judgements", {"id": id_})


# ---- numbers of changes --------------------------------------------------------------------------


def note(transaction: Owned, changed: Mapping[Subject, tuple[str, ...]]) -> dict[Subject, int]:
    """Number what changed, if the owner has a feed; the numbers that were given.

    Of a purged memory the digests of all its versions come with it.
    """
    advanced = transaction.row("advance_feed", {"count": len(changed)}) if changed else None
    if advanced is None:
        return {}
    first = advanced[0] - len(changed) + 1
    numbers = {subject: number for number, subject in enumerate(changed, first)}
    transaction.change_each(
        "note_change",
        [
            place_of(subject) | {"number": number, "gone": json.dumps(changed[subject])}
            for subject, number in numbers.items()
        ],
    )
    return numbers


def note_written(
    transaction: Owned, ids: Collection[MemoryId] = (), links: Collection[Link] = ()
) -> None:
    """Number memories and links that were written, if the owner has a feed: few have."""
    if not (ids or links) or transaction.row("feed") is None:
        return
    linked = [link_subject(link.source, link.kind, link.target) for link in links]
    note(transaction, dict.fromkeys([*map(memory_subject, ids), *linked], ()))


def place_of(subject: Subject) -> dict[str, object]:
    """A thing that can change, as parameters."""
    return {"kind": subject.kind, "name": subject.name}
