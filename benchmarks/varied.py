"""Memories of evaluation sets in any number: copies with other names, tied to each other alike.

What a graph costs depends on how memories name each other, which made-up words do not show. So the
texts are real, and so is what connects them: in a copy every name has an ending of that copy. A
name that many memories of the set hold, such as that of a country, stays as it is: it would be
common in a larger store as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from pathlib import Path

from bearinmind.config import Settings
from bearinmind_bench import evaluation

_WORD = re.compile(r"[^\W\d_]+")
_COMMON, _COMMON_SHARE = 10, 0.01  # a name is common that so many and such a share of a set hold
_ENDINGS = ("bak", "cel", "din", "fok", "gur", "lem", "nop", "put", "raz", "ses", "tiv", "zud")


class VariedSet:
    """One set of which there can be any number of copies."""

    def __init__(self, folder: Path) -> None:
        data = evaluation.load(folder)
        self._longest = Settings().content_limit
        self.questions = [query.text for query in data.of_split("dev")]
        self._texts = [*dict.fromkeys(record["content"] for record in data.corpus)]
        self._names = _names(self._texts)

    def copies(self) -> Iterator[str]:
        """Its memories, then those of its copies without end, each but once."""
        seen: set[str] = set()
        for number in count():
            for text in self._copy(_ending(number)):
                if text not in seen and len(text) <= self._longest:
                    seen.add(text)
                    yield text

    def _copy(self, ending: str) -> Iterator[str]:
        for text in self._texts:
            yield _WORD.sub(
                lambda found: found[0] + ending if found[0] in self._names else found[0], text
            )


def memories(sets: Sequence[VariedSet], size: int) -> list[str]:
    """So many different memories, of each set in turn."""
    in_turn = zip(*(each.copies() for each in sets), strict=True)
    return [*islice(chain.from_iterable(in_turn), size)]


def _names(texts: Sequence[str]) -> frozenset[str]:
    """The words that are never written small."""
    held = Counter(word for text in texts for word in {*_WORD.findall(text)})
    most = max(_COMMON, len(texts) * _COMMON_SHARE)
    return frozenset(
        word
        for word, memories in held.items()
        if word[0].isupper() and word.lower() not in held and memories <= most
    )


def _ending(number: int) -> str:
    """What is added to the names of a copy; nothing to those of the set itself."""
    if not number:
        return ""
    more, last = divmod(number - 1, len(_ENDINGS))
    return _ending(more) + _ENDINGS[last]
