"""The vector spaces of a SQLite file: which there are, and which memories belong into them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from recollect.embedded_text import embedded_text
from recollect.protocols import DenseAnswer, KnownSpace, SpaceState
from recollect.store import rows
from recollect.store.connections import translated
from recollect.store.file import SqliteFile
from recollect.store.queries import SQLITE as SQL
from recollect.types import Filter, Memory, MemoryId, Scope, Space

if TYPE_CHECKING:
    from recollect.protocols import Vector
    from recollect.store.vectors import VectorSearch


class SpacesInFile(SqliteFile):
    """Satisfies `recollect.protocols.Spaces`."""

    @cached_property
    def _vectors(self) -> VectorSearch:
        from recollect.store.vectors import VectorSearch  # noqa: PLC0415 (numpy loads slowly)

        return VectorSearch(self._connections)

    def spaces(self) -> list[KnownSpace]:
        """Every space, the active one first, then the one being filled."""
        with translated(self.path):
            return _known(self._connections.get())

    def use_space(self, space: Space) -> SpaceState:
        """Make sure that memories are embedded into a space."""
        settled = self._settled(space)
        if settled is not None:
            return settled
        with self._write() as connection:
            known = _known(connection)
            states = {each.space.key: each.state for each in known}
            state = states.get(space.key)
            for other in known:
                if other.state is SpaceState.FILLING and other.space != space:
                    _drop(connection, other.space)
            if state is None or state is SpaceState.RETIRED:
                active = SpaceState.ACTIVE in states.values()
                state = SpaceState.FILLING if active else SpaceState.ACTIVE
                _begin(connection, space, state, known=space.key in states)
        return state

    def _settled(self, space: Space) -> SpaceState | None:
        """What a space is, when nothing has to be written for it to be used."""
        states = {each.space.key: each.state for each in self.spaces()}
        state = states.get(space.key)
        if state is SpaceState.ACTIVE and SpaceState.FILLING in states.values():
            return None
        return None if state is SpaceState.RETIRED else state

    def activate_filled(self) -> bool:
        """Make the space being filled the active one if no job is left for it; retire the other.

        Jobs that were given up do not hold it back, unless they are more than those that were done.
        """
        if not any(each.state is SpaceState.FILLING for each in self.spaces()):
            return False
        with self._write() as connection:
            known = {each.state: each for each in _known(connection)}
            filling, active = known.get(SpaceState.FILLING), known.get(SpaceState.ACTIVE)
            if filling is None or filling.waiting:
                return False
            if filling.dead > filling.embedded:
                return False
            if active is not None:
                _set_state(connection, active.space, SpaceState.RETIRED)
                connection.execute(SQL["drop_jobs"], (active.space.key,))
            _set_state(connection, filling.space, SpaceState.ACTIVE)
            connection.execute(SQL["advance_jobs"], (filling.space.key,))
        return True

    def drop_retired(self) -> int:
        """Remove the vectors of retired spaces; how many there were."""
        with self._write() as connection:
            retired = [x for x in _known(connection) if x.state is SpaceState.RETIRED]
            for each in retired:
                _drop(connection, each.space)
        return sum(each.embedded for each in retired)

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        """The admitted memories nearest to a query, by cosine."""
        return self._vectors.nearest(filter, space, query, limit)

    def cosines(
        self, filter: Filter, space: Space, query: Vector, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        """How near these memories are to a query, as far as they are admitted and embedded."""
        return self._vectors.cosines(filter, space, query, ids)


def _known(connection: sqlite3.Connection) -> list[KnownSpace]:
    """Every space, the active one first, then the one being filled."""
    return [
        KnownSpace(rows.to_space(description), SpaceState(state), *counts)
        for description, state, *counts in connection.execute(SQL["spaces"])
    ]


# What follows runs inside a transaction of the caller.


def belong(connection: sqlite3.Connection, scope: Scope, row: int, memory: Memory) -> None:
    """Give a version that was just inserted its vectors, or the jobs that will bring them.

    A version with the same embedded text as one before takes its vector over.
    """
    if memory.deleted_at is not None or memory.sensitive:
        return
    for space, key, recipe, turn in connection.execute(SQL["spaces_in_use"]).fetchall():
        before = None
        if memory.version > 1:
            place = {"owner": scope.user, "id": memory.id, "version": memory.version}
            before = connection.execute(SQL["embedded_before"], place | {"space": space}).fetchone()
        if before and _same_text(rows.to_memory(before[1:]), memory, recipe):
            _copy(connection, before[0], row)
        else:
            connection.execute(SQL["queue_one"], {"key": key, "row": row, "turn": turn})


def _copy(connection: sqlite3.Connection, seq: int, row: int) -> None:
    copy = connection.execute(SQL["copy_code"], {"row": row, "seq": seq}).lastrowid
    connection.execute(SQL["copy_vector"], {"copy": copy, "seq": seq})


def forget(connection: sqlite3.Connection, scope: Scope, ids: Sequence[MemoryId]) -> None:
    """Remove the vectors and the jobs of every version of these memories."""
    parameters = {"owner": scope.user, "ids": json.dumps(ids)}
    connection.execute(SQL["forget_vectors"], parameters)
    connection.execute(SQL["forget_jobs"], parameters)


def _same_text(one: Memory, other: Memory, recipe: str) -> bool:
    return embedded_text(one, recipe) == embedded_text(other, recipe)


def _begin(connection: sqlite3.Connection, space: Space, state: SpaceState, *, known: bool) -> None:
    """Take a space into use, with a job for all that belongs there and is not there yet."""
    if known:
        _set_state(connection, space, state)
    else:
        new = {"key": space.key, "description": rows.from_space(space), "state": state}
        connection.execute(SQL["insert_space"], new)
    place = {"key": space.key, "space": _number(connection, space)}
    turn = int(state is not SpaceState.ACTIVE)
    connection.execute(SQL["queue_all"], place | {"turn": turn})


def _set_state(connection: sqlite3.Connection, space: Space, state: SpaceState) -> None:
    connection.execute(SQL["set_space_state"], {"key": space.key, "state": state})


def _number(connection: sqlite3.Connection, space: Space) -> int:
    [number] = connection.execute(SQL["space_number"], (space.key,)).fetchone()
    return int(number)


def _drop(connection: sqlite3.Connection, space: Space) -> None:
    """Remove a space with all its vectors and jobs."""
    number = _number(connection, space)
    connection.execute(SQL["drop_jobs"], (space.key,))
    for statement in ("drop_space", "drop_vectors", "drop_departures"):
        connection.execute(SQL[statement], (number,))
