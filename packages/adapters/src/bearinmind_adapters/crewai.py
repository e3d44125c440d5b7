"""A storage of CrewAI's memory over memories.

CrewAI searches a storage by the vector of a query alone. Bear in Mind ranks by words, meaning and
connection, and needs the query itself: so a storage brings its own embedder, whose vectors do no
more than name the texts that they were made of.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from crewai.memory.types import MemoryRecord, ScopeInfo

from bearinmind_adapters.documents import Document, Documents, Memories, Path

_REMEMBERED = 10_000  # texts whose vectors can be searched for
_MOST = 1_000  # candidates that filters choose from
_DIGITS = 6  # of a number in a vector


class BearInMindStorage:
    """Keeps the records of CrewAI's memory; deleted ones can be restored.

    Use it with its embedder: `Memory(storage=storage, embedder=storage.embedder)`.
    """

    def __init__(self, mind: Memories, *, application: str = "crewai", **options: Any) -> None:  # noqa: ANN401  those of `Documents`
        """Keep the records of one application in a memory."""
        self._documents = Documents(mind, application, **options)
        self._application = application
        self.embedder = TextNames()

    def save(self, records: Sequence[MemoryRecord]) -> None:
        """Keep records."""
        for record in records:
            self._put(record)

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The records that answer a query, each with the probability that it does."""
        query = self.embedder.text_of(query_embedding)
        if query is None:
            raise ValueError(
                "this vector was not made by the embedder of the storage: give CrewAI's Memory "
                "`embedder=storage.embedder` too"
            )
        filtered = bool(categories or metadata_filter)
        ranked = self._documents.search(
            _folder(scope_prefix), query, limit=_MOST if filtered else limit
        )
        matches = [(_record(document), probability) for document, probability in ranked]
        kept = [
            (record, probability)
            for record, probability in matches
            if probability >= min_score and _is_meant(record, categories, metadata_filter)
        ]
        return kept[:limit]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that meet every condition; how many there were."""
        documents = self._documents.below(_folder(scope_prefix))
        deleted = 0
        for document in documents:
            record = _record(document)
            if record_ids is not None and record.id not in record_ids:
                continue
            if older_than is not None and _in_utc(record.created_at) >= _in_utc(older_than):
                continue
            if _is_meant(record, categories, metadata_filter):
                self._documents.delete(document)
                deleted += 1
        return deleted

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id; the version before is kept."""
        before = self._document(record.id)
        if before is not None and before.path != _path(record):
            self._documents.move(before, _path(record))
        self._put(record)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """A record by its id."""
        document = self._document(record_id)
        return _record(document) if document else None

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """The records of a scope, the newest first."""
        records = self._records(scope_prefix)
        records.sort(key=lambda each: _in_utc(each.created_at), reverse=True)
        return records[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """What a scope holds."""
        records = self._records(scope)
        times = sorted((record.created_at for record in records), key=_in_utc)
        return ScopeInfo(
            path=scope,
            record_count=len(records),
            categories=sorted({name for record in records for name in record.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes that are directly in a scope."""
        above = _folder(parent)
        scopes = {_folder(record.scope) for record in self._records(parent)}
        below = {scope[: len(above) + 1] for scope in scopes if len(scope) > len(above)}
        return sorted(f"/{'/'.join(scope)}" for scope in below)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """How many records of a scope have each category."""
        records = self._records(scope_prefix)
        return dict(Counter(name for record in records for name in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """How many records a scope has."""
        return len(self._documents.below(_folder(scope_prefix)))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records of a scope."""
        self.delete(scope_prefix)

    async def asave(self, records: Sequence[MemoryRecord]) -> None:
        """Keep records, without blocking the event loop."""
        await asyncio.to_thread(self.save, records)

    async def asearch(self, *arguments: Any, **named: Any) -> list[tuple[MemoryRecord, float]]:  # noqa: ANN401  those of `search`
        """The records that answer a query, without blocking the event loop."""
        return await asyncio.to_thread(self.search, *arguments, **named)

    async def adelete(self, *arguments: Any, **named: Any) -> int:  # noqa: ANN401  those of `delete`
        """Delete records, without blocking the event loop."""
        return await asyncio.to_thread(self.delete, *arguments, **named)

    def _put(self, record: MemoryRecord) -> None:
        text = record.model_dump_json(exclude={"embedding"})
        self._documents.put(_path(record), text, [self._id_tag(record.id)], agent="crewai")

    def _document(self, record_id: str) -> Document | None:
        documents = self._documents.tagged(self._id_tag(record_id))
        return documents[0] if documents else None

    def _records(self, scope: str | None) -> list[MemoryRecord]:
        return [_record(document) for document in self._documents.below(_folder(scope))]

    def _id_tag(self, record_id: str) -> str:
        digest = hashlib.sha256(record_id.encode()).hexdigest()[:20]
        return f"{self._application}-id-{digest}"


class TextNames:
    """An embedder whose vectors name texts: those of equal texts are equal, others far apart."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[float, ...], str] = OrderedDict()
        self._lock = Lock()

    def __call__(self, texts: Iterable[str]) -> list[list[float]]:
        """A vector for each text."""
        named = [(_vector(text), text) for text in texts]
        with self._lock:
            for vector, text in named:
                self._texts[vector] = text
                self._texts.move_to_end(vector)
            while len(self._texts) > _REMEMBERED:
                self._texts.popitem(last=False)
        return [[*vector] for vector, _ in named]

    def text_of(self, vector: Iterable[float]) -> str | None:
        """The text that a vector was made of."""
        return self._texts.get(tuple(round(float(each), _DIGITS) for each in vector))


def _vector(text: str) -> tuple[float, ...]:
    centred = [byte - 127.5 for byte in hashlib.sha512(text.encode()).digest()]
    length = sum(each * each for each in centred) ** 0.5
    return tuple(round(each / length, _DIGITS) for each in centred)


def _folder(scope: str | None) -> Path:
    return tuple(part for part in (scope or "/").split("/") if part)


def _path(record: MemoryRecord) -> Path:
    return (*_folder(record.scope), record.id)


def _record(document: Document) -> MemoryRecord:
    return MemoryRecord.model_validate_json(document.text)


def _in_utc(moment: datetime) -> datetime:
    """A moment; CrewAI's own are in UTC and do not say so."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_meant(
    record: MemoryRecord, categories: list[str] | None, metadata: dict[str, Any] | None
) -> bool:
    has_category = not categories or bool({*categories} & {*record.categories})
    wanted = (metadata or {}).items()
    return has_category and all(record.metadata.get(name) == value for name, value in wanted)
