"""Whether two texts say the same, and in what they differ. Pure, and conservative.

Nothing is merged that differs in a number, a date, a negation, a name or anything else that this
module can see. Two texts say the same only when they are the same words in the same order, but for
idle words, endings and words that stand for each other. One may say more than the other: whole
sentences behind, or a reason, with nothing in them that tells. When in doubt, they differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from recollect.curate import vocabulary
from recollect.curate.reading import Kind, Token, read

Tokens = tuple[Token, ...]

__all__ = ["Comparison", "Difference", "Kind", "Tokens", "compare", "compare_read", "read"]


class Difference(NamedTuple):
    """Words of one text in the place of those of another; either may be none."""

    kind: Kind
    one: str
    other: str

    def __str__(self) -> str:
        if not self.one or not self.other:
            return f"{self.kind}: {self.one or self.other!r} in one alone"
        return f"{self.kind}: {self.one!r} and {self.other!r}"


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
    shorter, longer = sorted((one, other), key=len)
    shared = _shared(one, other)
    if not shorter:  # nothing can be said to be the same as nothing
        found = (Difference(Kind.WORD, _written(one), _written(other)),) if longer else ()
        return Comparison(found, 0, shared)
    if _said(longer[: len(shorter)]) == _said(shorter):
        rest = longer[len(shorter) :]
        if not rest:
            return Comparison((), 0, shared)
        if _adds_only(rest):
            return Comparison((), 1 if longer is one else -1, shared)
    return Comparison(tuple(_differences(one, other)), 0, shared)


def _adds_only(rest: Tokens) -> bool:
    """Whether what stands behind a text leaves untouched what the text says."""
    is_apart = rest[0].begins or rest[0].said in vocabulary.REASONS
    return is_apart and all(token.kind is Kind.WORD for token in rest)


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
    total = len(one) + len(other)
    matcher = SequenceMatcher(None, _said(one), _said(other), autojunk=False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    return 2 * common / total if total else 1.0


def _said(tokens: Sequence[Token]) -> list[str]:
    return [token.said for token in tokens]


def _written(tokens: Sequence[Token]) -> str:
    return " ".join(token.written for token in tokens)
