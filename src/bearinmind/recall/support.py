"""How much speaks for a memory in all: whether to give it to somebody who did not ask.

A confidence says how much of what was asked a memory has; abstaining goes by it when somebody asks.
A prompt is no question: "looks good" is covered in full by many memories, and says nothing. So what
counts here of the words in common is above all how much they tell by themselves, which is little
where they are common ones; to that comes what the legs say that the find is worth in this query.

How much is enough grows with the memories that were looked through: among more of them one that
fits as well is found by chance. The numbers were chosen on development queries: docs/adr/0035.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from bearinmind.types import Placing

UNASKED = 0.5  #: with so much support a memory is worth giving unasked
_TELLING = 20.0  # a lexical score that counts as much as another leg that is sure
_COVERING = 0.3  # of the lexical leg's evidence counts; most of it is how much is covered
_ENOUGH_OF_ONE = 0.4  # what must speak for the only memory that there is,
_ENOUGH_OF_MORE = 0.15  # and for one of e times as many so much more
_WORDS_ALONE = 0.7  # of that is enough where there is no meaning to compare


def support(placings: Mapping[str, Placing], among: int) -> float:
    """How much speaks for one of so many memories, 0 to 1; `UNASKED` is enough to give it."""
    found = math.fsum(_worth(leg, placing) for leg, placing in placings.items())
    enough = _ENOUGH_OF_ONE + _ENOUGH_OF_MORE * math.log(max(among, 1))
    if "lexical" in placings and "dense" not in placings:
        enough *= _WORDS_ALONE
    return min(1.0, UNASKED * found / enough)


def _worth(leg: str, placing: Placing) -> float:
    if leg != "lexical":
        return placing.evidence
    return placing.score / _TELLING + _COVERING * placing.evidence
