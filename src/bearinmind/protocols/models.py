"""What models are asked for: vectors, and a second reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.types import MemoryId, Space

if TYPE_CHECKING:
    from bearinmind.protocols.vectors import Vector, Vectors


class Embedder(Protocol):
    """Turns texts into vectors of one space. Opening it is cheap: the model loads when needed.

    Raises `EmbedderFailure` when it cannot; `EmbedderFailure.permanent` says that trying the same
    text again is of no use.
    """

    @property
    def space(self) -> Space:
        """What its vectors are."""

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, as memories are embedded."""

    def embed_query(self, text: str) -> Vector:
        """A query's vector."""

    def close(self) -> None:
        """Release the model or the connections."""


class Current(NamedTuple):
    """The space that answers semantic recall, and the embedder for its queries."""

    space: Space
    embedder: Embedder
    waiting: int = 0  #: versions of memories that are to be embedded yet, as was seen last


class Unavailable(NamedTuple):
    """Why there is no semantic recall just now."""

    reason: str
    hint: str = ""
    expected: bool = False  #: nothing is wrong: it is turned off, or nothing is embedded yet


class Passage(NamedTuple):
    """A memory as a reranker sees it."""

    id: MemoryId
    text: str


class Reranker(Protocol):
    """Reads the query and each of the best memories together, and scores how well they fit."""

    @property
    def name(self) -> str:
        """How it is called in traces: its model's identity."""

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> Sequence[float]:
        """A score for each passage, higher is better, within a time.

        Raises:
            RerankerFailure: it could not, or not in time.
        """
