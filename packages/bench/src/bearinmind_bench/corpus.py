"""The corpus of a set in a store of the run's own, and the embedders that the run uses."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from bearinmind import config
from bearinmind.app import Mind, embedders_of
from bearinmind.config import Settings, cache_folder, store_name
from bearinmind.errors import Conflict, InvalidInput, InvalidSetting, NotFound, UnknownCategory
from bearinmind.models.caches import CachedEmbedder, EmbeddingCache
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Embedder, Store
from bearinmind.remember.admit import (
    KEYWORD_LIMIT,
    KEYWORDS_LIMIT,
    TAG_LIMIT,
    TAGS_LIMIT,
    check_category,
    check_content,
)
from bearinmind.store import factory
from bearinmind.text.addresses import EmbeddedStore, StoreFile, StoreServer
from bearinmind.types import (
    ID_ALPHABET,
    ID_LENGTH,
    AlreadyKnown,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Stored,
    UserId,
)
from bearinmind_bench.evaluation import EvaluationSet, Record, moment, superseded_by, user_of
from bearinmind_bench.results import Ingest

SQLITE = "sqlite"
POSTGRES = "postgres"


#: The kinds of links that a set has.
LINKS = (LinkKind.SUPERSEDES,)


def links_of(texts: Sequence[str]) -> frozenset[LinkKind]:
    """The kinds of links to withhold.

    Raises:
        InvalidInput: no set has links of that kind.
    """
    unknown = [text for text in texts if text not in LINKS]
    if unknown:
        raise InvalidInput(
            f"no set has links of the kind {unknown[0]!r}", hint=f"Withhold {', '.join(LINKS)}."
        )
    return frozenset(map(LinkKind, texts))


def kind_of(text: str) -> str:
    """The kind of store that a text asks for: of a server it is all that a result says.

    Raises:
        InvalidSetting: it asks for none.
    """
    if text == SQLITE:
        return SQLITE
    _server(text)
    return POSTGRES


@contextmanager
def empty_store(text: str) -> Iterator[Store]:
    """A store of that kind: in a file, or in a database that is made on a server for the run.

    Raises:
        InvalidSetting: there is no such kind of store.
        StoreFailure: the server cannot be used for this.
    """
    if text == SQLITE:
        with tempfile.TemporaryDirectory(prefix="bearinmind-bench-") as folder:
            name = StoreFile(Path(folder) / "memories.db")
            with closing(factory.open_store(name)) as store:
                yield store
        return
    factory.require_driver()
    from bearinmind_bench.scratch import scratch_database  # noqa: PLC0415  needs an extra

    with (
        scratch_database(factory.url_of(_server(text))) as url,
        closing(factory.open_database(url)) as store,
    ):
        yield store


def _server(text: str) -> StoreServer | EmbeddedStore:
    name = store_name(text)
    if isinstance(name, StoreFile):
        raise InvalidSetting(
            f"there is no kind of store {text!r}",
            hint="Use sqlite, postgres, or the URL of a Postgres server; a run makes its own.",
        )
    return name


_MOST_BYTES = 4_000_000_000  # every published set with every recipe that was ever swept


class EmbeddersOfRun:
    """Gives settings their embedders."""

    def __init__(self, *, keep_queries: bool = False, file: Path | None = None) -> None:
        self._keep_queries = keep_queries
        self._file = file or default_cache()
        self._made: dict[str, Embedders] = {}

    def of(self, settings: Settings) -> Embedders:
        """The embedders that these settings ask for.

        Raises:
            MindError: there are none, such as for want of a key.
        """
        key = repr([getattr(settings, name) for name in Settings.model_fields if "embed" in name])
        if key not in self._made:
            self._made[key] = self._make(settings)
        return self._made[key]

    def _make(self, settings: Settings) -> Embedders:
        embedder = embedders_of(settings).configured()
        if embedder is None:
            return Embedders.among(None)
        return Embedders.among(kept(embedder, queries=self._keep_queries, file=self._file))

    def close(self) -> None:
        """Release every model."""
        for embedders in self._made.values():
            embedders.close()
        self._made.clear()


def kept(embedder: Embedder, *, queries: bool = False, file: Path | None = None) -> CachedEmbedder:
    """The same embedder, asked only for what no run ever embedded with it."""
    return CachedEmbedder(embedder, cache_of_runs(file), queries=queries)


def cache_of_runs(file: Path | None = None) -> EmbeddingCache:
    """The embeddings that are kept from run to run, in the named file or the usual one."""
    return EmbeddingCache(file or default_cache(), most_bytes=_MOST_BYTES)


def default_cache() -> Path:
    """The file in which embeddings are kept from run to run."""
    return cache_folder() / "bench-embeddings.db"


#: When a memory was made whose record does not say.
UNDATED = datetime(2024, 1, 1, tzinfo=UTC)
_BATCH = 1_000
_UNBOUNDED = 1_000_000  # the most that the setting allows


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCorpus:
    """An evaluation set's corpus in a store."""

    store: Store
    bounds: Mapping[str, Any]  #: settings without which the corpus could not be stored
    adaptations: tuple[str, ...]  #: what had to be done to store it, in words
    names: Mapping[MemoryId, str]  #: from our ids to those of the set
    newest: Mapping[str, datetime]  #: by user: the last memory's time, if all have one
    ingest: Ingest


def fill(
    store: Store,
    data: EvaluationSet,
    progress: Callable[[int], None],
    *,
    withhold: Collection[LinkKind] = (),
) -> StoredCorpus:
    """Import a corpus; what is not stored is counted and said, never dropped in silence.

    Links of the kinds to withhold are left out, as if nobody had ever said them.
    """
    began = perf_counter()
    lifted = lift_bounds(data)
    notes: Counter[str] = Counter()
    ids = {record["id"]: _own_id(number) for number, record in enumerate(data.corpus)}
    outcomes: Counter[str] = Counter()
    for user, records in data.users.items():
        memory = Mind(store, config.checked({"user": user, **lifted.settings}))
        memories = [memory_of(record, ids[record["id"]], notes) for record in records]
        outcomes += _import(memory, memories, notes, progress)
        if LinkKind.SUPERSEDES in withhold:
            notes["supersedes links were withheld"] += sum(map(len, map(superseded_by, records)))
        else:
            _supersede(memory, records, ids, notes)
    seconds = perf_counter() - began
    merged, refused = outcomes["merged"], outcomes["refused"]
    notes["memories say the same as another one and were merged"] += merged
    return StoredCorpus(
        store=store,
        bounds=lifted.settings,
        adaptations=(*lifted.notes, *(f"{n} {text}" for text, n in notes.items() if n)),
        names={own: name for name, own in ids.items()},
        newest=newest_of(data),
        ingest=Ingest(
            seconds=seconds,
            memories_per_second=outcomes["stored"] / seconds,
            merged=merged,
            refused=refused,
        ),
    )


@dataclass(frozen=True, slots=True)
class Lifted:
    """Settings without which a corpus could not be stored, and what they are in words."""

    settings: dict[str, Any]
    notes: tuple[str, ...]


def lift_bounds(data: EvaluationSet) -> Lifted:
    """The bounds that this corpus exceeds, lifted."""
    plain = Settings()
    settings: dict[str, Any] = {}
    notes = []
    long = 0
    for record in data.corpus:
        try:
            check_content(record["content"], plain.content_limit)
        except InvalidInput:
            long += len(record["content"]) > plain.content_limit
    if long:
        settings["content_limit"] = _UNBOUNDED
        notes.append(
            f"content_limit lifted from {plain.content_limit:,} for {long:,} longer memories"
        )
    unknown = [*_unknown_categories(data, plain)]
    if unknown:
        settings["categories"] = (*plain.categories, *unknown)
        notes.append(f"categories added: {', '.join(unknown)}")
    return Lifted(settings, tuple(notes))


def _unknown_categories(data: EvaluationSet, plain: Settings) -> Iterator[str]:
    known = [*plain.categories]
    for category in dict.fromkeys(str(record.get("category") or "") for record in data.corpus):
        try:
            check_category(category or known[0], known)
        except UnknownCategory:
            known.append(category)
            yield category


def _import(
    memory: Mind,
    memories: list[Memory],
    notes: Counter[str],
    progress: Callable[[int], None],
) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    waiting = iter(memories)
    while batch := [*islice(waiting, _BATCH)]:
        histories = []
        for one in batch:
            try:
                histories.append(memory.transfer.admit([one]))
            except InvalidInput as exc:
                outcomes["refused"] += 1
                notes[f"memories were refused: {exc.code}"] += 1
        for outcome in memory.transfer.add(histories):
            match outcome:
                case Stored():
                    outcomes["stored"] += 1
                case AlreadyKnown():
                    outcomes["merged"] += 1
                case None:
                    raise AssertionError("ids made by counting cannot be taken")
        progress(len(batch))
    return outcomes


def _supersede(
    memory: Mind, records: list[Record], ids: Mapping[str, MemoryId], notes: Counter[str]
) -> None:
    """Link the memories that stand in the place of others; one end may not have been stored."""
    for record in records:
        for older in superseded_by(record):
            link = Link(
                source=ids[record["id"]],
                target=ids[older],
                kind=LinkKind.SUPERSEDES,
                created_at=_created(record),
            )
            try:
                memory.transfer.add_link(link)
            except (Conflict, NotFound) as exc:
                notes[f"supersedes links were left out: {exc.code}"] += 1


def memory_of(record: Record, id_: MemoryId, notes: Counter[str]) -> Memory:
    """The memory that a record describes; what is left out of it is counted in the notes."""
    created = _created(record)
    return Memory(
        id=id_,
        owner=UserId(user_of(record)),
        content=record["content"],
        category=str(record.get("category") or Settings().categories[0]),
        tags=_tags(record, notes),
        keywords=_keywords(record, notes),
        importance=record["importance"] if record.get("importance") is not None else 0.5,
        sensitive=False,
        created_at=created,
        updated_at=created,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(),
        version=1,
    )


def newest_of(data: EvaluationSet) -> dict[str, datetime]:
    """By user: the last memory's time, if all have one."""
    return {
        user: max(map(_created, records))
        for user, records in data.users.items()
        if all(record.get("created_at") for record in records)
    }


def _created(record: Record) -> datetime:
    if not record.get("created_at"):
        return UNDATED
    when = moment(record["created_at"], f"memory {record['id']!r}")
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _tags(record: Record, notes: Counter[str]) -> tuple[str, ...]:
    words = dict.fromkeys(words_of(record.get("tags")))
    kept = [word for word in words if len(word) <= TAG_LIMIT][:TAGS_LIMIT]
    notes["tags were left out: too long or too many"] += len(words) - len(kept)
    return tuple(kept)


def _keywords(record: Record, notes: Counter[str]) -> tuple[str, ...]:
    phrases = words_of(record.get("expanded_keywords") or record.get("keywords"))
    words = dict.fromkeys(
        word
        for phrase in phrases
        for word in ([phrase] if len(phrase) <= KEYWORD_LIMIT else phrase.split())
    )
    kept = [word for word in words if len(word) <= KEYWORD_LIMIT][:KEYWORDS_LIMIT]
    notes["keywords were left out: too long or too many"] += len(words) - len(kept)
    return tuple(kept)


def words_of(value: object) -> list[str]:
    """Words of a record: a list, or a text with commas."""
    parts = value if isinstance(value, list) else re.split(",", str(value or ""))
    return [text for part in parts for text in [str(part).replace(",", " ").strip()] if text]


def _own_id(number: int) -> MemoryId:
    """An id of ours that counts, so that equal scores are in the order of the corpus."""
    digits = ""
    while number:
        number, digit = divmod(number, len(ID_ALPHABET))
        digits = ID_ALPHABET[digit] + digits
    return MemoryId(digits.rjust(ID_LENGTH, ID_ALPHABET[0]))
