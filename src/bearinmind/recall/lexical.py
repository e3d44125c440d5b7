"""The lexical leg: memories that hold the words of the query, and how sure it is of each."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from bearinmind.protocols import LexicalMatch, LexicalSearch, LexicalStatistics
from bearinmind.text import analysis
from bearinmind.trace import LegReport
from bearinmind.types import Candidate, Query, Ranking

_K1, _B = 1.2, 0.75  # plain BM25, as the stores choose their matches by
TELLING_TERMS = 4  # few memories hold the four rarest terms of a query
MOST_TERMS = 64  # a pasted page has hundreds of words; its rarest say what it is about
TELLING_TOTAL = 1_000  # in fewer memories a name may be frequent and still tell a lot
PASSAGE = 40  # terms: what stands further apart says little together (docs/adr/0071)
WORTH = 0.6  # of a match with all words of a query, where certainty by meaning is 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalWeights:
    """How a match is scored. The values were chosen on development splits: docs/adr/0004."""

    k1: float = 1.8  #: how soon repeating a term stops adding
    b: float = 0.4  #: how much a long memory is held against it
    keywords: float = 0.95  #: a keyword, against a word of the content
    tags: float = 0.9
    category: float = 0.2
    inflected: float = 0.77  #: a word in another form than the query's
    adjacent: float = 0.7  #: added for two words that are neighbours in the query and in the memory
    expanded: float = 0.5  #: a term of `expanded_query`, against one of the query


@dataclass(frozen=True, slots=True)
class LexicalLeg:
    """BM25 over fields, a little more for the query's own spelling and phrases.

    The store narrows the index down to the best matches by plain BM25; this leg ranks them. It
    asks for memories that hold every term first, and for any term when those are too few.
    """

    search: LexicalSearch = field(repr=False)
    weights: LexicalWeights = field(default_factory=LexicalWeights)
    name = "lexical"  #: in traces

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        """The best `query.pool` memories by their words."""
        began = perf_counter()
        asked = analysis.ask(query.text)
        added = analysis.ask(" ".join(query.expanded)) if query.expanded else None
        surfaces = dict(added.terms) | dict(asked.terms) if added else dict(asked.terms)
        statistics = self.search.lexical_statistics(query.filter.scope, [*surfaces])
        terms = _rarest(surfaces, statistics)
        matches, broadened = self._find(query, terms, statistics)
        chosen = {term: surfaces[term] for term in terms}
        scorer = _Scorer(asked, added, chosen, statistics, self.weights)
        candidates = scorer.rank(matches)
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
        ranking = Ranking(
            leg=self.name,
            candidates=tuple(candidates),
            memories={match.id: match.load for match in matches},
            among=statistics.total,
            frequency={term: statistics.frequency[term] for term in terms},
            unknown=[term for term, _ in asked.terms if not statistics.frequency[term]],
        )
        return ranking, report

    def _find(
        self, query: Query, terms: Sequence[str], statistics: LexicalStatistics
    ) -> tuple[list[LexicalMatch], bool]:
        """Memories with every term, filled up with those that hold any; and whether it was.

        A long memory with every term may rank below short ones with some, so it is searched for
        separately, by the rarest few terms, which is cheaper than by all; unless the loose matches
        hold every memory with the rarest term anyway.
        """
        if not terms:
            return [], False
        find, pool = self.search.lexical_matches, query.pool
        by_rarity = sorted(terms, key=statistics.frequency.__getitem__)
        fewest = statistics.frequency[by_rarity[0]]
        strict: list[LexicalMatch] = []
        if fewest >= pool:
            strict = find(query.filter, terms, every=True, limit=pool)
            if len(terms) == 1 or len(strict) == pool:
                return strict, False
        loose = find(query.filter, terms, every=False, limit=pool)
        if not strict and len(loose) == pool and len(terms) > 1:
            rarest = f" {by_rarity[0]} "
            holding = [m for m in loose if rarest in m.terms or rarest in m.keywords + m.tags]
            if len(holding) < fewest:
                strict = find(query.filter, by_rarity[:TELLING_TERMS], every=True, limit=pool)
        matches = {match.id: match for match in (*strict, *loose)}
        return [*matches.values()][:pool], len(terms) > 1


def _rarest(surfaces: dict[str, str], statistics: LexicalStatistics) -> list[str]:
    """The terms worth asking for: those that occur, the rarest of them when there are too many."""
    frequency = statistics.frequency
    present = [term for term in surfaces if frequency[term]]
    if len(present) > MOST_TERMS:
        present.sort(key=lambda term: (frequency[term], term))
        del present[MOST_TERMS:]
    return present


def _evidence(scores: Sequence[float], beyond: Sequence[float]) -> list[float]:
    """The evidence of each match, on the scale of the other legs: docs/adr/0042.

    Its score as a share of the best, times the share of the query that it holds beyond chance,
    times the root of the largest such share: where that is small, all are matches by chance.
    """
    surest, best = max(beyond, default=0.0), max(scores, default=0.0) or 1.0
    scale = WORTH * math.sqrt(surest) / best
    return [scale * score * own for score, own in zip(scores, beyond, strict=True)]


def information(frequency: int, total: int) -> float:
    """Inverse document frequency (Robertson & Sparck Jones 1976), kept above zero."""
    return math.log1p((total - frequency + 0.5) / (frequency + 0.5))


class _Scorer:
    """Scores the matches of one query.

    The score is BM25 (Robertson & Zaragoza 2009) with the fields' counts weighted and added before
    saturation. The confidence is the information of the query's words that the memory holds, over
    that of all its words, those that no memory holds included.
    """

    def __init__(
        self,
        asked: analysis.Asked,
        added: analysis.Asked | None,
        surfaces: Mapping[str, str],
        statistics: LexicalStatistics,
        weights: LexicalWeights,
    ) -> None:
        self._asked = asked
        self._added = added
        self._surfaces = surfaces
        self._weights = weights
        total = max(statistics.total, TELLING_TOTAL)
        self._information = {
            term: information(count, total) for term, count in statistics.frequency.items()
        }
        self._unknown = {term for term, count in statistics.frequency.items() if not count}
        self._norm = weights.k1 * (1 - weights.b)
        self._average_length = statistics.average_length or 1.0
        self._slope = weights.k1 * weights.b / self._average_length
        self._rate = {  # of a term in a memory of average length
            term: -math.log1p(-count / (total + 1)) for term, count in statistics.frequency.items()
        }

    def rank(self, matches: Sequence[LexicalMatch]) -> list[Candidate]:
        """The matches as candidates, best first. Term by term, so that the inner loop is C's."""
        weights = self._weights
        own = dict(self._asked.terms)
        terms = [match.terms for match in matches]
        folded = [match.content.lower() for match in matches]
        norms = [self._norm + self._slope * match.length for match in matches]
        scores = [0.0] * len(matches)
        held: dict[str, list[float]] = {}  # by term: how often each match holds it
        elsewhere = " ".join({text for m in matches for text in (m.keywords, m.tags, m.category)})
        for term, surface in self._surfaces.items():
            weight = self._information[term] * (weights.k1 + 1)
            if term not in own:
                weight *= weights.expanded
            padded = f" {term} "
            counts: list[float] = [text.count(padded) for text in terms]
            held[term] = counts
            if padded in elsewhere:
                self._add_fields(padded, matches, counts)
            if surface in analysis.FUNCTION_WORDS:  # of a query that has no other words
                for position, match in enumerate(matches):
                    if padded in match.function:
                        counts[position] += 1
            for position, count in enumerate(counts):
                if count:
                    gain = weight * count / (count + norms[position])
                    exact = surface in folded[position]
                    scores[position] += gain if exact else gain * weights.inflected
        self._add_neighbours(terms, held, scores)
        ids = [match.id for match in matches]
        confidence = self._confidence(held, len(matches))
        beyond = self._beyond_chance(confidence, matches)
        candidates = [*map(Candidate, ids, scores, confidence, _evidence(scores, beyond))]
        candidates.sort(key=lambda candidate: (-candidate.score, candidate.id))
        return candidates

    def _add_fields(
        self, padded: str, matches: Sequence[LexicalMatch], counts: list[float]
    ) -> None:
        """Add what the other fields of each match hold of a term, by their weights."""
        weights = self._weights
        for position, match in enumerate(matches):
            if padded in match.keywords:
                counts[position] += weights.keywords * match.keywords.count(padded)
            if padded in match.tags:
                counts[position] += weights.tags * match.tags.count(padded)
            if not counts[position] and padded in match.category:
                counts[position] = weights.category

    def _add_neighbours(
        self, terms: Sequence[str], held: Mapping[str, list[float]], scores: list[float]
    ) -> None:
        """Add a little for words that are neighbours in the query and in the memory."""
        known = self._information
        for left, right in itertools.pairwise(self._asked.atoms):
            if left != right and left in held and right in held:
                bonus = self._weights.adjacent * min(known[left], known[right])
                pair = f" {left}  {right} "
                for position, both in enumerate(zip(held[left], held[right], strict=True)):
                    if all(both) and pair in terms[position]:
                        scores[position] += bonus

    def _confidence(self, held: Mapping[str, list[float]], count: int) -> list[float]:
        """The share of the query in each match, or of the added words, times their weight."""
        confidence = self._coverage(self._asked, held, count)
        if self._added is None:
            return confidence
        by_added = self._coverage(self._added, held, count)
        weight = self._weights.expanded
        return [max(own, weight * added) for own, added in zip(confidence, by_added, strict=True)]

    def _beyond_chance(
        self, confidence: Sequence[float], matches: Sequence[LexicalMatch]
    ) -> list[float]:
        """The share of the query in each match above that in any memory of its length.

        A long text holds frequent words whatever it is about.
        """
        atoms = dict.fromkeys(x for x in self._asked.atoms if x in self._surfaces)
        shares = [(self._information[atom], self._rate[atom]) for atom in atoms]
        unknown = math.fsum(self._information[atom] for atom in self._unknown)
        mass = unknown + math.fsum(share for share, _ in shares) or 1.0  # only added words
        beyond = []
        for match, held in zip(matches, confidence, strict=True):
            times = match.length / self._average_length
            chance = sum(share * -math.expm1(-rate * times) for share, rate in shares) / mass
            # A very long memory may hold every word by chance: nothing is beyond that.
            own = (held - chance) / (1 - chance) if held > chance else 0.0
            beyond.append(own * self._together(match) if own else own)
        return beyond

    def _together(self, match: LexicalMatch) -> float:
        """How much of what a memory holds of the query stands in one passage, by information."""
        known = self._information
        if sum(f" {term} " in match.terms for term in self._surfaces) <= 1:
            return 1.0
        terms = match.terms.split()
        if len(terms) <= PASSAGE:
            return 1.0
        found = [(place, term) for place, term in enumerate(terms) if term in self._surfaces]
        inside: Counter[str] = Counter()
        here = best = 0.0
        begin = 0
        for place, term in found:
            here += 0.0 if inside[term] else known[term]
            inside[term] += 1
            while place - found[begin][0] >= PASSAGE:
                left = found[begin][1]
                inside[left] -= 1
                here -= 0.0 if inside[left] else known[left]
                begin += 1
            best = max(best, here)
        return best / math.fsum(known[term] for term in inside)

    def _coverage(
        self, asked: analysis.Asked, held: Mapping[str, list[float]], count: int
    ) -> list[float]:
        """The share of the information asked for that each match holds."""
        known = self._information
        # Terms left out of a long query do not count against a match.
        atoms = dict.fromkeys(atom for atom in asked.atoms if atom in held or atom in self._unknown)
        mass = math.fsum(known[atom] for atom in atoms)
        covered = [0.0] * count
        for atom in atoms:
            if atom in held:
                share = known[atom] / mass
                counts = held[atom]
                for whole, implied in asked.wholes.items():
                    # An identifier that is there whole is there in all its parts.
                    if atom in implied and whole in held:
                        counts = [*map(max, counts, held[whole])]
                for position, present in enumerate(counts):
                    if present:
                        covered[position] += share
        return [min(1.0, share) for share in covered]


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
