"""Embedders for tests: small, exact and, where a test wants it, troublesome."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bearinmind.errors import EmbedderFailure
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors


class WordEmbedder:
    """A vector that follows from the words of a text; two names are two spaces."""

    def __init__(self, name: str = "words", *, leaves_machine: bool = False) -> None:
        self.space = Space(model=name, revision="1", dimensions=16)
        self.leaves_machine = leaves_machine
        self.seen: list[str] = []
        self.batches: list[int] = []
        self._lock = threading.Lock()

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            self.seen += texts
            self.batches.append(len(texts))
        return np.stack([self.vector(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        return self.vector(text)

    def vector(self, text: str) -> Vector:
        """The vector of a text."""
        total: Any = np.full(16, 0.01, np.float32)
        for word in text.lower().split():
            digest = hashlib.sha256(f"{self.space.model} {word}".encode()).digest()
            total[digest[0] % 16] += 1 + digest[1] / 256
        unit: Vector = (total / np.linalg.norm(total)).astype(np.float32)
        return unit

    def close(self) -> None:
        """Nothing is held."""


class TroubledEmbedder(WordEmbedder):
    """Does what a function says before it embeds: raise, wait, or nothing."""

    def __init__(
        self,
        trouble: Callable[[Sequence[str]], object],
        name: str = "words",
        *,
        leaves_machine: bool = False,
    ) -> None:
        super().__init__(name, leaves_machine=leaves_machine)
        self.trouble = trouble

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        self.trouble(texts)
        return super().embed_memories(texts)


def refusing(word: str) -> Callable[[Sequence[str]], None]:
    """Refuses every batch with a text that holds a word, for good."""

    def trouble(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise EmbedderFailure("the text is refused", permanent=True)

    return trouble
