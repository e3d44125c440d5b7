"""Made-up memories and questions with the statistics of real ones, the same for every seed.

Words follow the Zipf-Mandelbrot law, with an offset that makes a question match one memory in
seven, as questions do in the public sets; questions are made of words of one memory, as people ask.
"""

from __future__ import annotations

import random
from itertools import accumulate

_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se"),
    *("ti", "vo", "zu", "bra", "cle", "dri", "flo", "gru", "sta", "spe", "tri", "pla"),
)
_FUNCTION = (
    *("the", "a", "of", "to", "in", "and", "is", "was", "for", "on", "with"),
    *("that", "it", "as", "at", "by", "from", "this", "be", "are", "has", "had"),
)
_ASKING = ("what is the", "where did the", "when was the", "how does the", "which of the")


class Writer:
    """Writes memories and questions."""

    def __init__(self, seed: int, vocabulary: int = 40_000) -> None:
        self._random = random.Random(seed)
        self._words = self._coin(vocabulary)
        self._odds = [*accumulate(1 / (rank + 18) ** 1.05 for rank in range(vocabulary))]

    def _coin(self, count: int) -> list[str]:
        words: dict[str, None] = {}
        while len(words) < count:
            syllables = self._random.choices(_SYLLABLES, k=self._random.randint(2, 4))
            words["".join(syllables)] = None
        return [*words]

    def memory(self) -> str:
        """One memory of 10 to 60 words."""
        topical = self._random.choices(
            self._words, cum_weights=self._odds, k=self._random.randint(6, 36)
        )
        text = []
        for word in topical:
            if self._random.random() < 0.4:
                text.append(self._random.choice(_FUNCTION))
            text.append(word)
        return " ".join(text).capitalize() + "."

    def question(self, memory: str) -> str:
        """A question of three to eight topical words about a memory."""
        words = [word for word in memory[:-1].lower().split() if word not in _FUNCTION]
        picked = self._random.sample(words, k=min(len(words), self._random.randint(3, 8)))
        return f"{self._random.choice(_ASKING).capitalize()} {' '.join(picked)}?"
