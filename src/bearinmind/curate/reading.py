"""A text as the tokens by which it is held against another one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from bearinmind.analysis import FUNCTION_WORDS, fold
from bearinmind.curate import vocabulary
from bearinmind.telling_words import BEFORE, BEHIND, DATES, NEGATIONS, NUMBERS


class Kind(StrEnum):
    """What a word is, as far as it matters when a text has it and another has not."""

    NUMBER = "number"
    DATE = "date"
    NEGATION = "negation"
    NAME = "name"
    VALUE = "value"  #: a path, an identifier, a version, a flag, an address, a unit
    OPPOSITE = "opposite"  #: one of a pair such as on and off
    STRENGTH = "strength"  #: always, must, may
    TENSE = "tense"
    CONDITION = "condition"
    ORDER = "order"  #: the same words in another order
    WORD = "word"  #: any other word


class Token(NamedTuple):
    """One word of a text."""

    said: str  #: equal when it says the same
    plain: str  #: the same as if it were no name: without case and ending
    written: str
    kind: Kind
    begins: bool  #: whether a sentence begins with it

    @property
    def may_be_plain(self) -> bool:
        """Whether its capital may be there only because a sentence begins."""
        return self.said != self.plain


class _Piece(NamedTuple):
    """A word as it is written."""

    word: str
    comma: bool  #: whether one is behind it


_ENDS_SENTENCE = re.compile(r"[.!?;\u2026][\"')\]}`*\u2019\u201d]*$")
_CODE = re.compile(r"[_/\\@#=<>$%&|~^+\d]|\w[.:]\w|^-+\w|[a-z][A-Z]|^[^\w\s]+$")
_NOT = re.compile(r"^(\w+?)n['\u2019]t$", re.IGNORECASE)
_OWNS = re.compile(r"['\u2019](?:s|re|ve|ll|d|m)?$")
_JOINED = re.compile(r"[a-z]+(?:-[a-z]+)+")
_ABBREVIATIONS = re.compile(r"[A-Z]{2,}s")
_IRREGULAR_NOT = {"can't": "can", "won't": "will", "shan't": "shall", "cannot": "can"}
_DASHES = frozenset("-\u2013\u2014*\u2022")  # alone they are marks, and begin a point of a list
_SHORTEST_PLURAL = 4


def read(text: str) -> tuple[Token, ...]:
    """What a text says, word by word; idle words are left out."""
    return tuple(token for sentence in _sentences(text) for token in _tokens(sentence))


def _sentences(text: str) -> Iterator[list[_Piece]]:
    """The words of each sentence; the first without an opening that says nothing."""
    found: list[_Piece] = []
    is_first = True
    for line in text.split("\n"):
        for raw in [*line.split(), ""]:  # a line ends what it says
            found += _pieces(raw)
            if found and (not raw or _ENDS_SENTENCE.search(raw)):
                yield _opened(found) if is_first else found
                found, is_first = [], False


def _pieces(raw: str) -> list[_Piece]:
    """A word without the marks around it; that something is asked is a word of its own."""
    word = "" if {*raw} <= _DASHES else raw.lstrip(BEFORE).rstrip(BEHIND)
    comma = raw.rstrip("\"')]}`*").endswith((",", ":"))
    asked = [_Piece("?", comma=False)] if "?" in raw[len(raw.rstrip(BEHIND)) :] else []
    if not word:
        return asked
    is_joined = _JOINED.fullmatch(word) and word not in vocabulary.STANDS_FOR
    parts = word.split("-") if is_joined else _without_contraction(word)
    return [*(_Piece(part, comma) for part in parts), *asked]


def _without_contraction(word: str) -> list[str]:
    lowered = word.lower().replace("\u2019", "'")
    if lowered in _IRREGULAR_NOT:
        return [_IRREGULAR_NOT[lowered], "not"]
    negated = _NOT.match(word)
    if negated:
        return [negated[1], "not"]
    return [_OWNS.sub("", word) or word]


def _opened(sentence: list[_Piece]) -> list[_Piece]:
    """A text without a beginning such as "Note that"."""
    spelled = [piece.word.lower() for piece in sentence]
    for opening in vocabulary.OPENINGS:
        count = len(opening)
        ends = count > 1 or sentence[0].comma
        if ends and len(spelled) > count and tuple(spelled[:count]) == opening:
            return sentence[count:]
    return sentence


def _tokens(sentence: Sequence[_Piece]) -> Iterator[Token]:
    begins = True
    for place, (word, _) in enumerate(sentence):
        is_first = place == 0
        said, plain = _said(word), _plain(word)
        is_idle = plain in vocabulary.IDLE and (word.islower() or word == "&" or is_first)
        if is_idle or _is_idle_before(word, sentence[place + 1 : place + 2]):
            continue
        yield Token(said, plain if is_first else said, word, _kind(word, is_first), begins)
        begins = False


def _is_idle_before(word: str, following: Sequence[_Piece]) -> bool:
    """Whether a word says nothing where it stands: "gets restarted", "on Monday"."""
    if not following:
        return False
    after = fold(following[0].word)
    if word in ("get", "gets"):
        return after.endswith("ed")
    return word == "on" and (
        after in vocabulary.WEEKDAYS or _singular(after) in vocabulary.WEEKDAYS
    )


def _said(word: str) -> str:
    """The form in which a word is compared; a capital may make a name, which is left as it is."""
    is_plain = word.islower() or word.isupper() or _ABBREVIATIONS.fullmatch(word)
    if word.isupper() and _is_short(fold(word)):  # "US" is not "us", nor "IT" "it"
        return word
    if is_plain or fold(word) in vocabulary.NAMES:
        return _plain(word)
    return word if _CODE.search(word) else fold(word)


def _is_short(folded: str) -> bool:
    is_known = folded in vocabulary.STANDS_FOR or folded in vocabulary.NAMES
    return folded in FUNCTION_WORDS or (len(folded) < _SHORTEST_PLURAL - 1 and not is_known)


def _plain(word: str) -> str:
    """A word without case and ending; code is as it is."""
    folded = fold(word)
    named = vocabulary.NAMES.get(folded)
    if named:
        return named
    if _CODE.search(word):
        return vocabulary.STANDS_FOR.get(word, word)
    return vocabulary.STANDS_FOR.get(folded) or _singular(folded)


def _singular(word: str) -> str:
    """A word without its ending for the plural or the third person."""
    if len(word) < _SHORTEST_PLURAL:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_KINDS = {
    Kind.NEGATION: NEGATIONS,
    Kind.DATE: DATES,
    Kind.NUMBER: NUMBERS,
    Kind.CONDITION: vocabulary.CONDITIONS,
    Kind.STRENGTH: vocabulary.STRENGTHS,
    Kind.TENSE: vocabulary.TENSES,
    Kind.OPPOSITE: vocabulary.OPPOSITES,
    Kind.VALUE: vocabulary.UNITS,
}


def _kind(word: str, is_first: bool) -> Kind:
    """What a word is; one that may be a name is one, unless it is known to be something else."""
    if any(map(str.isnumeric, word)):
        return Kind.NUMBER if word[0].isnumeric() else Kind.VALUE
    folded = fold(word)
    for kind, words in _KINDS.items():
        if folded in words or _singular(folded) in words:
            return kind
    if _CODE.search(word):
        return Kind.VALUE
    is_known = is_first and (folded in FUNCTION_WORDS or folded in vocabulary.STANDS_FOR)
    if any(map(str.isupper, word)) and not is_known:
        return Kind.NAME
    return Kind.WORD
