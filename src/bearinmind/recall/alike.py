"""Whether two memories say nearly the same: many words in common, and no difference that tells.

Two texts may share nearly all words and mean opposite things. So a pair is never taken for one when
it differs in a number, a negation, a date or a name, or says the same words in another order:
"tabs over spaces" is not "spaces over tabs".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from bearinmind.analysis import FUNCTION_WORDS, fold
from bearinmind.telling_words import BEFORE, BEHIND, DATES, NEGATIONS, NUMBERS

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
