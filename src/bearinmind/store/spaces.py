"""The vector spaces of a store: which there are, and which memories belong into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from bearinmind.changes import digest
from bearinmind.protocols import DenseAnswer, KnownSpace, NearestSearch, SpaceState, Unavailable
from bearinmind.store import rows
from bearinmind.store.database import Database, Parameters, Row, Transaction
from bearinmind.store.rows import OnDatabase, Owned
from bearinmind.text.embedded_text import embedded_text
from bearinmind.types import Filter, Memory, MemoryId, Scope, Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors


class VectorSearch(NearestSearch, Protocol):
    """Searches the vectors of a store."""

    def decode(self, vectors: Sequence[bytes], dimensions: int) -> Vectors:
        """Vectors of `present_vectors` as an embedder gives them."""


class SpacesInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Spaces`."""

    @property
    def _vectors(self) -> VectorSearch:
        raise NotImplementedError

    def meaning_off(self) -> Unavailable | None:
        """None: vectors can be kept, unless a dialect says otherwise."""
        return None

    def active_space(self) -> Space | None:
        record = next(iter(self._database.read("active_space")), None)
        return None if record is None else rows.to_space(record[0])

    def unembedded(self, scope: Scope, space: Space, jobs: int) -> int:
        wanted = {"owner": scope.user, "target": space.key, "jobs": jobs}
        [(count,)] = self._database.read("unembedded", wanted)
        return int(count)

    def spaces(self, *, counted: bool = True) -> list[KnownSpace]:
        known = self._database.read("spaces")
        return _to_known(known, self._vectors_by_space() if counted else {})

    def _vectors_by_space(self) -> dict[str, int]:
        """How many vectors each space has, by its key."""
        return dict(self._database.read("vectors_by_space"))

    def use_space(self, space: Space) -> SpaceState:
        settled = self._settled(space)
        if settled is not None:
            return settled
        with self._database.writing(alone=True) as transaction:
            known = _to_known(transaction.rows("spaces"), {})
            states = {each.space.key: each.state for each in known}
            state = states.get(space.key)
            for other in known:
                if other.state is SpaceState.FILLING and other.space != space:
                    _drop(self._database, transaction, other.space)
            if state is None or state is SpaceState.RETIRED:
                active = SpaceState.ACTIVE in states.values()
                state = SpaceState.FILLING if active else SpaceState.ACTIVE
                _begin(transaction, space, state, known=space.key in states)
        return state

    def _settled(self, space: Space) -> SpaceState | None:
        """The state of a space, when nothing has to be written for its use."""
        states = {each.space.key: each.state for each in self.spaces(counted=False)}
        state = states.get(space.key)
        if state is SpaceState.ACTIVE and SpaceState.FILLING in states.values():
            return None
        return None if state is SpaceState.RETIRED else state

    def activate_filled(self) -> bool:
        """Jobs that were given up do not prevent it, unless they outnumber those that were done."""
        if not any(each.state is SpaceState.FILLING for each in self.spaces(counted=False)):
            return False
        with self._database.writing(alone=True) as transaction:
            known = {each.state: each for each in _counted(transaction)}
            filling, active = known.get(SpaceState.FILLING), known.get(SpaceState.ACTIVE)
            if filling is None or filling.waiting:
                return False
            if filling.dead > filling.embedded:
                return False
            if active is not None:
                _set_state(transaction, active.space, SpaceState.RETIRED)
                transaction.change("drop_jobs", {"key": active.space.key})
            _set_state(transaction, filling.space, SpaceState.ACTIVE)
            transaction.change("advance_jobs", {"key": filling.space.key})
        return True

    def drop_retired(self) -> int:
        with self._database.writing(alone=True) as transaction:
            known = _counted(transaction)
            retired = [each for each in known if each.state is SpaceState.RETIRED]
            for each in retired:
                _drop(self._database, transaction, each.space)
        return sum(each.embedded for each in retired)

    def index_spaces(self) -> int:
        """0: vectors are searched without an index."""
        return 0

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        return self._vectors.nearest(filter, space, query, limit)

    def cosines(
        self, filter: Filter, space: Space, query: Vector, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        return self._vectors.cosines(filter, space, query, ids)

    def vectors_of(
        self, scope: Scope, space: Space, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, Vector]:
        if self.meaning_off() is not None:
            return {}
        records = self._read(scope, "present_vectors", key=space.key, ids=[*dict.fromkeys(ids)])
        vectors = self._vectors.decode([vector for _, vector in records], space.dimensions)
        return dict(zip((id_ for id_, _ in records), vectors, strict=True))

    def carry_vectors(
        self, scope: Scope, space: Space, vectors: Mapping[MemoryId, tuple[str, Vector]]
    ) -> int:
        if not vectors or self.meaning_off() is not None:
            return 0
        import numpy as np  # noqa: PLC0415 (slow to import)

        with self._writing(scope) as transaction:
            parameters = {"ids": [*vectors], "key": space.key}
            waiting = [
                (number, rows.to_memory(columns))
                for number, *columns in transaction.rows("embed_jobs_of", parameters)
            ]
            fitting = [
                (x, memory.id) for x, memory in waiting if digest(memory) == vectors[memory.id][0]
            ]
            if not fitting:
                return 0
            made = np.stack([vectors[id_][1] for _, id_ in fitting])
            return keep_vectors(
                self._database,
                transaction.transaction,
                space,
                [{"owner": scope.user, "number": number} for number, _ in fitting],
                self._database.vector_parameters(space, made, len(fitting)),
            )


def _to_known(records: Iterable[Row], vectors: Mapping[str, int]) -> list[KnownSpace]:
    return [
        KnownSpace(rows.to_space(described), SpaceState(state), vectors.get(key, 0), waiting, dead)
        for key, described, state, waiting, dead in records
    ]


# The functions below run inside a transaction of the caller.


def keep_vectors(
    database: Database,
    transaction: Transaction,
    space: Space,
    jobs: Sequence[Parameters],
    vectors: Sequence[Parameters],
) -> int:
    """Keep the vectors of jobs, which name their owners, and remove these; how many were new."""
    number = transaction.row("space_number", {"key": space.key})
    if number is None:  # the space was dropped meanwhile, and its jobs with it
        return 0
    place = {"space": number[0], "key": space.key}
    keeping = [{**place, **job, **vector} for job, vector in zip(jobs, vectors, strict=True)]
    statements = database.steps.keep_vector
    kept, *_ = [transaction.change_each(each, keeping) for each in statements]
    transaction.change_each("finish_job", keeping)
    return kept


def _counted(transaction: Transaction) -> list[KnownSpace]:
    return _to_known(transaction.rows("spaces"), dict(transaction.rows("vectors_by_space")))


def copy_vectors(database: Database, transaction: Owned, row: int, memory: Memory) -> set[int]:
    """Give an inserted version the vectors of an earlier one with its text; in which spaces."""
    copied = set()
    for space, _, recipe, _ in transaction.rows("spaces_in_use"):
        place = {"id": memory.id, "version": memory.version, "space": space}
        before = transaction.row("embedded_before", place)
        if before is None or embedded_text(memory, recipe) != embedded_text(
            rows.to_memory(before[1:]), recipe
        ):
            continue
        for statement in database.steps.copy_vector:
            transaction.change(statement, {"space": space, "before": before[0], "row": row})
        copied.add(space)
    return copied


def forget_memories(transaction: Owned, ids: Sequence[MemoryId]) -> None:
    """Remove the vectors and the jobs of every version of these memories."""
    parameters = {"ids": [*ids]}
    transaction.change("forget_vectors", parameters)
    versions = [row for [row] in transaction.rows("rows_of_memories", parameters)]
    transaction.change("forget_jobs", {"rows": versions})


def _begin(transaction: Transaction, space: Space, state: SpaceState, *, known: bool) -> None:
    """Take a space into use, with a job for every version that is not embedded there."""
    if known:
        _set_state(transaction, space, state)
    else:
        new = {"key": space.key, "description": rows.from_space(space), "state": state}
        transaction.change("insert_space", new)
    place = {"key": space.key, "space": _number(transaction, space)}
    turn = int(state is not SpaceState.ACTIVE)
    transaction.change("queue_all", place | {"turn": turn})


def _set_state(transaction: Transaction, space: Space, state: SpaceState) -> None:
    transaction.change("set_space_state", {"key": space.key, "state": state})


def _number(transaction: Transaction, space: Space) -> int:
    [[number]] = transaction.rows("space_number", {"key": space.key})
    return int(number)


def _drop(database: Database, transaction: Transaction, space: Space) -> None:
    """Remove a space with all its vectors and jobs."""
    number = _number(transaction, space)
    transaction.change("drop_jobs", {"key": space.key})
    for statement in database.steps.drop_space:
        transaction.change(statement, {"space": number})
