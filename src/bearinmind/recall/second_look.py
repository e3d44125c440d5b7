"""A second look at the best candidates, by a model that reads them together with the question.

It costs milliseconds for each text, so it reads as few as it can: two candidates side by side and,
unless one of them answers, three more; of a long text the passage that the question is about; of
two states of one thing only those that are in doubt and answer.
A model that fails leaves the order and the verdict to the scores, and the answer says so.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

from bearinmind.errors import MindError
from bearinmind.outdates.verdicts import with_question
from bearinmind.protocols import ReadPairs, Reads
from bearinmind.recall import groups
from bearinmind.recall.groups import LONGEST
from bearinmind.text import analysis
from bearinmind.trace import Judged, PairsRead
from bearinmind.types import Memory, MemoryId, Placing

logger = logging.getLogger(__name__)

FIRST = 5  #: candidates that are read with the question ...
_AT_ONCE = 2  # ... so many before the others: two cores read them side by side
_ENOUGH = 0.0  # log odds: what answers more likely than not makes the others needless
_NEAR = 0.3  # of the first score: what has less hardly ever answers (docs/adr/0066)
_DOUBTED = -3.0  # log odds: if the first are no more likely to answer than that ...
_LEAST = 0.02  # ... others must be so probable by what the legs found
_PER_ODDS = 0.1  # of the logarithm of a score: what the log odds count (docs/adr/0062)
# Log odds: what answers no more than that is no earlier state of what is asked for ...
_NO_STATE = -3.0  # (docs/adr/0062)
_NO_ANSWER = -4.0  # ... or no present one; how much less says nothing (docs/adr/0073) ...
_FAR_BELOW = 8.0  # ... nor is what answers so much less than the older memory (docs/adr/0061)
_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+|(?<=\u3002)")
ANSWERS = "answers"  #: the factor of a candidate that another place was given


class FirstRead(NamedTuple):
    """The candidates after the first were read."""

    judged: list[Judged]
    odds: Mapping[MemoryId, float] = {}  #: the log odds that each of those answers the question
    report: PairsRead | None = None


def read_first(
    read_pairs: ReadPairs | None,
    asked: Callable[[Memory], str],  # what each is asked
    judged: list[Judged],
    memories: Mapping[MemoryId, Memory],
    by_legs: Callable[[Memory, Mapping[str, Placing]], float],  # how probable one is, unread
    *,
    is_ordered: bool,
) -> FirstRead:
    """Read the first candidates; those that answer come first, unless their order is settled."""
    least = _NEAR * judged[0].score if judged else 0.0
    first = [x for x in judged[:FIRST] if x.score >= least and not memories[x.id].sensitive]
    if read_pairs is None or not first or not asked(memories[first[0].id]).strip():
        return FirstRead(judged)
    at_once, others = first[:_AT_ONCE], first[_AT_ONCE:]
    odds, report = _with_odds(read_pairs, asked, [memories[x.id] for x in at_once], {})
    best = max(odds.values(), default=math.inf)  # nothing was read: the model failed
    if best <= _DOUBTED:
        others = [x for x in others if by_legs(memories[x.id], x.placings) >= _LEAST]
    if best <= _ENOUGH:
        odds, more = _with_odds(read_pairs, asked, [memories[x.id] for x in others], odds)
        report += more
    return FirstRead(judged if is_ordered else _reordered(judged, odds), odds, report)


def read_states(
    read_pairs: ReadPairs,
    text: str,
    pairs: Sequence[tuple[Memory, Memory]],
    odds: Mapping[MemoryId, float],
) -> tuple[groups.Preferences, PairsRead | None]:
    """Which memory of each pair the question asks for; nothing where one of them does not answer.

    `pairs` are those of `groups.to_be_read`, `odds` those of `read_first`.
    """
    if not pairs:
        return {}, None
    odds, report = _with_odds(read_pairs, lambda _: text, [older for older, _ in pairs], odds)
    stated = [pair for pair in pairs if odds.get(pair[0].id, 0.0) > _NO_STATE]
    odds, more = _with_odds(read_pairs, lambda _: text, [newer for _, newer in stated], odds)
    likely = [
        (older, newer)
        for older, newer in stated
        if odds.get(newer.id, 0.0) > max(_NO_ANSWER, odds.get(older.id, 0.0) - _FAR_BELOW)
    ]
    texts = [
        with_question(text, passage(older.content, text), passage(newer.content, text))
        for older, newer in likely
    ]
    numbers, last = _read(read_pairs, Reads.OUTDATES, texts)
    pairs_read = [frozenset((older.id, newer.id)) for older, newer in likely]
    return dict(zip(pairs_read, numbers, strict=False)), report + more + last


def _with_odds(
    read_pairs: ReadPairs,
    asked: Callable[[Memory], str],
    memories: Sequence[Memory],
    odds: Mapping[MemoryId, float],
) -> tuple[Mapping[MemoryId, float], PairsRead]:
    """The log odds with those of these memories, and what reading took."""
    unread = {x.id: (asked(x), x.content) for x in memories if x.id not in odds}
    texts = [(text[:LONGEST], passage(content, text)) for text, content in unread.values()]
    numbers, report = _read(read_pairs, Reads.ANSWERS, texts)
    return {**odds, **dict(zip(unread, map(groups.log_odds, numbers), strict=False))}, report


def _reordered(judged: list[Judged], odds: Mapping[MemoryId, float]) -> list[Judged]:
    """The candidates, those that were read in a new order on the places that they had."""
    places = [place for place, each in enumerate(judged[:FIRST]) if each.id in odds]
    before = [judged[place] for place in places]
    if len(before) < 2 or before[-1].score <= 0:  # noqa: PLR2004  two to be put in order
        return judged
    worth = {x.id: math.log(x.score) + _PER_ODDS * max(odds[x.id], _NO_ANSWER) for x in before}
    after = sorted(before, key=lambda x: -worth[x.id])
    reordered = [*judged]
    for place, own, here in zip(places, after, before, strict=True):
        reordered[place] = _with_score(own, here.score)
    return reordered


def _with_score(candidate: Judged, score: float) -> Judged:
    if score == candidate.score:
        return candidate
    factors = {**candidate.factors, ANSWERS: score / candidate.score}
    return candidate._replace(score=score, factors=factors)


def _read(
    read_pairs: ReadPairs, reads: Reads, texts: Sequence[tuple[str, str]]
) -> tuple[Sequence[float], PairsRead]:
    """What the model tells of each pair of texts, nothing if it fails; and what that took."""
    began, error = perf_counter(), None
    numbers: Sequence[float] = ()
    try:
        numbers = read_pairs(reads, texts) if texts else ()
    except MindError as exc:
        logger.warning("reading failed", extra={"action": "read"})
        error = f"{exc.code}: {exc.message}"
    took = (perf_counter() - began) * 1e3
    return numbers, PairsRead(pairs=len(texts), milliseconds=took, error=error)


# ---- the part of a long text that is about something ---------------------------------------------


def passage(text: str, about: str) -> str:
    """The part of a text that shares most words with another; the whole text if it is short."""
    if len(text) <= LONGEST:
        return text
    asked = {*analysis.index(about).terms}
    sentences = _SENTENCE.split(text)  # long ones are cut
    parts = [each[at : at + LONGEST] for each in sentences for at in range(0, len(each), LONGEST)]
    shared = [asked.intersection(analysis.index(part).terms) for part in parts]
    ends = [_end(parts, begin) for begin in range(len(parts))]
    found = [len(set[str]().union(*shared[begin:end])) for begin, end in enumerate(ends)]
    best = [begin for begin, words in enumerate(found) if words == max(found)]
    begin = best[len(best) // 2]  # what is said of it stands before and behind it
    return " ".join(parts[begin : ends[begin]])


def _end(parts: list[str], begin: int) -> int:
    """Up to where the parts from here on make a passage."""
    end, length = begin + 1, len(parts[begin])
    while end < len(parts) and length + 1 + len(parts[end]) <= LONGEST:
        length += 1 + len(parts[end])
        end += 1
    return end
