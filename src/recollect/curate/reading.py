"""A text as the tokens by which it is held against another one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from recollect.analysis import fold
from recollect.curate import vocabulary
from recollect.telling_words import BEFORE, BEHIND, DATES, NEGATIONS, NUMBERS


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
    written: str
    kind: Kind
    begins: bool  #: whether a sentence begins with it


class _Piece(NamedTuple):
    """A word as it is written, and what stands around it."""

    word: str
    begins: bool
    comma: bool  #: behind it


_ENDS_SENTENCE = re.compile(r"[.!?;\u2026][\"')\]}`*\u2019\u201d]*$")
_CODE = re.compile(r"[_/\\@#=<>$%&|~^+\d]|\w[.:]\w|^-+\w|[a-z][A-Z]|^[^\w\s]+$")
_NOT = re.compile(r"^(\w+?)n['\u2019]t$", re.IGNORECASE)
_OWNS = re.compile(r"['\u2019](?:s|re|ve|ll|d|m)?$")
_JOINED = re.compile(r"[a-z]+(?:-[a-z]+)+")
_IRREGULAR_NOT = {"can't": "can", "won't": "will", "shan't": "shall", "cannot": "can"}
_DASHES = frozenset("-\u2013\u2014*\u2022")  # alone they are marks, and begin a point of a list
_SHORTEST_STEM = 4
_MOST_MOVED = 6  # words of a phrase that stands first


def read(text: str) -> tuple[Token, ...]:
    """What a text says, word by word; idle words are left out."""
    tokens: list[Token] = []
    for sentence in _sentences(text):
        tokens += _tokens(_moved(sentence))
    return tuple(tokens)


def _sentences(text: str) -> Iterator[list[_Piece]]:
    """The words of each sentence; the first without an opening that says nothing."""
    found: list[_Piece] = []
    is_first = True
    for line in text.split("\n"):
        for raw in line.split():
            found += _pieces(raw, begins=not found)
            if found and _ENDS_SENTENCE.search(raw):
                yield _opened(found) if is_first else found
                found, is_first = [], False
        if found:
            yield _opened(found) if is_first else found
            found, is_first = [], False


def _pieces(raw: str, *, begins: bool) -> list[_Piece]:
    """A word without the marks around it; a question is a word of its own."""
    word = raw if set(raw) <= _DASHES else raw.lstrip(BEFORE).rstrip(BEHIND)
    comma = raw.rstrip("\"')]}`*").endswith((",", ":"))
    asked = [_Piece("?", begins=False, comma=False)] if raw.rstrip(BEHIND) + "?" in raw else []
    if not word or word in _DASHES:
        return asked
    if _JOINED.fullmatch(word) and word not in vocabulary.STANDS_FOR:
        parts = word.split("-")
    else:
        parts = _without_contraction(word)
    last = len(parts) - 1
    pieces = [
        _Piece(part, begins=begins and place == 0, comma=comma and place == last)
        for place, part in enumerate(parts)
    ]
    return pieces + asked


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
            return [sentence[count]._replace(begins=True), *sentence[count + 1 :]]
    return sentence


def _moved(sentence: list[_Piece]) -> list[_Piece]:
    """A sentence that begins with where or when, "In CI, tests run", as if it ended with it."""
    commas = [place for place, piece in enumerate(sentence) if piece.comma]
    first = sentence[0].word.lower()
    if len(commas) != 1 or first not in vocabulary.MOVABLE:
        return sentence
    cut = commas[0] + 1
    rest = {piece.word.lower() for piece in sentence[cut:]}
    if cut > _MOST_MOVED or not rest or rest & {first, "and", "or", "but"}:
        return sentence
    head = [sentence[0]._replace(word=first, begins=False), *sentence[1:cut]]
    return [sentence[cut]._replace(begins=True), *sentence[cut + 1 :], *head]


def _tokens(sentence: Sequence[_Piece]) -> Iterable[Token]:
    begins = True
    for place, piece in enumerate(sentence):
        said = _said(piece.word, is_first=place == 0)
        if said in vocabulary.IDLE and (piece.word.islower() or place == 0):
            continue
        yield Token(said, piece.word, _kind(piece.word, said, is_first=place == 0), begins)
        begins = False


def _said(word: str, *, is_first: bool) -> str:
    """The form in which a word is compared: code as it is, anything else folded."""
    if _CODE.search(word) or (word.isupper() and fold(word) in vocabulary.IDLE):
        return vocabulary.STANDS_FOR.get(word, word)
    folded = fold(word)
    if word.islower() or is_first or word.isupper():
        known = vocabulary.STANDS_FOR.get(folded)
        if known:
            return known
    return _stem(folded) if word.islower() else folded


def _stem(word: str) -> str:
    """A word without its ending for the plural, the third person or the tense."""
    if word.endswith("ies") and len(word) > _SHORTEST_STEM:
        word = word[:-3] + "y"
    elif word.endswith(("ches", "shes", "sses", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    known = vocabulary.STANDS_FOR.get(word)
    if known:
        return known
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST_STEM:
            doubled = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if doubled else stem
            break
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


_STEMMED = {
    kind: {*words} | {_stem(word) for word in words}
    for kind, words in (
        (Kind.NEGATION, NEGATIONS),
        (Kind.DATE, DATES),
        (Kind.NUMBER, NUMBERS),
        (Kind.CONDITION, vocabulary.CONDITIONS),
        (Kind.STRENGTH, vocabulary.STRENGTHS),
        (Kind.TENSE, vocabulary.TENSES),
        (Kind.OPPOSITE, vocabulary.OPPOSITES),
    )
}


def _kind(word: str, said: str, *, is_first: bool) -> Kind:
    """What a word is; one that may be a name is one, unless it is known to be something else."""
    folded = fold(word)
    if any(map(str.isnumeric, word)):
        return Kind.NUMBER if word[0].isnumeric() else Kind.VALUE
    for kind, words in _STEMMED.items():
        if folded in words or said in words:
            return kind
    if _CODE.search(word):
        return Kind.VALUE
    if any(map(str.isupper, word)) and not (is_first and folded in vocabulary.STANDS_FOR):
        return Kind.NAME
    return Kind.WORD
