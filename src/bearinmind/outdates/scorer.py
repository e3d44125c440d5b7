"""How probable it is that one memory outdates another.

At once, and where memories are not embedded, a small learned scorer over features says so:
`benchmarks/outdates_scorer.py` made its `weights.json`, boosted trees over what two texts show. In
the background a model that reads both texts says more; `ModelWeights` turn that into a probability.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from bearinmind.outdates.change_words import CHANGE, CONTRASTS, CUES, DENIED
from bearinmind.text import analysis
from bearinmind.text.distinguishing_words import DIGITS
from bearinmind.types import Memory

_CACHED = 4_000  # texts, about 12 kB each; one is compared with several others
_HEAD, _TAIL = 4, 3  # terms with which a text begins and ends
_LEADING = 15  # characters: a name that begins sooner is what the text is about
_MOST = 3  # names that are counted
_SHORT = 8  # terms
_WORD = re.compile(r"[^\W_]+(?:['\u2019._/@:&=~+#-]+[^\W_]+)*")
_CODE = re.compile(r"[_/\\@#=<>~]|\d|\w[.:]\w|[a-z][A-Z]")
_OWNS = re.compile(r"['\u2019]s$")
_YEAR = re.compile(r"(?:19|20)\d\d")
_AMOUNT = re.compile(
    r"(?P<sign>[$\u20ac\u00a3])?(?P<number>\d+(?:[.,:]\d+)*)(?P<thousand>k\b)?\s?(?P<unit>%|[a-zA-Z\u20ac\u00a3]+)?"
)
_SPELLED = DIGITS | {"fifteen": "15", "twenty": "20", "thirty": "30", "hundred": "100"}
_UNITS = """
    money $ \u20ac \u00a3 eur usd gbp euro euros dollars pounds kr chf
    share % percent
    duration s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week
    duration weeks month months year years ms
    size mm cm m km g kg t l ml kb mb gb tb mib gib px w kw words
    clock clock am pm uhr
"""
_KIND = {
    unit: kind for kind, *units in map(str.split, _UNITS.strip().splitlines()) for unit in units
}


class Text(NamedTuple):
    """A text, read once."""

    terms: tuple[str, ...]
    stems: frozenset[str]
    words: tuple[str, ...]  #: in lower case
    spelled: frozenset[str]  #: the same, as a set
    names: frozenset[str]
    leading_name: str  #: a name with which it begins, else empty
    first_name: str
    identifiers: frozenset[str]
    numbers: frozenset[str]
    years: frozenset[str]
    amounts: Mapping[str, frozenset[str]]  #: numbers by the unit behind them
    kinds: Mapping[str, frozenset[str]]  #: numbers by what they measure
    contrasts: Mapping[int, frozenset[str]]
    cues: Mapping[str, int]
    denied: frozenset[str]  #: words that stand where a text says what no longer holds


@lru_cache(_CACHED)
def read(text: str) -> Text:
    """The parts of a text that are compared."""
    matches = [*_WORD.finditer(text)]
    words = [match.group().lower() for match in matches]
    names, identifiers, numbers = _values(matches)
    amounts, kinds = _amounts(text)
    spelled = frozenset(words)
    terms = analysis.index(text).terms
    contrasts = {
        number: group & spelled for number, group in enumerate(CONTRASTS) if group & spelled
    }
    first, place = next(iter(names.items()), ("", len(text)))
    return Text(
        terms=tuple(terms),
        stems=frozenset(terms),
        words=tuple(words),
        spelled=spelled,
        names=frozenset(names),
        leading_name=first if place < _LEADING else "",
        first_name=first,
        identifiers=frozenset(identifiers),
        numbers=frozenset(numbers) | {_SPELLED[word] for word in spelled & _SPELLED.keys()},
        years=frozenset(_YEAR.findall(text)),
        amounts=amounts,
        kinds=kinds,
        contrasts=contrasts,
        cues={name: len(pattern.findall(text)) for name, pattern in CUES.items()},
        denied=frozenset(word.lower() for pair in DENIED.findall(text) for word in pair if word),
    )


def _values(matches: list[re.Match[str]]) -> tuple[dict[str, int], set[str], set[str]]:
    """The names of a text with their places, its identifiers and its numbers."""
    names: dict[str, int] = {}
    identifiers: set[str] = set()
    numbers: set[str] = set()
    for match in matches:
        word, folded = match.group(), match.group().lower()
        if _CODE.search(word):
            (numbers if word[0].isdigit() else identifiers).add(folded)
        elif word[0].isupper() and folded not in analysis.FUNCTION_WORDS:
            names.setdefault(_OWNS.sub("", folded), match.start())
    return names, identifiers, numbers


def _amounts(text: str) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    by_unit: dict[str, set[str]] = {}
    by_kind: dict[str, set[str]] = {}
    for match in _AMOUNT.finditer(text):
        number, unit = match["number"], (match["unit"] or "").lower()
        if _YEAR.fullmatch(number):
            continue
        value = number.replace(",", "") + ("000" if match["thousand"] else "")
        by_unit.setdefault(unit, set()).add(value)
        kind = _kind(match["sign"] or unit, number)
        by_kind.setdefault(kind, set()).add(value)
    return _frozen(by_unit), _frozen(by_kind)


def _kind(unit: str, number: str) -> str:
    if ":" in number:
        return "clock"
    return _KIND.get(unit, "count")


def _frozen(groups: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(group) for name, group in groups.items()}


def features(newer: Text, older: Text, days: float, cosine: float) -> dict[str, float]:
    """All features of a pair by name, in the order in which the scorer was trained with them."""
    return {
        "cosine": cosine,
        "days": math.log1p(max(0.0, days)),
        **_shared_words(newer, older),
        **_names(newer, older),
        **_numbers(newer, older),
        **_cues(newer, older),
    }


def _shared_words(newer: Text, older: Text) -> dict[str, float]:
    shared = len(newer.stems & older.stems)
    head_new, head_old = {*newer.terms[:_HEAD]}, {*older.terms[:_HEAD]}
    tail_new, tail_old = {*newer.terms[-_TAIL:]}, {*older.terms[-_TAIL:]}
    long_new, long_old = len(newer.terms), len(older.terms)
    return {
        "jaccard": shared / max(1, len(newer.stems | older.stems)),
        "older_covered": shared / max(1, len(older.stems)),
        "newer_covered": shared / max(1, len(newer.stems)),
        "length_ratio": math.log((long_new + 1) / (long_old + 1)),
        "newer_length": math.log(long_new + 1),
        "older_length": math.log(long_old + 1),
        "both_short": float(max(long_new, long_old) <= _SHORT),
        "heads_shared": len(head_new & head_old) / _HEAD,
        "older_head_covered": len(head_old & newer.stems) / max(1, len(head_old)),
        "newer_head_covered": len(head_new & older.stems) / max(1, len(head_new)),
        "older_tail_covered": len(tail_old & newer.stems) / max(1, len(tail_old)),
        "newer_tail_covered": len(tail_new & older.stems) / max(1, len(tail_new)),
        "same_first_word": float(newer.words[:1] == older.words[:1]),
    }


def _names(newer: Text, older: Text) -> dict[str, float]:
    lost, won = older.names - newer.spelled, newer.names - older.spelled
    leads = newer.leading_name and older.leading_name
    values = older.names | older.identifiers | older.numbers
    return {
        "names_shared": min(_MOST, len(newer.names & older.names)),
        "names_lost": min(_MOST, len(lost)),
        "names_won": min(_MOST, len(won)),
        "names_swapped": float(bool(lost) and bool(won)),
        "no_names": float(not newer.names and not older.names),
        "leading_name_swapped": float(
            bool(leads)
            and older.leading_name not in newer.spelled
            and newer.leading_name not in older.spelled
        ),
        "first_name_same": float(newer.first_name == older.first_name != ""),
        "identifiers_shared": min(2, len(newer.identifiers & older.identifiers)),
        "identifiers_swapped": _swapped(newer.identifiers, older.identifiers),
        "values_kept": len(values & newer.spelled) / max(1, len(values)),
        "all_values_kept": float(bool(values) and values <= newer.spelled | newer.numbers),
        "denied": float(bool(newer.denied & older.spelled - analysis.FUNCTION_WORDS)),
        "denied_value": float(bool(newer.denied & values)),
    }


def _numbers(newer: Text, older: Text) -> dict[str, float]:
    return {
        "numbers_shared": min(2, len(newer.numbers & older.numbers)),
        "numbers_swapped": _swapped(newer.numbers, older.numbers),
        "numbers_kept": float(bool(older.numbers) and older.numbers <= newer.numbers),
        "amount_swapped": _any_swapped(newer.amounts, older.amounts, but=""),
        "kind_swapped": _any_swapped(newer.kinds, older.kinds, but="count"),
        "kind_shared": float(
            any(newer.kinds[k] & older.kinds[k] for k in newer.kinds.keys() & older.kinds)
        ),
        "years_swapped": _swapped(newer.years, older.years),
        "year_won": float(bool(newer.years - older.years)),
        "year_lost": float(bool(older.years - newer.years)),
        "contrast": float(
            any(
                number in newer.contrasts and not newer.contrasts[number] & words
                for number, words in older.contrasts.items()
            )
        ),
        "contrast_same": float(
            any(words & newer.contrasts.get(n, frozenset()) for n, words in older.contrasts.items())
        ),
    }


def _cues(newer: Text, older: Text) -> dict[str, float]:
    both = ("event", "opinion", "dated", "holds")
    return {
        **{f"newer_{name}": float(count > 0) for name, count in newer.cues.items()},
        **{f"older_{name}": float(count > 0) for name, count in older.cues.items()},
        **{f"both_{name}": float(newer.cues[name] > 0 < older.cues[name]) for name in both},
        "newer_added_twice": float(newer.cues["added"] > 1),
        "newer_planned_twice": float(newer.cues["planned"] > 1),
        "changes": float(any(newer.cues[name] for name in CHANGE)),
        "negation_flipped": float((newer.cues["negated"] > 0) != (older.cues["negated"] > 0)),
    }


def _swapped(newer: frozenset[str], older: frozenset[str]) -> float:
    """Whether each has one that the other has not."""
    return float(bool(older - newer) and bool(newer - older))


def _any_swapped(
    newer: Mapping[str, frozenset[str]], older: Mapping[str, frozenset[str]], but: str
) -> float:
    """Whether both have numbers of one unit, and none in common."""
    return float(
        any(
            name in newer and not newer[name] & numbers
            for name, numbers in older.items()
            if name != but
        )
    )


#: Stands for the cosine of two memories of which one has no vector.
NO_COSINE = 0.0

_DAY = 86_400.0
_WORDS = {  # what a person reads of a feature that speaks for a change
    "denied_value": "it names the earlier value as no longer so",
    "newer_moved": "it speaks of a change",
    "newer_ended": "it says that something ended",
    "newer_now": "it says how it is now",
    "newer_back": "it says that something is back",
    "kind_swapped": "another amount of the same kind",
    "numbers_swapped": "another number",
    "identifiers_swapped": "another identifier",
    "names_swapped": "another name",
}
_MOST_EVIDENCE = 3
_LEAST = 1e-6  # of a model's number: nothing is certain
_STEEPER, _LOWER = 1.56, -1.23  # of log odds by words: so they mean what they mean for the model

#: A node is a feature's number, a threshold and the two nodes below; a leaf is a number.
Node = float | list[Any]


@dataclass(frozen=True, slots=True)
class Score:
    """What the scorer says of a pair."""

    probability: float
    evidence: tuple[str, ...]  #: in words that quote neither text


@dataclass(frozen=True, slots=True)
class Scorer:
    """The learned weights."""

    features: Sequence[str]
    base: float
    trees: Sequence[Node]

    def __call__(self, newer: Memory, older: Memory, cosine: float = NO_COSINE) -> Score:
        """How probable it is that the newer memory outdates the older."""
        days = (newer.created_at - older.created_at).total_seconds() / _DAY
        return self.score(read(newer.content), read(older.content), days, cosine)

    def score(self, newer: Text, older: Text, days: float, cosine: float) -> Score:
        """The same of two texts."""
        named = features(newer, older, days, cosine)
        values = [*named.values()]
        total = self.base + math.fsum(_leaf(tree, values) for tree in self.trees)
        evidence = [words for name, words in _WORDS.items() if named[name]]
        probability = 1 / (1 + math.exp(-(_STEEPER * total + _LOWER)))
        return Score(round(probability, 4), tuple(evidence[:_MOST_EVIDENCE]))


class ModelWeights(NamedTuple):
    """What the number of a model that reads both texts says.

    `benchmarks/outdates_probability.py` fits them.
    """

    base: float
    model: float  #: its log odds

    def __call__(self, value: float) -> float:
        """How probable it is that the newer memory outdates the older."""
        value = min(max(value, _LEAST), 1 - _LEAST)
        odds = self.base + self.model * math.log(value / (1 - value))
        return round(1 / (1 + math.exp(-odds)), 4)


@cache
def model_weights() -> ModelWeights:
    """The weights of this release."""
    weights = files("bearinmind.outdates").joinpath("model_weights.json")
    return ModelWeights(**json.loads(weights.read_text(encoding="utf-8")))


def _leaf(node: Node, values: Sequence[float]) -> float:
    while isinstance(node, list):
        feature, threshold, low, high = node
        node = low if values[feature] <= threshold else high
    return node


@cache
def scorer() -> Scorer:
    """The scorer of this release."""
    weights = files("bearinmind.outdates").joinpath("weights.json").read_text(encoding="utf-8")
    return Scorer(**json.loads(weights))
