"""Selection: which of the judged candidates are given back. Pure; what is left out is named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bearinmind.text.analysis import FUNCTION_WORDS, fold
from bearinmind.text.distinguishing_words import BEFORE, BEHIND, DATES, NEGATIONS, NUMBERS
from bearinmind.trace import (
    BelowLimit,
    Dropped,
    Judged,
    OverBudget,
    Reason,
    SaysTheSame,
    TooUncertain,
)
from bearinmind.types import Memory, MemoryId, Query, SortBy

_CONTRACTED = re.compile("n['\u2019]t$")


class Said(NamedTuple):
    """What a text says, as far as it is compared."""

    words: tuple[str, ...]  #: folded, in order
    telling: Mapping[str, str]  #: those that are numbers, negations, dates or names, and which


def said(text: str) -> Said:
    """What a text says."""
    words: list[str] = []
    telling: dict[str, str] = {}
    for piece in text.split():
        word = piece.lstrip(BEFORE).rstrip(BEHIND)
        if word:
            words.append(fold(word))
            mark = _mark(word, words[-1])
            if mark:
                telling[words[-1]] = mark
    return Said(tuple(words), telling)


def shared(one: Said, other: Said) -> float:
    """The share of their words that two texts have in common (Dice 1945), repeated ones counted."""
    total = len(one.words) + len(other.words)
    common = (Counter(one.words) & Counter(other.words)).total()
    return 2 * common / total if total else 0.0


def are_distinct(one: Said, other: Said) -> bool:
    """Whether the difference between two texts is one that tells, however small it is."""
    mine, others = Counter(one.words), Counter(other.words)
    if _telling(one, mine - others) != _telling(other, others - mine):
        return True
    return _in_common(one.words, mine & others) != _in_common(other.words, mine & others)


def _mark(word: str, folded: str) -> str:
    """What a word is known by if it is a number, a negation, a date or a name; else nothing.

    A capital makes a name, at the beginning of a sentence too: there it may be one.
    """
    if folded in NEGATIONS or _CONTRACTED.search(folded):
        return "not"
    is_telling = (
        folded in NUMBERS
        or folded in DATES
        or any(map(str.isnumeric, word))
        or (any(map(str.isupper, word)) and folded not in FUNCTION_WORDS)
    )
    return folded if is_telling else ""


def _telling(text: Said, only: Counter[str]) -> Counter[str]:
    """The telling ones among the words that a text has and the other one has not."""
    return Counter(text.telling[word] for word in only.elements() if word in text.telling)


def _in_common(words: tuple[str, ...], common: Counter[str]) -> list[str]:
    """Those of the words that both texts have, in order."""
    left = common.copy()
    kept = []
    for word in words:
        if left[word] > 0:
            left[word] -= 1
            kept.append(word)
    return kept


_ROUNDING = 1e-9  # a memory that covers all of a query may be a few digits short of 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The rules of selection; its repr is the recipe that a trace shows."""

    least_confidence: float = 0.0  #: below this no leg has evidence enough; 0 never abstains
    near_duplicates: float = 0.0  #: the share of common words from which one speaks for both; 0 off

    def __call__(
        self, query: Query, judged: Iterable[Judged], memories: Mapping[MemoryId, Memory]
    ) -> tuple[list[Judged], list[Dropped]]:
        """The chosen, best first, and the others with the reason why not."""
        chosen: list[Judged] = []
        dropped: list[Dropped] = []
        given = _Given(self.near_duplicates)
        left = query.budget_bytes
        below = BelowLimit(limit=query.limit)
        for candidate in judged:
            if len(chosen) == query.limit:
                dropped.append(Dropped(candidate.id, below))
                continue
            memory = memories[candidate.id]
            size = 0 if left is None else len(memory.content.encode())
            reason = self._uncertain(candidate) or given.twin(memory) or _oversized(size, left)
            if reason:
                dropped.append(Dropped(candidate.id, reason))
                continue
            chosen.append(candidate)
            given.add(memory)
            left = None if left is None else left - size
        return chosen, dropped

    def _uncertain(self, candidate: Judged) -> Reason | None:
        """Abstention: no leg is sure enough of a memory."""
        if not self.least_confidence:
            return None
        confidence = max(placing.confidence for placing in candidate.placings.values())
        if confidence >= self.least_confidence - _ROUNDING:
            return None
        return TooUncertain(confidence=confidence, floor=self.least_confidence)


def _oversized(size: int, left: int | None) -> Reason | None:
    """The budget: a memory is given whole or not at all."""
    return None if left is None or size <= left else OverBudget(size=size, left=left)


class _Given:
    """What the memories chosen so far say."""

    def __init__(self, near: float) -> None:
        self._near = near
        self._same: dict[str, MemoryId] = {}
        self._said: list[tuple[MemoryId, Said]] = []

    def add(self, memory: Memory) -> None:
        self._same[_without_form(memory.content)] = memory.id
        if self._near and not memory.sensitive:
            self._said.append((memory.id, said(memory.content)))

    def twin(self, memory: Memory) -> Reason | None:
        """The chosen memory that says the same as this one, or nearly."""
        by = self._same.get(_without_form(memory.content))
        if by is not None:
            return SaysTheSame(by=by)
        if not self._near or memory.sensitive:  # placeholders are alike; what they hide is not
            return None
        mine = said(memory.content)
        for id_, other in self._said:
            share = shared(mine, other)
            if share >= self._near and not are_distinct(mine, other):
                return SaysTheSame(by=id_, shared=share)
        return None


def _without_form(content: str) -> str:
    """The words alone: white space and capitals say nothing."""
    return " ".join(content.casefold().split())


def present(
    chosen: Sequence[Judged], memories: Mapping[MemoryId, Memory], sort_by: SortBy
) -> list[Judged]:
    """The chosen in the order asked for. Relevance chooses; this only arranges."""
    match sort_by:
        case SortBy.RELEVANCE:
            return [*chosen]
        case SortBy.IMPORTANCE:
            return sorted(chosen, key=lambda c: -memories[c.id].importance)
        case SortBy.RECENCY:
            return sorted(chosen, key=lambda c: memories[c.id].created_at, reverse=True)
