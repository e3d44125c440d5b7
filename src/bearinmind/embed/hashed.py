"""An embedder without a model: it knows words alone. For tests, and for trying things out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from bearinmind.embedded_text import CONTENT
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

DIMENSIONS = 64

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Adds up a direction for each word: texts that share words are alike, meaning plays no part.

    The same text has the same vector on every machine. Each word goes to one of few dimensions, so
    that now and then two unlike words are taken for one.
    """

    leaves_machine = False

    def __init__(self, *, text: str = CONTENT) -> None:
        self.space = Space(model="hash", revision="1", dimensions=DIMENSIONS, text=text)

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text."""
        import numpy as np  # noqa: PLC0415  slow to import

        rows = [self.embed_query(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, DIMENSIONS), np.float32)

    def embed_query(self, text: str) -> Vector:
        """The same as for a memory: words have no sides."""
        import numpy as np  # noqa: PLC0415  slow to import

        vector = np.zeros(DIMENSIONS, np.float32)
        for word in _WORD.findall(text.casefold()) or [""]:
            digest = blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
            number = int.from_bytes(digest, "little")
            vector[number % DIMENSIONS] += 1 if number & (1 << 63) else -1
        if not vector.any():  # two words that took each other away
            vector[0] = 1
        scaled: Vector = vector / np.linalg.norm(vector)
        return scaled

    def close(self) -> None:
        """There is nothing to release."""
