"""What a move asks of the stores at its two ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from bearinmind.store.database import Database, Parameters, Row
from bearinmind.store.moving.tables import Table


class MovingSteps(NamedTuple):
    """The statements by which a dialect does what others do by more or by fewer, in their order."""

    beginning: tuple[str, ...]  #: empty a store that holds nothing, and let nobody open it
    settling: tuple[str, ...]  #: when every row is there
    ending: tuple[str, ...]  #: let everybody open it
    taking: Mapping[str, tuple[str, ...]]  #: by table, where it is not by the one `take_` its name


class Snapshot(Protocol):
    """A store as it was at one moment, whatever is written meanwhile."""

    def read(self, statement: str) -> list[Row]:
        """All rows of a statement without parameters."""

    def pages(self, table: Table, after: Parameters, size: int) -> Iterator[list[Row]]:
        """The rows of a table behind a key, so many at a time, as they are in every dialect."""


class End(Protocol):
    """A store that is moved from, or into."""

    @property
    def database(self) -> Database:
        """Where its statements run."""

    @property
    def steps(self) -> MovingSteps:
        """What takes other statements here than in other dialects."""

    @property
    def place(self) -> str:
        """Where it is, for people."""

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
        """Raises what is to be said if vectors cannot be kept."""

    def rest(self) -> None:
        """Do what a store needs after so much was written, and nobody has to wait for."""

    def discard(self) -> None:
        """Throw away what an unfinished move has written."""

    def close(self) -> None:
        """Release it."""
