"""Finds known names in a text, in any case and in any context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from typing import NamedTuple

from bearinmind.concepts import ConceptName
from bearinmind.text.analysis import FUNCTION_WORDS, fold

WORDS_CACHED = 50_000  # about 6 MB; folding is a good part of reading a memory
LONGEST_NAME = 7  #: words; a longer run is a sentence, not a name

# A word, with the marks that hold an identifier or a name together; or the & of "Brown & Sons".
_WORD = re.compile(r"[^\W_]+(?:[-'\u2019._/&][^\W_]+)*|&")
_POSSESSIVE = re.compile(r"['\u2019][sS]?$")
_ARTICLES = frozenset({"a", "an", "the"})  # the only small words that names often begin with
_NEVER_FIRST = FUNCTION_WORDS - _ARTICLES
_SHORTEST = 3  # letters of a name of one word: "go" in a text is seldom the language
#: What may stand between two words of one name; anything else ends a sentence or a clause.
_JOINT = re.compile(r"[ \t\u00a0,:&'\u2019_(-]*")
_AFTER_INITIAL = re.compile(r"\.[ \t\u00a0]?")
_NO_WORD = re.compile(r"(?:['\u2019]s?)?[\W_]+")

#: Words of a text that may be a name: the index of the first, and that after the last.
Run = tuple[int, int]


class Word(NamedTuple):
    """A word of a text and its position."""

    surface: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words of a text as names are made of them."""
    return [Word(match.group(), match.start(), match.end()) for match in _WORD.finditer(text)]


@lru_cache(WORDS_CACHED)
def folded(word: str) -> str:
    """A word without case, accents and possessive."""
    return fold(_POSSESSIVE.sub("", word)) or fold(word)


def name_of(text: str) -> ConceptName:
    """The name that a text spells; empty when it has no word."""
    return ConceptName(" ".join(folded(word.surface) for word in words(text)))


class Named(NamedTuple):
    """A name that stands in a text."""

    name: ConceptName
    label: str  #: as it is written there


class Text:
    """A text, read word by word."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._words: list[Word] = words(content)
        self._folded = [folded(word.surface) for word in self._words]

    @cached_property
    def names(self) -> set[ConceptName]:
        """Every run of words that may be a name."""
        return {ConceptName(name) for name, _ in self._runs(0, len(self._folded))}

    def named(self, known: AbstractSet[ConceptName]) -> list[Named]:
        """The known names that stand here, each once, none of them across a longer one."""
        here = self.names & known
        if not here:
            return []
        occurrences = [(name, run) for name in here for run in self._places(name)]
        occurrences.sort(key=lambda each: (each[1][0] - each[1][1], each[1][0]))
        taken: dict[Run, ConceptName] = {}
        for name, run in occurrences:
            if not any(_cuts(run, longer) for longer in taken):
                taken[run] = name
        first = dict(sorted(((name, run) for run, name in taken.items()), reverse=True))
        return [self._named(name, run) for name, run in sorted(first.items())]

    def around(self, name: ConceptName) -> set[ConceptName]:
        """The longer runs that a name is part of, or cut by, where it stands."""
        return {other for run in self._places(name) for other in self._longer(run)}

    def alone(self, name: ConceptName, known: AbstractSet[ConceptName]) -> Named | None:
        """A name where it stands outside of any longer known one; None when it never does."""
        for run in self._places(name):
            if known.isdisjoint(self._longer(run)):
                return self._named(name, run)
        return None

    def _places(self, name: ConceptName) -> list[Run]:
        spelled, wanted = self._folded, name.split(" ")
        count = len(wanted)
        return [
            (start, start + count)
            for start in range(len(spelled) - count + 1)
            if spelled[start] == wanted[0]
            and spelled[start : start + count] == wanted
            and not self._breaks.intersection(range(start + 1, start + count))
        ]

    def _longer(self, run: Run) -> Iterator[ConceptName]:
        start, end = run
        last = min(len(self._folded), end + LONGEST_NAME)
        for name, other in self._runs(max(0, start - LONGEST_NAME), last):
            if other[1] - other[0] > end - start and _cuts(other, run):
                yield ConceptName(name)

    def _runs(self, begin: int, end: int) -> Iterator[tuple[str, Run]]:
        spelled, breaks = self._folded, self._breaks
        for start in range(begin, end):
            name = spelled[start]
            if name in _NEVER_FIRST and not self._words[start].surface[0].isupper():
                continue
            if _is_distinctive_word(name):
                yield name, (start, start + 1)
            for stop in range(start + 1, min(end, start + LONGEST_NAME)):
                if stop in breaks:
                    break
                word = spelled[stop]
                name = f"{name} {word}"
                if word not in FUNCTION_WORDS:
                    yield name, (start, stop + 1)

    @cached_property
    def _breaks(self) -> frozenset[int]:
        """The words before which a sentence, a clause or a line ends."""
        breaks = []
        for place in range(1, len(self._words)):
            gap = self._content[self._words[place - 1].end : self._words[place].start]
            if gap != " " and not _JOINT.fullmatch(gap) and not self._is_initial(place - 1, gap):
                breaks.append(place)
        return frozenset(breaks)

    def _is_initial(self, place: int, gap: str) -> bool:
        """Whether a word is the initial of a name: "Edwin L. Marin"."""
        surface = self._words[place].surface
        return len(surface) == 1 and surface.isupper() and bool(_AFTER_INITIAL.fullmatch(gap))

    def _named(self, name: ConceptName, run: Run) -> Named:
        first, last = self._words[run[0]], self._words[run[1] - 1]
        return Named(name, self._content[first.start : last.end])


def may_hold(content: str, name: ConceptName) -> bool:
    """Whether the words of a name may stand together in a text: fast; a False is certain."""
    if not content.isascii():  # folding it would cost as much as reading it word by word
        return True
    return f" {_NO_WORD.sub(' ', name)} " in f" {_NO_WORD.sub(' ', fold(content))} "


def is_distinctive(name: ConceptName) -> bool:
    """Whether a name can be recognised wherever its words stand: "it" and "go" cannot."""
    spelled = name.split(" ")
    if len(spelled) == 1:
        return _is_distinctive_word(name)
    return spelled[0] not in _NEVER_FIRST and spelled[-1] not in FUNCTION_WORDS


def _is_distinctive_word(word: str) -> bool:
    return len(word) >= _SHORTEST and not word.isdigit() and word not in FUNCTION_WORDS


def _cuts(one: Run, other: Run) -> bool:
    """Whether two runs have a word in common."""
    return one[0] < other[1] and other[0] < one[1]
