"""The same said of somebody else: a memory with another name, or another's thing for one's own."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

SHORTEST = 3  # letters of a name
SEEN = 3  # times that a name is there, never in small letters

_WORD = re.compile(r"[^\W\d_]+")
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_ASKS_FOR_OWN = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b", re.IGNORECASE)


class Other(NamedTuple):
    """A memory that says of another subject what was said."""

    text: str
    subject: str  #: whose it was


class Subjects:
    """The names in some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        large: Counter[str] = Counter()
        small: set[str] = set()
        for word in (word for text in texts for word in _WORD.findall(text)):
            if word.islower():
                small.add(word)
            elif word.istitle():
                large[word] += 1
        self._names = sorted(
            word
            for word, count in large.items()
            if count >= SEEN and len(word) >= SHORTEST and word.lower() not in small
        )
        self._known = {*self._names}

    def swapped(self, question: str, answer: str) -> Other | None:
        """An answer to a question, of somebody whom the question does not mean."""
        named = [x for x in _WORD.findall(question) if x in self._known]
        shared = [name for name in named if re.search(rf"\b{name}\b", answer)]
        other = random.choice(self._names)
        if other in named or re.search(rf"\b{other}\b", answer):
            return None
        if shared:
            name = random.choice(shared)
            return Other(re.sub(rf"\b{name}\b", other, answer), name)
        if _ASKS_FOR_OWN.search(question) and (own := _OWN.search(answer)):
            return Other(_OWN.sub(f"{other}'s", answer), own.group())
        return None
