"""Whether two texts say the same, and in what they differ. Pure, and conservative.

Nothing is merged that differs in a number, a date, a negation, a name or anything else that this
module can see. Two texts say the same only when they are the same words in the same order, but for
idle words, the plural, words that stand for each other, and a phrase such as "in CI" that may stand
first or last. One may say more than the other: whole sentences behind, or a reason, with nothing in
them that tells. When in doubt, they differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from bearinmind.curate import vocabulary
from bearinmind.curate.reading import Kind, Token, read

__all__ = [
    "Comparison",
    "Difference",
    "Kind",
    "Tokens",
    "compare",
    "compare_read",
    "key",
    "may_be_same",
    "read",
]

Tokens = tuple[Token, ...]
#: What names the things that a text is about, and says whether it is so.
VALUES = frozenset(
    {Kind.NUMBER, Kind.DATE, Kind.NEGATION, Kind.NAME, Kind.VALUE, Kind.STRENGTH, Kind.TENSE}
)
_JOINS = frozenset({"or", "but"})  # a phrase that moves over one of these may belong elsewhere


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
    """What two texts have to do with each other."""

    differences: tuple[Difference, ...]
    more: int  #: 1 when only the one says more than the other, -1 the other way round, 0 neither
    shared: float  #: how much of their words they have in common, 0..1 (Dice 1945)

    @property
    def is_same(self) -> bool:
        """Whether both say the same fact; one may say more."""
        return not self.differences

    @property
    def telling(self) -> tuple[Difference, ...]:
        """The differences that are more than another choice of ordinary words."""
        return tuple(each for each in self.differences if each.kind is not Kind.WORD)


def compare(one: str, other: str) -> Comparison:
    """Hold two texts against each other."""
    return compare_read(read(one), read(other))


def compare_read(one: Tokens, other: Tokens) -> Comparison:
    """The same for texts that were read already."""
    if not one or not other:  # nothing can be said to be the same as nothing
        found = Difference(Kind.WORD, _written(one), _written(other))
        return Comparison((found,) if one or other else (), 0, float(not one and not other))
    one, other = _unnamed(one, other), _unnamed(other, one)
    turned = _turned(one, other)
    shorter, longer = sorted((one, turned), key=len)
    if _said(longer[: len(shorter)]) == _said(shorter):
        rest = longer[len(shorter) :]
        if not rest:
            return Comparison((), 0, 1.0)
        if _adds_only(rest):
            return Comparison((), 1 if longer is one else -1, _shared(one, turned))
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
        if first and (token.begins or _is_reason(token)):
            break
        first.append(token.plain)
    return tuple(sorted(first))


def _unnamed(tokens: Tokens, beside: Tokens) -> Tokens:
    """The tokens, where a capital at a beginning means nothing: the other text has the word small.

    Without that a word at a beginning may be a name, and is taken for one.
    """
    small = {token.said for token in beside if token.written.islower()}
    return tuple(
        token._replace(said=token.plain) if token.may_be_plain and token.plain in small else token
        for token in tokens
    )


def _turned(one: Tokens, other: Tokens) -> Tokens:
    """The other text with its phrases of place and time where the one has them."""
    mine, others = _by_sentence(one), _by_sentence(other)
    turned: list[Token] = []
    for place, sentence in enumerate(others):
        model = mine[place] if place < len(mine) else sentence
        turned += model if _is_rotated(model, sentence) else sentence
    return tuple(turned)


def _is_rotated(one: Tokens, other: Tokens) -> bool:
    """Whether a phrase that stands first in one of two sentences stands last in the other."""
    if len(one) != len(other):
        return False
    for first, last in ((one, other), (other, one)):
        begin = first[0].said
        if begin not in vocabulary.MOVABLE:
            continue
        for cut in range(1, len(first)):
            phrase, rest = _said(first[:cut]), _said(first[cut:])
            is_alone = begin not in rest and _JOINS.isdisjoint(rest)
            if is_alone and rest + phrase == _said(last):
                return True
    return False


def _by_sentence(tokens: Tokens) -> list[Tokens]:
    starts = [place for place, token in enumerate(tokens) if token.begins] or [0]
    return [tokens[a:b] for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)]


def _adds_only(rest: Tokens) -> bool:
    """Whether what stands behind a text leaves untouched what the text says."""
    is_apart = rest[0].begins or _is_reason(rest[0])
    return is_apart and all(token.kind is Kind.WORD for token in rest)


def _is_reason(token: Token) -> bool:
    return token.written in vocabulary.REASONS


def _differences(one: Tokens, other: Tokens) -> Iterator[Difference]:
    mine, others = _said(one), _said(other)
    if sorted(mine) == sorted(others):
        yield Difference(Kind.ORDER, _written(one), _written(other))
        return
    matcher = SequenceMatcher(None, mine, others, autojunk=False)
    for name, a, b, c, d in matcher.get_opcodes():
        if name != "equal":
            yield _difference(one[a:b], other[c:d])


def _difference(one: Tokens, other: Tokens) -> Difference:
    """What stands in one place: of the kind that tells most."""
    present = {token.kind for token in (*one, *other)}
    kind = next(kind for kind in Kind if kind in present)
    return Difference(kind, _written(one), _written(other))


def _shared(one: Tokens, other: Tokens) -> float:
    matcher = SequenceMatcher(None, _said(one), _said(other), autojunk=False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    return 2 * common / (len(one) + len(other))


def _said(tokens: Sequence[Token]) -> list[str]:
    return [token.said for token in tokens]


def _written(tokens: Sequence[Token]) -> str:
    return " ".join(token.written for token in tokens)
