"""Whether a sentence probably says what lasts: a small learned scorer. English. Pure.

`benchmarks/lasting_scorer.py` made its `lasting.json`: logistic regressions over runs of one to
three words, and over the vector of the sentence where the shipped encoder gives one. A word that
few messages have counts by its shape alone, so that the form of a sentence decides, not its topic.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from operator import mul
from typing import NamedTuple

from bearinmind.learn.model import Lesson

#: The vector of a sentence by the encoder `MODEL`; None without it.
Embed = Callable[[str], Sequence[float] | None]
MODEL = "all-MiniLM-L6-v2+e5-small"
#: From these probabilities on a sentence is proposed: of sentences that do not last about two of a
#: hundred are, so that a day of ordinary prompts does not fill an inbox.
BY_WORDS, BY_BOTH = 0.75, 0.7
_HARDLY = 0.1  # by words: what is below is not embedded
_CHANGED = 0.5

TOKEN = re.compile(r"[^\W\d_](?:[\w'/.-]*\w)?|\d[\w.:,%-]*|[^\w\s]")
_IDENTIFIER = re.compile(r"[\d_/.-]|[a-z][A-Z]")
_LONGEST_RUN = 3
_ENDINGS = ("ing", "ed", "ly", "s")
_SHORT = 4  # characters of a word whose ending says nothing
_STEP, _MOST_STEPS = 5, 5  # words by which the length of sentences is told apart


class _Weights(NamedTuple):
    always: float
    runs: Mapping[str, float]
    vector: Sequence[float] = ()

    def probability(self, runs: set[str], vector: Sequence[float] = ()) -> float:
        total = self.always + math.fsum(self.runs.get(run, 0.0) for run in runs)
        return 1 / (1 + math.exp(-total - sum(map(mul, self.vector, vector))))


class _Model(NamedTuple):
    words: frozenset[str]
    by_words: _Weights
    by_both: _Weights
    update: _Weights  #: by words: that what lasts has changed


@cache
def _model() -> _Model:
    data = json.loads((files(__package__) / "lasting.json").read_text(encoding="utf-8"))
    return _Model(frozenset(data.pop("words")), **{name: _Weights(**data[name]) for name in data})


def lesson_of(sentence: str, embed: Embed) -> Lesson | None:
    """What a sentence teaches, an update or a fact; None when it probably does not last."""
    model = _model()
    runs = features(sentence, model.words)
    by_words = model.by_words.probability(runs)
    vector = embed(sentence) if by_words >= _HARDLY else None
    if vector is None:
        lasts = by_words >= BY_WORDS
    else:
        lasts = model.by_both.probability(runs, vector) >= BY_BOTH
    if not lasts:
        return None
    return Lesson.UPDATE if model.update.probability(runs) >= _CHANGED else Lesson.FACT


def features(sentence: str, known: Container[str]) -> set[str]:
    """The runs of words of a sentence, and about how long it is."""
    words = ["^", *_shapes(sentence, known), "$"]
    runs = {
        " ".join(words[at : at + length])
        for length in range(1, _LONGEST_RUN + 1)
        for at in range(len(words) - length + 1)
    }
    return runs | {f"length {min(len(words) // _STEP, _MOST_STEPS)}"}


def _shapes(sentence: str, known: Container[str]) -> Iterator[str]:
    """The known words of a sentence, and what the others look like."""
    for at, word in enumerate(TOKEN.findall(sentence)):
        folded = word.lower()
        if word[0].isdigit():
            yield "#"
        elif not word[0].isalpha() or folded in known:
            yield folded
        elif _IDENTIFIER.search(word):
            yield "identifier~"
        elif at and word[0].isupper():
            yield "name~"
        else:
            endings = (end for end in _ENDINGS if len(word) > _SHORT and folded.endswith(end))
            yield f"~{next(endings, '')}"
