"""What a move between two stores consists of: the tables, and the two endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from bearinmind.store.database import Database, Parameters, Row
from bearinmind.store.rows import VERSION_COLUMNS

#: A key before every other one; numbers begin at 1.
_FIRST: Parameters = {
    **dict.fromkeys(("owner", "id", "source", "kind", "target", "key_id", "name"), ""),
    **dict.fromkeys(("row", "number", "version", "removed_at", "concept", "relation", "space"), 0),
    **dict.fromkeys(("day", "step", "start"), -1),
}


class Table(NamedTuple):
    """One table: `give_` and `take_` its name are its statements, with these columns."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()  #: it is read in the order of these, or of some of them
    numbered: tuple[str, ...] = ()  #: the columns that hold numbers of its owner
    derived: bool = False  #: by the store itself, from others: not moved, but compared

    @property
    def beginning(self) -> Parameters:
        """The key before the first row."""
        return {name: _FIRST[name] for name in self.key}

    def key_of(self, row: Row) -> Parameters:
        named = self.named(row)
        return {name: named[name] for name in self.key}

    def named(self, row: Row) -> dict[str, Any]:
        return dict(zip(self.columns, row, strict=True))


def _table(name: str, columns: str, key: str, numbered: str = "") -> Table:
    return Table(name, tuple(columns.split()), tuple(key.split()), tuple(numbered.split()))


MEMORIES = Table("memories", ("owner", "row", *VERSION_COLUMNS), ("owner", "row"), ("row",))
INDEXED = _table(
    "indexed",
    "owner row content keywords tags category function length",
    key="owner row",
    numbered="row",
)
VECTORS = _table("vectors", "owner space row vector", key="owner space row", numbered="row")
STANDING = _table(
    "standing", "owner number stands_for", key="owner number", numbered="number stands_for"
)

#: Every table. A concept may stand for one that comes after it, so all of them come first.
TABLES = (
    MEMORIES,
    INDEXED,
    _table(
        "links",
        "owner source kind target removed_at created_at judgement",
        key="owner source kind target removed_at",
    ),
    _table(
        "secrets", "owner id version key_id nonce ciphertext fingerprint", key="owner id version"
    ),
    _table("retired_keys", "key_id retired_at", key="key_id"),
    _table(
        "audit",
        "owner number at action id version agent key detail",
        key="owner number",
        numbered="number",
    ),
    _table("spaces", "number key description state embedded", key="number"),
    VECTORS,
    _table(
        "work",
        "owner number kind target row state due turn attempts error",
        key="owner number",
        numbered="row",  # jobs themselves are numbered by the store
    ),
    _table("extractors", "number key in_use", key="number"),
    _table("readings", "owner row extractor", key="owner row", numbered="row"),
    _table(
        "concepts",
        "owner number name label kind memories subjects",
        key="owner number",
        numbered="number",
    ),
    STANDING,
    _table(
        "mentions", "owner concept row roles given", key="owner concept row", numbered="concept row"
    ),
    _table(
        "relations",
        "owner number source type target weight valid_from valid_to recorded_at retracted_at"
        " decided founded origin",
        key="owner number",
        numbered="number source target",
    ),
    _table(
        "evidence",
        "owner relation row since until given",
        key="owner relation row",
        numbered="relation row",
    ),
    _table(
        "merges",
        "owner number alias concept reason score merged_at undone_at",
        key="owner number",
        numbered="number alias concept",
    ),
    _table(
        "shares",
        "owner number reader memory tag can_write created_at ended_at",
        key="owner number",  # its own: nothing else of an owner refers to it
    ),
    _table("users", "name created_at disabled_at", key="name"),
    _table(
        "keys",
        "id user_name access hash label created_at expires_at revoked_at per_minute per_day",
        key="id",
    ),
    _table("uses", "key_id day writes", key="key_id day"),
    _table("traffic", "owner kind step start count", key="owner kind step start"),
    _table("feeds", "owner epoch head", key="owner"),
    _table("changes", "owner kind name number gone refused", key="owner kind name"),
    _table(
        "peers",
        "owner url user_name epoch cursor pulled_at pushed_at pull_error push_error"
        " shared_at shared_error",
        key="owner",
    ),
    _table("peer_numbers", "owner kind name number", key="owner kind name"),
    _table(
        "conflicts",
        "owner number kind subject_kind subject_name served other detail at resolved_at",
        key="owner number",
    ),
    _table(
        "proposals",
        "owner id kind origin memories reason evidence change digest created_at"
        " state decided_at undo",
        key="owner id",
    ),
    Table("index_facts", ("versions", "terms"), derived=True),
)


class TransferSteps(NamedTuple):
    """Steps for which a dialect runs its own list of statements, in order."""

    beginning: tuple[str, ...]  #: clear an empty store, and lock it
    settling: tuple[str, ...]  #: when every row is there
    ending: tuple[str, ...]  #: unlock it
    #: By table, where it is not `take_` and the name of the table.
    taking: Mapping[str, tuple[str, ...]]


class Snapshot(Protocol):
    """A store as it was at one moment, whatever is written meanwhile."""

    def read(self, statement: str) -> list[Row]:
        """All rows of a statement without parameters."""

    def pages(self, table: Table, after: Parameters, size: int) -> Iterator[list[Row]]:
        """The rows of a table after a key, in pages of `size`, with the values of every dialect."""


class Endpoint(Protocol):
    """A store that is moved from, or into."""

    @property
    def database(self) -> Database:
        """Its database."""

    @property
    def steps(self) -> TransferSteps:
        """The steps that differ between dialects."""

    @property
    def place(self) -> str:
        """Where it is, for messages."""

    @property
    def numbers_by_owner(self) -> bool:
        """Whether two owners may use the same number."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The store as it is now, as long as the context lasts."""

    def vector_parameters(self, vector: bytes) -> Parameters:
        """The parameters of `take_vectors` that say what a vector is: float16, little-endian."""

    def is_there(self) -> bool:
        """Whether there is a store at all."""

    def refuse_vectors(self) -> None:
        """Raise if vectors cannot be kept."""

    def rest(self) -> None:
        """Optional upkeep after so many writes."""

    def discard(self) -> None:
        """Remove what an unfinished move has written."""

    def close(self) -> None:
        """Release it."""
