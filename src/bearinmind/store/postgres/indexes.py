"""The HNSW indexes of vector spaces: which there are, which are due, and building them.

An index is built while others read and write. A build that was killed leaves an index behind that
nothing uses: it is dropped, and built again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg import Connection, sql
from psycopg import errors as pg_errors

from bearinmind.store.postgres.connection_pool import translated
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.postgres.search_plan import COSTS, Costs

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

_PREFIX = "vectors_of_space_"
_HALF_BYTES = 2
_LINK_BYTES = 512  # of an index for each vector beside its numbers, with m = 16


class SpaceIndex(NamedTuple):
    """A vector space, and whether it has an index."""

    space: int  #: its number
    dimensions: int
    vectors: int  #: of all owners
    most: int  #: of the owner who has most
    complete: bool | None  #: None without an index; False during or after an unfinished build
    bytes: int


class BuildProgress(NamedTuple):
    """How far an index build is."""

    space: int
    phase: str  #: as Postgres calls it
    done: int
    total: int  #: vectors, or pages while those are counted; 0 when neither is known


class VectorIndexes:
    """Builds the indexes that make recalls of large owners faster, and drops the others."""

    def __init__(self, pool: Pool, costs: Costs = COSTS) -> None:
        self._pool = pool
        self._costs = costs

    def known(self) -> list[SpaceIndex]:
        indexes = self._indexes()
        return [
            SpaceIndex(space, *facts, *indexes.get(f"{_PREFIX}{space}", (None, 0)))
            for space, *facts in self._pool.read("spaces_to_index")
        ]

    def _indexes(self) -> dict[str, tuple[bool, int]]:
        """The indexes that there are, by name: whether each is complete, and its bytes."""
        records = self._pool.read("indexes_of_spaces")
        elsewhere: dict[str, int] = {}
        if records and self._pool.is_spread:
            elsewhere = dict(self._pool.read("index_sizes_elsewhere"))
        return {name: (good, size + elsewhere.get(name, 0)) for name, good, size in records}

    def due(self) -> list[SpaceIndex]:
        """The spaces without an index that would make the recalls of some owner faster."""
        return [
            each
            for each in self.known()
            if not each.complete
            and self._costs.is_worth_an_index(each.most, each.vectors, each.dimensions)
        ]

    def build(self, index: SpaceIndex) -> bool:
        """Build the index of a space; False while another process is building one."""
        with translated(self._pool.place), self._alone() as free:
            # The server goes on with a build whose client was killed.
            if not free or self.progress():
                return False
            with self._memory_elsewhere(index), self._pool.connections.alone() as connection:
                _prepare(connection, index)
                _build_with_helpers(connection, index)
        return True

    @contextmanager
    def _memory_elsewhere(self, index: SpaceIndex) -> Iterator[None]:
        """Give a build the memory that it needs on the other machines of a spread store too.

        A setting of a session does not reach them; one of the role does, in new sessions.
        """
        if not self._pool.is_spread:
            yield
            return
        with self._pool.connections.alone() as connection:
            [_, *limits] = connection.execute(SQL["building_memory"]).fetchone() or [0, 0, 0]
            memory = sql.Literal(_memory(index, *limits))
            named = {"database": sql.Identifier(connection.info.dbname), "memory": memory}
            with suppress(pg_errors.InsufficientPrivilege):
                _run(connection, "raise_memory", **named)
        try:
            yield
        finally:
            with (
                suppress(pg_errors.InsufficientPrivilege),
                self._pool.connections.alone() as connection,
            ):
                _run(connection, "lower_memory", database=named["database"])

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Take the lock of index builds; False when another process holds it.

        A transaction holds it: it ends with its process, and a bouncer keeps it on one backend.
        """
        with self._pool.connections.alone() as connection, connection.transaction():
            unlimited = {"name": "idle_in_transaction_session_timeout", "value": "0"}
            connection.execute(SQL["set_for_transaction"], unlimited)
            yield connection.execute(SQL["try_to_build"]).fetchone() == (True,)

    def build_due(self) -> list[SpaceIndex]:
        """Drop the indexes of spaces that are gone, and build those that are due; these."""
        self.drop_stray()
        return [each for each in self.due() if self.build(each)]

    def drop_stray(self) -> int:
        """Drop the indexes of spaces that are gone; how many there were."""
        indexes = self._indexes()  # first: a space that comes meanwhile has none
        spaces = {f"{_PREFIX}{each.space}" for each in self.known()}
        stray = [name for name in indexes if name not in spaces]
        for name in stray:
            with translated(self._pool.place), self._pool.connections.alone() as connection:
                _run(connection, "drop_index", index=sql.Identifier(name))
        return len(stray)

    def progress(self) -> BuildProgress | None:
        statement = "building_everywhere" if self._pool.is_spread else "building"
        for name, phase, done, total, pages, all_pages in self._pool.read(statement):
            space = int((name or "0").removeprefix(_PREFIX))
            return BuildProgress(space, phase, done or pages, total or all_pages)
        return None


def _prepare(connection: Connection[Any], index: SpaceIndex) -> None:
    """Remove the time limits of a build, and give it the memory that it needs and the server has.

    Not behind a bouncer: the setting would stay for the next client of the session.
    """
    [backend, allowed, shared] = connection.execute(SQL["building_memory"]).fetchone() or [0, 0, 0]
    if backend == connection.info.backend_pid:
        _set(connection, maintenance_work_mem=_memory(index, allowed, shared))
        _set(connection, statement_timeout="0", lock_timeout="0")


def _memory(index: SpaceIndex, allowed: int, shared: int) -> str:
    needed = index.vectors * (index.dimensions * _HALF_BYTES + _LINK_BYTES)
    return f"{max(allowed, min(needed, shared)) // 1024}kB"


def _build_with_helpers(connection: Connection[Any], index: SpaceIndex) -> None:
    try:
        _build(connection, index)
    except (pg_errors.DiskFull, pg_errors.OutOfMemory):
        # Helpers share the index by /dev/shm, which containers have little of.
        _set(connection, max_parallel_maintenance_workers="0")
        _build(connection, index)


def _build(connection: Connection[Any], index: SpaceIndex) -> None:
    name = sql.Identifier(f"{_PREFIX}{index.space}")
    _run(connection, "drop_index", index=name)
    _run(
        connection,
        "build_index",
        index=name,
        space=sql.Literal(index.space),
        dimensions=sql.Literal(index.dimensions),
    )


def _set(connection: Connection[Any], **settings: str) -> None:
    for name, value in settings.items():
        connection.execute(SQL["set_for_session"], {"name": name, "value": value})


def _run(connection: Connection[Any], statement: str, **names: sql.Composable) -> None:
    """Run a statement that takes no parameters, only names and numbers in their places."""
    connection.execute(sql.SQL(SQL[statement]).format(**names))
