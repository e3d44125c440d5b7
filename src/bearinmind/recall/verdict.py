"""The verdict: how probable it is that a hit answers the query, and what that makes of it. Pure.

A logistic model over the evidence of the legs, the words of the query and the size of the store.
`benchmarks/verdicts.py` fits its weights, `verdict_weights.json`: one set for recalls by words and
meaning, one for hits that a model has read besides, one each for either alone. No feature that is
evidence can lower a probability: its weight has the sign of `SIGNS`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple, Self

from bearinmind.recall.dense import CERTAIN
from bearinmind.recall.lexical import TELLING_TOTAL, information
from bearinmind.text import analysis
from bearinmind.types import Fused, Memory, MemoryId, Placing, Ranking, Verdict

#: Every feature, and whether it speaks for a hit (1) or against it (-1).
SIGNS: Mapping[str, int] = {
    # the hit
    "words": 1,  # the share of the query's information that it holds
    "words_beyond_chance": 1,  # that information, against what one of so many holds by chance
    "words_first": 1,  # its place by words
    "meaning": 1,  # how far its meaning is above the mean of all
    "meaning_beyond_chance": 1,  # that, against the nearest of so many by chance
    "meaning_reach": 1,  # how far it comes from the mean to the same meaning
    "meaning_first": 1,  # its place by meaning
    "meaning_above_pool": 1,  # how far its meaning is above that of the twentieth
    "graph": 1,
    "behind": -1,  # how far the evidence for it, of all legs, is below the most
    "lead": 1,  # how far the first is above the next
    "above_pool": 1,  # how far it is above the last of the first twenty
    "short": -1,  # it lacks words of a short query
    "names_missed": -1,  # it holds none of the query's names and numbers
    "aspect": 1,  # the share of the query's other words that it holds
    "read": 1,  # what a model that reads it with the query says, as log odds
    # the query and the store
    "best_reach": 1,  # of the nearest by meaning
    "unknown": -1,  # the share of the query's information that no memory holds
    "unknown_names": -1,  # the share of its names and numbers that no memory holds
    "question": 1,  # it is a question, not a remark
    "memories": -1,  # the number of memories: the best of many is good by chance
}

Placings = Mapping[str, Placing]

FOUND = 0.45  #: from this probability on a hit is found (docs/adr/0059)
EXACT = 0.95  #: the least probability of a memory that holds what is quoted
_WORDS, _MEANING, _BOTH = "words", "meaning", "both"  # which legs answered
_READ = "read"  # both did, and a model has read the hit
_LEXICAL, _DENSE, _GRAPH = "lexical", "dense", "graph"
_DEVIATIONS = 6.0  # per unit of the dense leg's evidence, as the weights were fitted
_UNIT = CERTAIN / _DEVIATIONS  # what the leg gives now in that unit
_NATS = 10.0  # of information per unit of `words_beyond_chance`
_POOL = 20
_THOUSAND, _MANY = 3.0, 4.0  # decades of memories; more than 10,000 make no difference
_KEYWORDS = 3  # words that are no question
_FEW = 2.0  # telling words of a query with which a model that reads counts half
_WHOLE = 0.999  # of the information of the query: the memory holds all of its words
_MOST = 1.5  # of any evidence: more makes nothing surer
_QUOTED = re.compile(r"[\"\u201c\u201e`]([^\"\u201d\u201c`]{3,})[\"\u201d\u201c`]")
_WORD = re.compile(r"[^\W_][\w'\u2019./:@#+-]*")
_BEFORE = 60  # characters before a word that can say that a sentence begins with it
_SENTENCE = re.compile(r"(?:^|[.!?\n]\s*)\W*$")
_IDENTIFIER = re.compile(r"(?=\S*[\d_./:#@-]|\S*[a-z][A-Z])\S*\w\S{2,}")
_ASKS = re.compile(
    r"\?|^\W*(?:who|whom|whose|what|whats|when|where|which|why|how|is|are|was|were|do|does|did|can"
    r"|could|should|would|will|has|have|had|any)\b",
    re.IGNORECASE,
)


class Floors(NamedTuple):
    """The probabilities from which on hits are given.

    Where the best hit is probable enough, the others are given from a lower floor on: a question
    may need several memories, and the best is then not all of the answer.
    """

    perhaps: float  #: an answer whose best hit is below this is `nothing`, and folded away
    beside: float  #: beside a better hit one is folded away below this

    def verdict(self, best: float) -> Verdict:
        """What the probability of the best hit means."""
        if best >= FOUND:
            return Verdict.FOUND
        return Verdict.PERHAPS if best >= self.perhaps else Verdict.NOTHING

    def below(self, best: float) -> float:
        """The probability below which hits are folded away, in an answer with this best one."""
        return self.perhaps if best < self.perhaps else self.beside


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictModel:
    """The fitted weights and floors of recalls by the same legs."""

    bias: float
    weights: Mapping[str, float]  #: by feature; 0 when not named
    perhaps: float  #: the floor among 1,000 memories
    beside: float
    per_decade: float = 1.0  #: how much higher the odds of `perhaps` are among a tenth as many

    def probability(self, features: Mapping[str, float]) -> float:
        """How probable it is that a hit with these features answers."""
        odds = self.bias + math.fsum(
            weight * features[name] for name, weight in self.weights.items()
        )
        return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))

    def floors(self, memories: float) -> Floors:
        """The floors among so many memories, given as their logarithm to the base of 10.

        One of a few memories is more probable from the start, whatever is asked.
        """
        odds = self.perhaps / (1 - self.perhaps) * self.per_decade ** (_THOUSAND - memories)
        return Floors(max(self.beside, odds / (1 + odds)), self.beside)


#: By which legs answered: `words`, `meaning`, `both`; `read` if a model read the hit as well.
VerdictModels = Mapping[str, VerdictModel]


@cache
def models() -> VerdictModels:
    """The models of this release."""
    written = json.loads((files(__package__) / "verdict_weights.json").read_text("utf-8"))
    return {legs: VerdictModel(**values) for legs, values in written.items()}


class QueryWords(NamedTuple):
    """What the words of a query ask for."""

    text: str
    names: tuple[frozenset[str], ...]  #: the terms of each name or number in it
    others: Mapping[str, float]  #: its other terms, with the information of each
    mass: float  #: the information of all its terms
    unknown: float  #: the share of it that no memory holds
    unknown_names: float  #: the share of the names and numbers that no memory holds
    quoted: tuple[str, ...]  #: phrases that a memory must hold whole

    @classmethod
    def of(cls, text: str, lexical: Ranking | None) -> Self:
        """What a text asks for, in a store whose lexical leg knows how frequent its words are."""
        frequency = lexical.frequency if lexical else {}
        unheld = {*lexical.unknown} if lexical else set()
        total = max(lexical.among if lexical else 0, TELLING_TOTAL)
        atoms = dict.fromkeys(analysis.ask(text).atoms)
        weights = {
            atom: information(frequency.get(atom, 0), total)
            for atom in atoms
            if atom in frequency or atom in unheld or not lexical
        }
        names = [frozenset(terms) for word in _names(text) if (terms := analysis.ask(word).atoms)]
        named = frozenset().union(*names)
        mass = math.fsum(weights.values())
        missing = math.fsum(weight for atom, weight in weights.items() if atom in unheld)
        return cls(
            text=text,
            names=tuple(names),
            others={atom: weight for atom, weight in weights.items() if atom not in named},
            mass=mass,
            unknown=missing / mass if mass else 0.0,
            unknown_names=sum(name <= unheld for name in names) / (len(names) or 1),
            quoted=_quoted(text),
        )


class Evidence:
    """What a recall has to go by when it judges its hits."""

    def __init__(
        self,
        models: VerdictModels,
        text: str,
        rankings: Sequence[Ranking],
        fused: Sequence[Fused],
    ) -> None:
        self._models = models
        self.read: Mapping[MemoryId, float] = {}  #: log odds that those which a model read answer
        by_leg = {ranking.leg: ranking for ranking in rankings}
        self._lexical = by_leg.get(_LEXICAL)
        self._dense = by_leg.get(_DENSE)
        self._asked = QueryWords.of(text, self._lexical)
        self._among = max((ranking.among for ranking in rankings), default=0)
        evidence = [_evidence(each.placings) for each in fused[: _POOL + 1]]
        self._evidence = sorted(evidence, reverse=True)
        # To be the first of five memories says little.
        self._telling = min(1.0, math.log1p(self._among) / math.log(TELLING_TOTAL))
        self._legs = self._answering()
        self._shared = self._of_query()
        #: Who asks with a word or two wants the memories that hold them, whatever they say.
        self._is_keyword = len(text.split()) <= _KEYWORDS and not _ASKS.search(text)

    @property
    def floors(self) -> Floors:
        """The probabilities from which on hits are given."""
        legs = _READ if self.read and self._legs == _BOTH else self._legs
        return self._models[legs].floors(self._shared["memories"])

    def probability(self, memory: Memory, placings: Placings) -> float:
        """How probable it is that a memory answers the query."""
        legs = self._legs
        if legs == _BOTH and _DENSE not in placings and self._has_no_vector(memory):
            legs = _WORDS
        elif legs == _BOTH and memory.id in self.read:
            legs = _READ
        probability = self._models[legs].probability(self.features(memory, placings))
        if self._is_exact(memory):
            return max(probability, EXACT)
        words = placings.get(_LEXICAL)
        if self._is_keyword and words and words.confidence >= _WHOLE:
            return max(probability, self.floors.perhaps)
        return probability

    def features(self, memory: Memory, placings: Placings) -> dict[str, float]:
        """Every feature of a hit, by name."""
        graph = placings.get(_GRAPH)
        words = placings.get(_LEXICAL)
        count = len(self._asked.names) + len(self._asked.others)
        return {
            **self._of_words(words),
            "short": (1 - (words.confidence if words else 0.0)) / (1 + count),
            **self._of_meaning(placings.get(_DENSE)),
            "graph": min(_MOST, graph.evidence) if graph else 0.0,
            **self._margins(_evidence(placings)),
            **self._of_text(memory.content),
            "read": _trusted(self.read.get(memory.id, 0.0), count),
            **self._shared,
        }

    def _answering(self) -> str:
        """Which legs could answer: a store without vectors has words alone."""
        dense = self._dense is not None and self._dense.among > 0
        lexical = self._lexical is not None and self._lexical.among > 0
        return _BOTH if dense and lexical else _MEANING if dense else _WORDS

    def _of_query(self) -> dict[str, float]:
        asked = self._asked
        dense = self._dense.candidates if self._dense else ()
        return {
            "best_reach": _reach(dense[0].score, self._dense.floor)
            if self._dense and dense
            else 0.0,
            "unknown": asked.unknown * self._telling,  # hardly a word is known to five memories
            "unknown_names": asked.unknown_names * self._telling,
            "question": float(bool(_ASKS.search(asked.text))),
            "memories": min(_MANY, math.log10(1 + self._among)),
        }

    def _of_words(self, placing: Placing | None) -> dict[str, float]:
        if placing is None:
            return {"words": 0.0, "words_beyond_chance": -1.0, "words_first": 0.0}
        matched = placing.confidence * self._asked.mass - math.log1p(self._among)
        return {
            "words": placing.confidence,
            "words_beyond_chance": min(_MOST, max(-1.0, matched / _NATS)),
            "words_first": self._telling / placing.rank,
        }

    def _of_meaning(self, placing: Placing | None) -> dict[str, float]:
        if placing is None or self._dense is None:
            absent = dict.fromkeys((name for name in SIGNS if name.startswith("meaning")), 0.0)
            return absent | {"meaning_beyond_chance": _beyond_chance(0.0, self._among)}
        last = self._dense.candidates[:_POOL][-1].evidence * _UNIT
        evidence = placing.evidence * _UNIT
        return {
            "meaning": min(_MOST, evidence),
            "meaning_beyond_chance": _beyond_chance(evidence, self._among),
            "meaning_reach": _reach(placing.score, self._dense.floor),
            "meaning_first": self._telling / placing.rank,
            "meaning_above_pool": min(_MOST, max(0.0, evidence - last)),
        }

    def _margins(self, evidence: float) -> dict[str, float]:
        """Where the evidence for a memory stands among that for the others."""
        most, least = (self._evidence[0], self._evidence[-1]) if self._evidence else (0.0, 0.0)
        below = next((each for each in self._evidence if each < evidence), 0.0)
        return {
            "behind": min(_MOST, max(0.0, most - evidence)),
            "lead": min(_MOST, evidence - below) if evidence >= most else 0.0,
            "above_pool": min(_MOST, max(0.0, evidence - least)),
        }

    def _of_text(self, content: str) -> dict[str, float]:
        """What of the query the text of a memory holds, entity by entity and word by word."""
        asked, folded = self._asked, analysis.fold(content)
        named = any(all(_holds(folded, term) for term in name) for name in asked.names)
        mass = math.fsum(asked.others.values())
        aspect = math.fsum(weight for term, weight in asked.others.items() if _holds(folded, term))
        return {
            "names_missed": float(bool(asked.names) and not named),
            "aspect": aspect / mass if mass else 0.0,
        }

    def _has_no_vector(self, memory: Memory) -> bool:
        """Whether a memory that the dense leg did not find has no vector, as far as is known."""
        dense = self._dense
        return memory.sensitive or (dense is not None and len(dense.candidates) >= dense.among)

    def _is_exact(self, memory: Memory) -> bool:
        """Whether a memory is named by its id, or holds whole what the query quotes."""
        if memory.id == self._asked.text.strip():
            return True
        folded = analysis.fold(memory.content) if self._asked.quoted else ""
        return any(phrase in folded for phrase in self._asked.quoted)


def _trusted(odds: float, words: int) -> float:
    """What a model says of a hit; any memory seems to it to fit a query like "rename it"."""
    return odds * words / (words + _FEW) if odds > 0 else odds


def _evidence(placings: Placings) -> float:
    """What all legs say for a memory."""
    units = ((x.evidence, _UNIT if leg == _DENSE else 1.0) for leg, x in placings.items())
    return math.fsum(evidence * unit for evidence, unit in units)


def _reach(cosine: float, mean: float) -> float:
    """How far a cosine comes on the way from the mean of all to the same meaning."""
    return max(0.0, (cosine - mean) / max(1 - mean, 1e-3))


def _beyond_chance(evidence: float, among: int) -> float:
    """How far evidence of the dense leg is above what the nearest of so many has by chance."""
    return min(_MOST, evidence) - math.sqrt(2 * math.log1p(among)) / _DEVIATIONS


def _names(text: str) -> list[str]:
    """The words of a text that are numbers, identifiers or names: capitals within a sentence."""
    names = []
    for match in _WORD.finditer(text):
        word = match.group()
        inner = any(map(str.isupper, word[1:])) or any(map(str.isdigit, word))
        capital = word[0].isupper() and word.lower() not in analysis.FUNCTION_WORDS
        if inner or (
            capital and not _SENTENCE.search(text, max(0, match.start() - _BEFORE), match.start())
        ):
            names.append(word)
    return names


def _quoted(text: str) -> tuple[str, ...]:
    """What a query quotes; one identifier that is the whole query counts as quoted."""
    phrases = [phrase.strip() for phrase in _QUOTED.findall(text)]
    if _IDENTIFIER.fullmatch(text.strip()):
        phrases.append(text.strip())
    return tuple(analysis.fold(phrase) for phrase in phrases if phrase)


def _holds(folded: str, term: str) -> bool:
    """Whether a word of a folded text begins with a term: much cheaper than to stem the text."""
    place = folded.find(term)
    while place > 0 and folded[place - 1].isalnum():
        place = folded.find(term, place + 1)
    return place >= 0
