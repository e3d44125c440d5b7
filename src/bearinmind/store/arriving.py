"""Takes many memories with their histories into a store at once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from bearinmind import analysis
from bearinmind.protocols import History
from bearinmind.store import indexing, mentions, rows, secrets, spaces
from bearinmind.store.database import Database, Owned, Parameters, Version
from bearinmind.types import AlreadyKnown, Memory, MemoryId, Outcome, Stored


class _Arrival(NamedTuple):
    """A history that is kept, and by which hashes its versions are known."""

    history: History
    hashes: tuple[bytes, ...]


class Arrivals:
    """Histories that arrive together: what is asked and what is kept goes for all at once."""

    def __init__(
        self, database: Database, transaction: Owned, siblings: Container[MemoryId] = ()
    ) -> None:
        self._database = database
        self._transaction = transaction
        self._siblings = siblings
        self._kept: dict[MemoryId, _Arrival] = {}
        self._live: dict[bytes, Memory] = {}  # the oldest of those that say the same

    def admit(self, histories: Sequence[History]) -> list[Outcome | None]:
        """Which of them are new; None where that id is stored already, in any state."""
        arrivals = [_Arrival(each, hashes_of(each)) for each in histories]
        asked = [
            {"id": each.history.versions[-1].id, "content_hash": each.hashes[-1]}
            for each in arrivals
        ]
        ids = [each["id"] for each in asked]
        stored = {id_ for [id_] in self._transaction.rows("stored_ids", {"ids": ids})}
        known = self._transaction.rows_of_each("known", asked)
        return [
            None if id_ in stored else self._outcome(each, [rows.to_memory(row) for row in same])
            for each, id_, same in zip(arrivals, ids, known, strict=True)
        ]

    def _outcome(self, arrival: _Arrival, known: list[Memory]) -> Outcome | None:
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
        """Take all of these for new, whatever they say; none of their ids is stored."""
        for history in histories:
            self._kept[history.versions[-1].id] = _Arrival(history, hashes_of(history))

    @property
    def kept(self) -> list[MemoryId]:
        """The ids of the new ones."""
        return [*self._kept]

    def keep(self) -> None:
        """Keep the new ones, each version with all that belongs to it."""
        if not self._kept:
            return
        transaction = self._transaction
        memories, parameters = zip(*self._versions(), strict=True)
        placed = zip(self._insert(parameters), memories, parameters, strict=True)
        found = [
            Version(row, memory, past=said["replaced_at"] != rows.NOT_YET)
            for row, memory, said in placed
            if memory.deleted_at is None
        ]
        indexing.insert(self._database, transaction, {each.row: each.memory for each in found})
        spaces.queue(transaction, found)
        mentions.queue(transaction, found)
        for arrival in self._kept.values():
            secrets.keep(transaction, arrival.history.sealed)

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
        given = [number for number in numbers if number is not None]
        if given:
            self._transaction.insert("insert_memory", numbered)
            return given
        return [row for [[row]] in self._transaction.rows_of_each("insert_memory", numbered)]


def hashes_of(history: History) -> tuple[bytes, ...]:
    """By which hash each version is known; a sensitive one may say what the one before does."""
    hashes: list[bytes] = []
    for memory in history.versions:
        known_by = secrets.given_hash(memory, history.sealed)
        before = hashes[-1] if hashes else analysis.fingerprint(memory.content)
        hashes.append(known_by or before)
    return tuple(hashes)


def _age(memory: Memory) -> tuple[object, MemoryId]:
    return memory.created_at, memory.id
