"""Whether two texts say the same, and in what they differ. Pure, and conservative.

Nothing is merged that differs in a number, a date, a negation, a name or anything else that this
module can see. Two texts say the same only when they are the same words in the same order, but for
idle words, the plural, words that stand for each other, and a phrase such as "in CI" that may stand
first or last. One may say more than the other: whole sentences behind, or a reason, with nothing in
them that tells. When in doubt, they differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

from bearinmind.text import distinguishing_words
from bearinmind.text.analysis import FUNCTION_WORDS, fold
from bearinmind.text.distinguishing_words import BEFORE, BEHIND, DATES, NEGATIONS, NUMBERS


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

    canonical: str  #: equal when it says the same
    plain: str  #: the same as if it were no name: without case and ending
    written: str
    kind: Kind
    begins: bool  #: whether a sentence begins with it

    @property
    def may_be_plain(self) -> bool:
        """Whether its capital may be there only because a sentence begins."""
        return self.canonical != self.plain


Tokens = tuple[Token, ...]


class Difference(NamedTuple):
    """Words of one text in the place of those of another; either may be none."""

    kind: Kind
    one: str
    other: str

    def __str__(self) -> str:
        if not self.one or not self.other:
            return f"{self.kind} ({self.one or self.other!r} in one alone)"
        return f"{self.kind} ({self.one!r} and {self.other!r})"


class Comparison(NamedTuple):
    """How two texts differ, and which says more."""

    differences: tuple[Difference, ...]
    more: int  #: 1 when only the one says more than the other, -1 the other way round, 0 neither
    shared: float  #: how much of their words they have in common, 0..1 (Dice 1945)

    @property
    def is_same(self) -> bool:
        """Whether both say the same fact; one may say more."""
        return not self.differences


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
_KINDS = {
    Kind.NEGATION: NEGATIONS,
    Kind.DATE: DATES,
    Kind.NUMBER: NUMBERS,
    Kind.CONDITION: distinguishing_words.CONDITIONS,
    Kind.STRENGTH: distinguishing_words.STRENGTHS,
    Kind.TENSE: distinguishing_words.TENSES,
    Kind.OPPOSITE: distinguishing_words.OPPOSITES,
    Kind.VALUE: distinguishing_words.UNITS,
}
#: What names the things that a text is about, and says whether it is so.
VALUES = frozenset(
    {Kind.NUMBER, Kind.DATE, Kind.NEGATION, Kind.NAME, Kind.VALUE, Kind.STRENGTH, Kind.TENSE}
)
_JOINS = frozenset({"or", "but"})  # a phrase that moves over one of these may belong elsewhere


def compare(one: str, other: str) -> Comparison:
    """Compare two texts."""
    return compare_read(read(one), read(other))


def compare_read(one: Tokens, other: Tokens) -> Comparison:
    """Compare two texts by their words."""
    if not one or not other:  # an empty text is the same as no other
        difference = Difference(Kind.WORD, _written(one), _written(other))
        return Comparison((difference,) if one or other else (), 0, float(not one and not other))
    one, other = _unnamed(one, other), _unnamed(other, one)
    reordered = _reordered(one, other)
    shorter, longer = sorted((one, reordered), key=len)
    if _canonical(longer[: len(shorter)]) == _canonical(shorter):
        rest = longer[len(shorter) :]
        if not rest:
            return Comparison((), 0, 1.0)
        is_apart = rest[0].begins or rest[0].written in distinguishing_words.REASONS
        if is_apart and all(token.kind is Kind.WORD for token in rest):  # it takes nothing back
            return Comparison((), 1 if longer is one else -1, _shared(one, reordered))
    return Comparison(tuple(_differences(one, other)), 0, _shared(one, other))


def may_be_same(one: Tokens, other: Tokens) -> bool:
    """Whether two texts name the same values: for somebody to look at, not to be merged."""
    mine, others = Counter(t.plain for t in one), Counter(t.plain for t in other)
    return all(
        mine[token.plain] == others[token.plain] for token in (*one, *other) if token.kind in VALUES
    )


def key(tokens: Tokens) -> tuple[str, ...]:
    """Equal for any two texts that say the same: the words of the first sentence, sorted."""
    first: list[str] = []
    for token in tokens:
        if first and (token.begins or token.written in distinguishing_words.REASONS):
            break
        first.append(token.plain)
    return tuple(sorted(first))


def _unnamed(tokens: Tokens, beside: Tokens) -> Tokens:
    """The tokens, where a capital at a beginning means nothing: the other text has the word small.

    Without that a word at a beginning may be a name, and is taken for one.
    """
    small = {token.canonical for token in beside if token.written.islower()}
    return tuple(
        token._replace(canonical=token.plain)
        if token.may_be_plain and token.plain in small
        else token
        for token in tokens
    )


def _reordered(one: Tokens, other: Tokens) -> Tokens:
    """The other text with its phrases of place and time where the one has them."""
    mine, others = _by_sentence(one), _by_sentence(other)
    reordered: list[Token] = []
    for place, sentence in enumerate(others):
        model = mine[place] if place < len(mine) else sentence
        reordered += model if _is_rotated(model, sentence) else sentence
    return tuple(reordered)


def _is_rotated(one: Tokens, other: Tokens) -> bool:
    """Whether a phrase that stands first in one of two sentences stands last in the other."""
    if len(one) != len(other):
        return False
    for first, last in ((one, other), (other, one)):
        begin = first[0].canonical
        if begin not in distinguishing_words.MOVABLE:
            continue
        for cut in range(1, len(first)):
            phrase, rest = _canonical(first[:cut]), _canonical(first[cut:])
            is_alone = begin not in rest and _JOINS.isdisjoint(rest)
            if is_alone and rest + phrase == _canonical(last):
                return True
    return False


def _by_sentence(tokens: Tokens) -> list[Tokens]:
    starts = [place for place, token in enumerate(tokens) if token.begins] or [0]
    return [tokens[a:b] for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)]


def _differences(one: Tokens, other: Tokens) -> Iterator[Difference]:
    words, other_words = _canonical(one), _canonical(other)
    if sorted(words) == sorted(other_words):
        yield Difference(Kind.ORDER, _written(one), _written(other))
        return
    matcher = SequenceMatcher(None, words, other_words, autojunk=False)
    for name, a, b, c, d in matcher.get_opcodes():
        if name != "equal":
            present = {token.kind for token in (*one[a:b], *other[c:d])}
            kind = next(kind for kind in Kind if kind in present)  # the most important is first
            yield Difference(kind, _written(one[a:b]), _written(other[c:d]))


def _shared(one: Tokens, other: Tokens) -> float:
    matcher = SequenceMatcher(None, _canonical(one), _canonical(other), autojunk=False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    return 2 * common / (len(one) + len(other))


def _canonical(tokens: Sequence[Token]) -> list[str]:
    return [token.canonical for token in tokens]


def _written(tokens: Sequence[Token]) -> str:
    return " ".join(token.written for token in tokens)


def read(text: str) -> Tokens:
    """The words of a text; idle words are left out."""
    return tuple(token for sentence in _sentences(text) for token in _tokens(sentence))


def _sentences(text: str) -> Iterator[list[_Piece]]:
    """The words of each sentence; the first without an opening that says nothing."""
    sentence: list[_Piece] = []
    is_first = True
    for line in text.split("\n"):
        for raw in [*line.split(), ""]:  # the end of a line ends a sentence
            sentence += _pieces(raw)
            if sentence and (not raw or _ENDS_SENTENCE.search(raw)):
                yield _without_opening(sentence) if is_first else sentence
                sentence, is_first = [], False


def _pieces(raw: str) -> list[_Piece]:
    """A word without the marks around it; that something is asked is a word of its own."""
    word = "" if {*raw} <= _DASHES else raw.lstrip(BEFORE).rstrip(BEHIND)
    comma = raw.rstrip("\"')]}`*").endswith((",", ":"))
    question_mark = [_Piece("?", comma=False)] if "?" in raw[len(raw.rstrip(BEHIND)) :] else []
    if not word:
        return question_mark
    is_joined = _JOINED.fullmatch(word) and word not in distinguishing_words.STANDS_FOR
    parts = word.split("-") if is_joined else _without_contraction(word)
    return [*(_Piece(part, comma) for part in parts), *question_mark]


def _without_contraction(word: str) -> list[str]:
    lowered = word.lower().replace("\u2019", "'")
    if lowered in _IRREGULAR_NOT:
        return [_IRREGULAR_NOT[lowered], "not"]
    negated = _NOT.match(word)
    if negated:
        return [negated[1], "not"]
    return [_OWNS.sub("", word) or word]


def _without_opening(sentence: list[_Piece]) -> list[_Piece]:
    """A text without a beginning such as "Note that"."""
    spelled = [piece.word.lower() for piece in sentence]
    for opening in distinguishing_words.OPENINGS:
        count = len(opening)
        ends = count > 1 or sentence[0].comma
        if ends and len(spelled) > count and tuple(spelled[:count]) == opening:
            return sentence[count:]
    return sentence


def _tokens(sentence: Sequence[_Piece]) -> Iterator[Token]:
    begins = True
    for place, (word, _) in enumerate(sentence):
        is_first = place == 0
        canonical, plain = _canonical_word(word), _plain(word)
        is_idle = plain in distinguishing_words.IDLE and (word.islower() or word == "&" or is_first)
        if is_idle or _is_idle_before(word, sentence[place + 1 : place + 2]):
            continue
        yield Token(
            canonical, plain if is_first else canonical, word, _kind(word, is_first), begins
        )
        begins = False


def _is_idle_before(word: str, following: Sequence[_Piece]) -> bool:
    """Whether a word says nothing where it stands: "gets restarted", "on Monday"."""
    if not following:
        return False
    after = fold(following[0].word)
    if word in ("get", "gets"):
        return after.endswith("ed")
    return word == "on" and (
        after in distinguishing_words.WEEKDAYS or _singular(after) in distinguishing_words.WEEKDAYS
    )


def _canonical_word(word: str) -> str:
    """The form in which a word is compared; a capital may make a name, which is left as it is."""
    is_plain = word.islower() or word.isupper() or _ABBREVIATIONS.fullmatch(word)
    if word.isupper() and _is_short(fold(word)):  # "US" is not "us", nor "IT" "it"
        return word
    if is_plain or fold(word) in distinguishing_words.NAMES:
        return _plain(word)
    return word if _CODE.search(word) else fold(word)


def _is_short(folded: str) -> bool:
    is_known = folded in distinguishing_words.STANDS_FOR or folded in distinguishing_words.NAMES
    return folded in FUNCTION_WORDS or (len(folded) < _SHORTEST_PLURAL - 1 and not is_known)


def _plain(word: str) -> str:
    """A word without case and ending; code is as it is."""
    folded = fold(word)
    named = distinguishing_words.NAMES.get(folded)
    if named:
        return named
    if _CODE.search(word):
        return distinguishing_words.STANDS_FOR.get(word, word)
    return distinguishing_words.STANDS_FOR.get(folded) or _singular(folded)


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
    is_known = is_first and (folded in FUNCTION_WORDS or folded in distinguishing_words.STANDS_FOR)
    if any(map(str.isupper, word)) and not is_known:
        return Kind.NAME
    return Kind.WORD
