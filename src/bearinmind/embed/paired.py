"""Two encoders as one: their vectors lie side by side, so that one cosine weighs both meanings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from bearinmind.protocols import Embedder
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors


class PairedEmbedder:
    """The cosine of a pair is `share` of the first encoder's and the rest of the second's.

    Encoders trained in different ways err in different ways. How much each should count depends
    on how widely its cosines spread: see `bearinmind.embed.choose`.
    """

    def __init__(self, first: Embedder, second: Embedder, *, share: float) -> None:
        self._pair = (first, second)
        self._scales = (math.sqrt(share), math.sqrt(1 - share))
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="bearinmind-embed")
        self.space = _space(first.space, second.space, share)
        self.leaves_machine = first.leaves_machine or second.leaves_machine

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, as memories are embedded."""
        import numpy as np  # noqa: PLC0415  slow to import

        rows = [embedder.embed_memories(texts) for embedder in self._pair]
        joined: Vectors = np.hstack([x * s for x, s in zip(rows, self._scales, strict=True)])
        return joined

    def embed_query(self, text: str) -> Vector:
        """A query's vector; the two encoders work side by side."""
        import numpy as np  # noqa: PLC0415  slow to import

        first, second = self._pair
        longer = self._beside.submit(second.embed_query, text)
        rows = (first.embed_query(text), longer.result())
        joined: Vector = np.concatenate([x * s for x, s in zip(rows, self._scales, strict=True)])
        return joined.astype(np.float32, copy=False)

    def close(self) -> None:
        """Release both models."""
        for embedder in self._pair:
            embedder.close()


def _space(first: Space, second: Space, share: float) -> Space:
    return Space(
        model=f"{first.model}+{second.model}",
        revision=f"{first.revision}+{second.revision} share:{share}",
        dimensions=first.dimensions + second.dimensions,
        query_prompt=f"{first.query_prompt}+{second.query_prompt}",
        memory_prompt=f"{first.memory_prompt}+{second.memory_prompt}",
        text=first.text,
    )
