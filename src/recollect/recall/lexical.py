"""The lexical leg: memories that hold the words of the query, and how sure it is of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

from recollect import analysis
from recollect.protocols import LexicalMatch, LexicalSearch, LexicalStatistics
from recollect.trace import LegReport
from recollect.types import Candidate, Query, Ranking

MOST_TERMS = 64  # a pasted page has hundreds of words; its rarest say what it is about


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalWeights:
    """How a match is scored. The values were chosen on development splits: docs/adr/0004."""

    k1: float = 1.2  #: how soon repeating a term stops adding
    b: float = 0.4  #: how much a long memory is held against it
    keywords: float = 0.7  #: a keyword, against a word of the content
    tags: float = 0.7
    category: float = 0.2
    inflected: float = 0.77  #: a word in another form than the query's
    adjacent: float = 0.5  #: added for two words that are neighbours in the query and in the memory
    expanded: float = 0.5  #: a term of `expanded_query`, against one of the query


class _Probe(NamedTuple):
    """A term made ready to be looked for in many matches."""

    padded: str
    weight: float
    surface: str
    information: float  #: what it adds to coverage


@dataclass(frozen=True, slots=True)
class LexicalLeg:
    """BM25 over fields, a little more for the query's own spelling and phrases.

    The store narrows the index down to the best matches by plain BM25; this leg ranks them. It
    asks for memories that hold every term first, and for any term when those are too few.
    """

    search: LexicalSearch = field(repr=False)
    weights: LexicalWeights = field(default_factory=LexicalWeights)

    @property
    def name(self) -> str:
        """How the leg is called in traces."""
        return "lexical"

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        """The best `query.pool` memories by their words."""
        began = perf_counter()
        asked = analysis.ask(query.text)
        added = analysis.ask(" ".join(query.expanded)) if query.expanded else None
        surfaces = dict(added.terms) | dict(asked.terms) if added else dict(asked.terms)
        statistics = self.search.lexical_statistics([*surfaces])
        terms = _rarest(surfaces, statistics)
        matches, broadened = self._find(query, terms)
        scorer = _Scorer(asked, {term: surfaces[term] for term in terms}, statistics, self.weights)
        candidates = sorted(map(scorer, matches), key=lambda c: (-c.score, c.id))
        report = LegReport(
            leg=self.name,
            found=len(candidates),
            milliseconds=(perf_counter() - began) * 1e3,
            detail={
                "terms": {term: statistics.frequency[term] for term in terms},
                "left_out_terms": len(surfaces) - len(terms),
                "broadened": broadened,
            },
        )
        return Ranking(leg=self.name, candidates=tuple(candidates)), report

    def _find(self, query: Query, terms: Sequence[str]) -> tuple[list[LexicalMatch], bool]:
        """Memories with every term, then with any; and whether it came to that."""
        if not terms:
            return [], False
        strict = self.search.lexical_matches(query.filter, terms, every=True, limit=query.pool)
        if len(terms) == 1 or len(strict) >= query.pool:
            return strict, False
        loose = self.search.lexical_matches(query.filter, terms, every=False, limit=query.pool)
        found = {match.id: match for match in (*strict, *loose)}
        return [*found.values()][: query.pool], True


def _rarest(surfaces: dict[str, str], statistics: LexicalStatistics) -> list[str]:
    """The terms worth asking for: those that occur, the rarest of them when there are too many."""
    frequency = statistics.frequency
    present = [term for term in surfaces if frequency[term]]
    if len(present) > MOST_TERMS:
        present.sort(key=lambda term: (frequency[term], term))
        del present[MOST_TERMS:]
    return present


def information(frequency: int, total: int) -> float:
    """Inverse document frequency (Robertson & Sparck Jones 1976), kept above zero."""
    return math.log1p((total - frequency + 0.5) / (frequency + 0.5))


class _Scorer:
    """Scores matches of one query.

    The score is BM25 (Robertson & Zaragoza 2009) with the fields' counts weighted and added before
    saturation. The confidence is the share of the query's information that the memory covers:
    the information of the query's words that it holds, over that of all its words, those that no
    memory holds included.
    """

    def __init__(
        self,
        asked: analysis.Asked,
        surfaces: dict[str, str],
        statistics: LexicalStatistics,
        weights: LexicalWeights,
    ) -> None:
        self._weights = weights
        self._norm = weights.k1 * (1 - weights.b)
        self._slope = weights.k1 * weights.b / (statistics.average_length or 1.0)
        frequency, total = statistics.frequency, statistics.total
        known = {term: information(frequency[term], total) for term in frequency}
        atoms = dict.fromkeys(asked.atoms)
        self._mass = math.fsum(known[atom] for atom in atoms)
        own = dict(asked.terms)
        self._probes = [
            _Probe(
                padded=f" {term} ",
                weight=known[term] * (1.0 if term in own else weights.expanded) * (weights.k1 + 1),
                surface=surface,
                information=known[term] if term in atoms else 0.0,
            )
            for term, surface in surfaces.items()
        ]
        self._wholes = [
            (f" {whole} ", [(f" {atom} ", known[atom]) for atom in implied])
            for whole, implied in asked.wholes.items()
            if implied and whole in surfaces
        ]
        self._pairs = [
            (f" {left}  {right} ", weights.adjacent * min(known[left], known[right]))
            for left, right in zip(asked.atoms, asked.atoms[1:], strict=False)
            if left in surfaces and right in surfaces and left != right
        ]

    def __call__(self, match: LexicalMatch) -> Candidate:
        weights = self._weights
        id_, content, terms, keywords, tags, category, function, length = match
        norm = self._norm + self._slope * length
        folded = content.lower()
        score = covered = 0.0
        for padded, weight, surface, informed in self._probes:
            count: float = terms.count(padded)
            exact = count and surface in folded
            if keywords:
                count += weights.keywords * keywords.count(padded)
            if tags:
                count += weights.tags * tags.count(padded)
            if not count:
                count = weights.category * category.count(padded) or function.count(padded)
                if not count:
                    continue
            covered += informed
            gain = weight * count / (count + norm)
            score += gain if exact else gain * weights.inflected
        for padded, bonus in self._pairs:
            if padded in terms:
                score += bonus
        for padded, implied in self._wholes:
            if padded in terms:
                covered += sum(known for atom, known in implied if atom not in terms)
        confidence = min(1.0, covered / self._mass) if self._mass else 0.0
        return Candidate(id_, score, confidence)
