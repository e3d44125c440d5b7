"""Selection: which of the judged candidates are given back. Pure; what is left out is named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bearinmind.outdates.verdicts import is_less_trusted
from bearinmind.text.analysis import FUNCTION_WORDS, fold
from bearinmind.text.distinguishing_words import BEFORE, BEHIND, DATES, NEGATIONS, NUMBERS
from bearinmind.trace import BelowLimit, Dropped, Judged, OverBudget, Reason, SaysTheSame
from bearinmind.types import Memory, MemoryId, Query, SortBy, Trust, UserId

_CONTRACTED = re.compile("n['\u2019]t$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The rules of selection; its repr is the recipe that a trace shows."""

    near_duplicates: float = 0.0  #: of common words: from this share on one is dropped; 0 off

    def __call__(
        self, query: Query, judged: Iterable[Judged], memories: Mapping[MemoryId, Memory]
    ) -> tuple[list[Judged], list[Dropped]]:
        """The chosen, best first, and the others with the reason why not."""
        chosen: list[Judged] = []
        dropped: list[Dropped] = []
        texts = _ChosenTexts(self.near_duplicates)
        left = query.budget_bytes
        below = BelowLimit(limit=query.limit)
        for candidate in judged:
            if len(chosen) == query.limit:
                dropped.append(Dropped(candidate.id, below))
                continue
            memory = memories[candidate.id]
            size = 0 if left is None else len(memory.content.encode())
            reason = texts.twin(memory)
            if isinstance(reason, SaysTheSame) and texts.yields(reason.by, memory, query):
                place = next(n for n, each in enumerate(chosen) if each.id == reason.by)
                dropped.append(Dropped(reason.by, replace(reason, by=candidate.id)))
                chosen[place] = candidate
                texts.replace(reason.by, memory)
                continue
            if reason is None and left is not None and size > left:
                reason = OverBudget(size=size, left=left)
            if reason:
                dropped.append(Dropped(candidate.id, reason))
                continue
            chosen.append(candidate)
            texts.add(memory)
            left = None if left is None else left - size
        return chosen, dropped


class _ChosenTexts:
    """The texts of the memories chosen so far."""

    def __init__(self, near: float) -> None:
        self._near = near
        self._memories: dict[MemoryId, Memory] = {}
        self._same: dict[str, MemoryId] = {}
        self._wordings: list[tuple[MemoryId, Wording]] = []

    def yields(self, by: MemoryId, memory: Memory, query: Query) -> bool:
        """Whether a chosen memory gives its place to a more trusted one that says the same."""
        user = query.filter.scope.user
        return _is_less_trusted(self._memories[by], memory, user)

    def replace(self, by: MemoryId, memory: Memory) -> None:
        """Choose a memory in place of another one."""
        self._same = {text: id_ for text, id_ in self._same.items() if id_ != by}
        self._wordings = [each for each in self._wordings if each[0] != by]
        self.add(memory)

    def add(self, memory: Memory) -> None:
        self._memories[memory.id] = memory
        self._same[_without_form(memory.content)] = memory.id
        if self._near and not memory.sensitive:
            self._wordings.append((memory.id, wording_of(memory.content)))

    def twin(self, memory: Memory) -> Reason | None:
        """The chosen memory that says the same as this one, or nearly."""
        by = self._same.get(_without_form(memory.content))
        if by is not None:
            return SaysTheSame(by=by)
        if not self._near or memory.sensitive:  # placeholders are alike; what they hide is not
            return None
        mine = wording_of(memory.content)
        for id_, other in self._wordings:
            share = word_overlap(mine, other)
            if share >= self._near and not differ_in_meaning(mine, other):
                return SaysTheSame(by=id_, shared=share)
        return None


def _is_less_trusted(one: Memory, other: Memory, user: UserId) -> bool:
    """Whether a user trusts one memory less: others' memories are data, like external ones."""
    if (one.owner == user) != (other.owner == user):
        return other.owner == user and other.provenance.trust is not Trust.EXTERNAL
    return is_less_trusted(one, other)


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


class Wording(NamedTuple):
    """The words of a text, as they are compared with those of another."""

    words: tuple[str, ...]  #: folded, in order
    marked: Mapping[str, str]  #: those that are numbers, negations, dates or names, and which


def wording_of(text: str) -> Wording:
    """The words of a text, without punctuation and case."""
    words: list[str] = []
    marked: dict[str, str] = {}
    for piece in text.split():
        word = piece.lstrip(BEFORE).rstrip(BEHIND)
        if word:
            words.append(fold(word))
            mark = _mark(word, words[-1])
            if mark:
                marked[words[-1]] = mark
    return Wording(tuple(words), marked)


def word_overlap(one: Wording, other: Wording) -> float:
    """The share of their words that two texts have in common (Dice 1945), repeated ones counted."""
    total = len(one.words) + len(other.words)
    common = (Counter(one.words) & Counter(other.words)).total()
    return 2 * common / total if total else 0.0


def differ_in_meaning(one: Wording, other: Wording) -> bool:
    """Whether two texts differ in a marked word, or in the order of the words that both have."""
    mine, others = Counter(one.words), Counter(other.words)
    if _marks(one, mine - others) != _marks(other, others - mine):
        return True
    return _in_common(one.words, mine & others) != _in_common(other.words, mine & others)


def _mark(word: str, folded: str) -> str:
    """What a word is known by if it is a number, a negation, a date or a name; else nothing.

    A capital makes a name, at the beginning of a sentence too: there it may be one.
    """
    if folded in NEGATIONS or _CONTRACTED.search(folded):
        return "not"
    is_marked = (
        folded in NUMBERS
        or folded in DATES
        or any(map(str.isnumeric, word))
        or (any(map(str.isupper, word)) and folded not in FUNCTION_WORDS)
    )
    return folded if is_marked else ""


def _marks(text: Wording, only: Counter[str]) -> Counter[str]:
    """The marks of those words that only this text has."""
    return Counter(text.marked[word] for word in only.elements() if word in text.marked)


def _in_common(words: tuple[str, ...], common: Counter[str]) -> list[str]:
    """The words that both texts have, in the order of this one."""
    left = common.copy()
    kept = []
    for word in words:
        if left[word] > 0:
            left[word] -= 1
            kept.append(word)
    return kept
