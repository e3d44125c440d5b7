"""Answers from several people's memories as one. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bearinmind.concepts import Concept, ConceptName, Mentioned
from bearinmind.protocols import DenseAnswer, LexicalMatch, LexicalStatistics
from bearinmind.recall.lexical import information

_K1, _B = 1.2, 0.75  # plain BM25, as the stores choose their matches by


def added_up(parts: Sequence[LexicalStatistics], terms: Sequence[str]) -> LexicalStatistics:
    """How frequent terms are in all of these."""
    total = sum(part.total for part in parts)
    length = math.fsum(part.total * part.average_length for part in parts)
    frequency = {term: sum(part.frequency.get(term, 0) for part in parts) for term in terms}
    return LexicalStatistics(total, length / total if total else 0.0, frequency)


def bm25(match: LexicalMatch, terms: Sequence[str], statistics: LexicalStatistics) -> float:
    """Plain BM25, to cut several lists to one as a store cuts its own."""
    text = f"{match.terms}{match.keywords}{match.tags}{match.category}{match.function}"
    norm = _K1 * (1 - _B + _B * match.length / (statistics.average_length or 1.0))
    counts = {term: text.count(f" {term} ") for term in terms}
    return math.fsum(
        information(statistics.frequency[term], statistics.total) * count / (count + norm)
        for term, count in counts.items()
    )


def pooled(answers: Sequence[DenseAnswer]) -> DenseAnswer:
    """Mean and deviation of several crowds as of one."""
    count = sum(answer.population for answer in answers)
    if not count:
        return answers[0]
    mean = math.fsum(answer.population * answer.mean for answer in answers) / count
    squares = math.fsum(
        answer.population * (answer.deviation**2 + (answer.mean - mean) ** 2) for answer in answers
    )
    return answers[0]._replace(mean=mean, deviation=math.sqrt(squares / count), population=count)


def joined(known: Concept | None, name: ConceptName, theirs: Concept) -> Concept:
    """A concept with what others' memories say of it; their merges stay theirs."""
    if known is None:
        return replace(theirs, name=name, aliases=())
    return replace(
        known,
        memories=known.memories + theirs.memories,
        subjects=known.subjects + theirs.subjects,
    )


def counted(each: Mentioned, concept: Concept) -> Mentioned:
    """A mention under the user's name, with the counts of all that can be seen."""
    return each._replace(concept=concept.name, memories=concept.memories, subjects=concept.subjects)
