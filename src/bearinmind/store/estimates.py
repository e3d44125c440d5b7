"""How frequent terms are, remembered; and which of them decide the ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bearinmind.protocols import LexicalStatistics

_ENOUGH = 4  # matches for each memory wanted; docs/adr/0005 has what fewer and more cost
_FEWER = 1  # matches for each memory wanted, where the next term is a common one


class Estimates:
    """Remembers counts of an index while it keeps its size, give or take 1 %.

    Scores need the magnitude of a count, not its last digit, and counting a common term costs as
    much as finding it. That a term does not occur is never remembered: it may be stored next.
    """

    def __init__(self, *, most: int) -> None:
        self.total = 0
        self._length = 0
        self._most = most
        self._frequency: dict[str, int] = {}
        self._counted_at = 0  # how large the index was when the first of them was counted

    def refresh(self, total: int, length: int) -> bool:
        """Note how much the index holds now; True when the counts are forgotten because of that."""
        self.total, self._length = total, length
        grown = abs(total - self._counted_at) * 100 > self._counted_at
        if grown or len(self._frequency) > self._most:
            self._frequency, self._counted_at = {}, total
            return True
        return False

    def known(self, terms: Iterable[str]) -> dict[str, int]:
        """What is remembered of these terms."""
        frequency = self._frequency  # another thread may begin a new one
        return {term: frequency[term] for term in terms if term in frequency}

    def remember(self, counted: Mapping[str, int]) -> None:
        """Keep what was counted."""
        self._frequency.update({term: count for term, count in counted.items() if count})

    def statistics(self, frequency: Mapping[str, int]) -> LexicalStatistics:
        """Frequencies, with the size of the index as it was last read."""
        average = self._length / self.total if self.total else 0.0
        return LexicalStatistics(self.total, average, frequency)


def deciding(matching: Mapping[str, float], limit: int) -> list[str]:
    """The rarest terms that together match enough memories for the limit.

    That is several times as many as are wanted, or fewer where the next term would match more than
    all of them together.
    """
    chosen: list[str] = []
    total = 0.0
    for term, more in sorted(matching.items(), key=lambda each: (each[1], each[0])):
        if total >= _ENOUGH * limit or (total >= _FEWER * limit and more > total):
            break
        chosen.append(term)
        total += more
    return chosen
