"""Finds relations that a text states explicitly: "billing-api runs on db-03".

It is precise before it is complete. Names are marked in each sentence, and a wording of `TABLE` is
searched for. Its source is the name right before it, or what the sentence speaks of; its target is
the name right after. Nothing but articles and such stands between them. What is denied, asked,
wished, doubted or over is not stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from bearinmind.concepts import ConceptName, Kind, Mention, Statement
from bearinmind.graph.marked_names import DESCRIBING, MARK, OPEN, mark
from bearinmind.text.analysis import FUNCTION_WORDS

_DATE = (
    r"(?:,?(?: on| in)?(?: c\.)?(?: \d{1,2})?"
    r"(?: (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?)?"
    r"(?: \d{1,2},)?(?: \d{3,4})?,?)?"
)
_SHORTHANDS = {
    "BE": r"(?P<be>(?:is|are|was|were|(?:has|have) been) (?:(?:\w+ly|also|later|first) )?"
    r"(?:(?:\w+ed|written),? (?:and )?){0,2})?",
    "IS": r"(?:is|are) (?:(?:\w+ly|also|now|still) )?",
    "DATE": _DATE,
    "WORDS": rf"(?:(?:{MARK}|(?!of |to |by |that |about |in |for )[\w\u2019'-]+) ){{0,6}}?",
}

#: The type that says what a thing is.
KIND_OF = "is a"


class Wording(NamedTuple):
    """How a type of relation is said."""

    type: str
    said: str  #: a regular expression
    inverse: bool = False  #: the target comes first


def _rows(type_: str, *said: str, inverse: tuple[str, ...] = ()) -> list[Wording]:
    return [Wording(type_, text) for text in said] + [
        Wording(type_, text, inverse=True) for text in inverse
    ]


TABLE = [
    # What software does.
    *_rows(
        "runs on",
        r"runs? (?:on|in)",
        r"IS(?:running|hosted|deployed) (?:on|in|at|to)",
        r"(?:was|were|has been) deployed (?:on|to)",
        inverse=(r"hosts",),
    ),
    *_rows("depends on", r"depends? (?:up)?on", r"relies on", r"requires"),
    *_rows(
        "uses",
        r"uses?",
        r"makes use of",
        r"IS(?:using|powered by|built (?:with|on|using)|backed by)",
        inverse=(r"IS(?:used|needed) by",),
    ),
    *_rows(
        "is written in",
        r"ISwritten in",
        r"(?:is|are|was|were) (?:implemented|coded|programmed) in",
    ),
    *_rows("connects to", r"(?:connects?|talks?) (?:directly )?to", r"ISconnected to", r"calls"),
    *_rows(
        "stores data in",
        r"(?:stores|keeps|writes) (?:(?:its|their|the|all) )?(?:data|state|records|files|events) "
        r"(?:in|on|to)",
        r"writes (?:in)?to",
    ),
    *_rows("is monitored by", r"ISmonitored (?:by|with|in)", inverse=(r"monitors",)),
    *_rows("was caused by", r"BEcaused by", inverse=(r"caused",)),
    # Whose it is, and what it belongs to.
    *_rows("is owned by", r"ISowned by", r"belongs to", inverse=(r"owns", r"ISthe owners? of")),
    *_rows(
        "is maintained by",
        r"IS(?:maintained|looked after) by",
        inverse=(r"maintains", r"ISthe maintainers? of"),
    ),
    *_rows("is part of", r"IS(?:an? )?(?:part|component|module|subsidiary) of"),
    *_rows("is a member of", r"(?:is|are|was|were) (?:an? )?members? of"),
    *_rows(
        "was replaced by",
        r"BE(?:replaced|superseded|succeeded) by",
        inverse=(
            r"(?:has )?(?:replaced|superseded|succeeded)",
            r"replaces|supersedes|succeeds",
            r"(?:is|was) the (?:successor|replacement) (?:of|to|for)",
        ),
    ),
    *_rows(
        "was acquired by", r"BE(?:acquired|bought|taken over) by", inverse=(r"acquired", r"bought")
    ),
    *_rows(
        "was founded by",
        r"BE(?:co-?)?(?:founded|established|started)DATE by",
        inverse=(r"(?:co-?)?founded", r"(?:is|was) (?:the|an?) (?:co-?)?founders? of"),
    ),
    *_rows(
        "is led by",
        r"IS(?:led|headed|run|chaired) by",
        inverse=(
            r"(?:leads|heads|chairs)",
            r"ISthe (?:head|lead|leader|chair|chairman|chief executive|CEO|CTO|president) of",
        ),
    ),
    *_rows("was created by", r"BE(?:created|developed|designed|invented|painted) by"),
    # People.
    *_rows(
        "works at",
        r"works (?:at|for)",
        r"IS(?:working|employed) (?:at|by|for)",
        r"teaches at",
        inverse=(r"employs",),
    ),
    *_rows("worked at", r"(?:worked|taught) (?:at|for)"),
    *_rows("lives in", r"(?:lives?|resides?) in", r"ISliving in"),
    *_rows("lived in", r"(?:lived|resided) in"),
    *_rows("moved to", r"(?:(?:has|have) )?(?:moved|migrated|relocated) to", r"BEmoved to"),
    *_rows("reports to", r"reports? to"),
    *_rows("is managed by", r"ISmanaged by", inverse=(r"manages", r"ISthe manager of")),
    *_rows(
        "is married to",
        r"ISmarried to",
        r"(?:is|was) married to",
        r"married",
        r"(?:is|was) the (?:\w+ )?(?:wife|husband|spouse) of",
    ),
    *_rows(
        "is a child of",
        r"(?:is|was) (?:the|an?) (?:\w+ )?(?:son|daughter|child) of",
        inverse=(r"(?:is|was) the (?:father|mother|parent) of",),
    ),
    *_rows(
        "is a sibling of",
        r"(?:is|was) (?:the|an?) (?:\w+ )?(?:half-)?(?:brother|sister|sibling) of",
    ),
    *_rows("was born in", r"BEbornDATE (?:in|at)"),
    *_rows("died in", r"diedDATE (?:in|at)"),
    *_rows("studied at", r"(?:studied|was educated) at", r"graduated from", r"attended"),
    *_rows("prefers", r"prefers"),
    # Works.
    *_rows(
        "was directed by",
        r"BEdirected(?:,? (?:and |co-)?\w+ed)* by",
        r"(?:is|was) an? WORDS(?:film|movie|documentary) by",
        inverse=(r"directed", r"(?:is|was) the director of"),
    ),
    *_rows(
        "was written by",
        r"BE(?:co-)?(?:written|authored)(?:,? (?:and |co-)?\w+ed)* by",
        r"(?:is|was) an? WORDS(?:novel|book|story|poem|play|essay|memoir|biography|treatise) by",
        inverse=(r"wrote", r"(?:is|was) the author of"),
    ),
    *_rows("was produced by", r"BEproduced(?:,? (?:and )?\w+ed)* by", inverse=(r"produced",)),
    *_rows("was composed by", r"BEcomposed by", inverse=(r"composed",)),
    *_rows(
        "was performed by",
        r"BE(?:performed|sung|recorded) by",
        r"(?:is|was) an? WORDS(?:song|single|album|track|EP) by",
    ),
    *_rows("was published by", r"BEpublishedDATE by", inverse=(r"published",)),
    *_rows("stars", r"stars", r"BEstarring"),
    *_rows("is based on", r"(?:is|was) (?:\w+ly )?based (?:up)?on"),
    *_rows("is named after", r"(?:is|was|are|were) named (?:after|for|in honou?r of)"),
    # Places and kinds.
    *_rows("is the capital of", r"ISthe capital(?: city)? of"),
    *_rows(
        "is located in",
        r"IS(?:located|situated|based) (?:in|at)",
        r"ISan? WORDS(?:city|town|village|municipality|commune|district|county|suburb|lake|river|"
        r"mountain|island|school|university|station|stadium|hamlet|parish) in",
    ),
    *_rows(KIND_OF, r"(?:is|was) an?"),
]

#: Of these a source has one target at a time: two that hold together contradict each other. Where
#: somebody was born is not here: a city and its country are both right, and neither ever ends.
FUNCTIONAL = frozenset(
    {
        "runs on",
        "is owned by",
        "is led by",
        "is managed by",
        "is married to",
        "is the capital of",
        "lives in",
        "reports to",
        "works at",
    }
)

MOST_WORDS = 60  # in a sentence; a longer one is a list or no sentence
LONGEST_ASIDE = 80  # characters between two commas after a name

_NOUN = rf"(?:{'|'.join(sorted(DESCRIBING))})"
_ARTICLE = r"(?:the|an?|its|his|her|their|our|my|both|same|new|old)"
_ADVERB = r"(?:\w+ly|also|now|still|always|later|then|first|today|both|all)"
# Only with an "and": a comma alone stands in "Norfolk, England" and "Unlike A, B".
_LIST = rf"{MARK}(?:(?:, {MARK})*,? (?:and|&|as well as) (?:{_ARTICLE} )?{MARK})?"
_ASIDE = rf"(?:, (?!and\b)(?=[a-z])[^,.;:]{{1,{LONGEST_ASIDE}}},)"

# What stands between a name and what is said of it.
_SOURCE = re.compile(
    rf"(?P<names>{_LIST})(?P<label>:)?(?: \([^()]*\))?{_ASIDE}?(?P<set_off>,)?"
    rf"(?: (?:who|which|that|and|but))?(?: {_ADVERB})* $"
)
# "Y is a 2007 film" before "directed by": the sentence speaks of Y, and "is" counts for both.
_COPULA = re.compile(
    rf"(?P<names>{_LIST})(?: \([^()]*\))?{_ASIDE}? (?:is|was|are|were) (?:an?|the) "
    r"(?:(?!(?:to|of|about|with|by|from|for|that|who|whose|which|where|when|after|in|on) )"
    r"[^ ;:]+ )*$"
)
_IN_BRACKETS = re.compile(rf"(?P<names>{_LIST}) \($")
# What a name that begins a clause may have before it.
_BEFORE_SOURCE = re.compile(
    rf"(?:^|[,;:(\u2013\u2014\u2022*>-]|\b(?:{_ARTICLE}|{_NOUN}|and|but|that|because|while|though|"
    rf"so|since|where|currently|now|service|called))\W*$",
    re.IGNORECASE,
)
_OPENING = re.compile(rf"[^\w{OPEN}]*(?:[A-Z][^,:;]{{0,40}}, )?")
_ANAPHOR = re.compile(rf"(?P<word>he|she|it|they|the {_NOUN})?(?: {_ADVERB})*", re.IGNORECASE)
_LEADING = re.compile(
    rf"(?:{_ARTICLE} )?(?:{_NOUN} )?(?P<names>{MARK})(?!['\u2019])", re.IGNORECASE
)
_GOES_ON_ABOUT_IT = re.compile(rf"(?i:he|she|it|they|the {_NOUN})\b|[a-z]|\s*$")
_TARGET = re.compile(
    rf"\s+(?:(?:{_ARTICLE}|{_NOUN}|(?:city|town|village|state|county) of|"
    rf"{MARK} {_NOUN}(?= {MARK}))\s+)*"
    rf"(?P<names>{_LIST})(?P<after>.*)",
    re.DOTALL,
)
_POSSESSIVES = {"her", "his", "its", "my", "our", "their", "your"}
_AFTER_WORDS = FUNCTION_WORDS - {"a", "an", "the"} - _POSSESSIVES
_AFTER_TARGET = re.compile(
    rf"\s*$|\s*[,.;:!)\u2013\u2014]|\s+(?:{_NOUN}\b(?! {MARK})|\w+ly\b|\d|last\b|next\b|today\b|"
    rf"instead\b|again\b|now\b|via\b|through\b|without\b|until\b|since\b|under\b|behind\b|near\b|"
    rf"together\b|\(|(?:{'|'.join(sorted(_AFTER_WORDS))})\b)",
    re.IGNORECASE,
)
# "is an American film" does not say that it is an American.
_AN_ATTRIBUTE = re.compile(rf" {_NOUN}\b")
_ELIDED = re.compile(
    rf"(?: [^,.;:{OPEN}]{{0,40}})?(?:,| and|, and|, but| but|, then)(?: {_ADVERB})* $"
)

# Not so, not yet, no longer, or not known to be so.
_DOUBT_BEFORE = re.compile(
    r"\b(?:if|unless|whether|when|whenever|once|should|would|could|might|may|maybe|perhaps|possibly|"
    r"probably|supposedly|allegedly|rumou?rs?|think|thinks|thought|believes?|claims?|claimed|says?|"
    r"said|hopes?|hoped|suspects?|assum\w+|suppose|imagine|plan|plans|planned|propos\w+|wants?|wanted|"
    r"tried|tries|nearly|almost|never|not|no|nothing|nobody|none|neither|nor|until|before|formerly|"
    r"previously|let|ensure|check|verify|ask|asked|decide|consider\w*|had|unclear|cannot)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_MONTH_OF_MAY = re.compile(r"\bMay\b")
_DOUBT_AFTER = re.compile(
    r"\b(?:if|unless|until|perhaps|maybe|possibly|supposedly|allegedly|not sure|is sure|they said|"
    r"unconfirmed|in theory)\b|\?"
)
_SENTENCE = re.compile(
    r"\n+|;\s+|(?<=[.!?])[\"'\u201d)]*\s+(?=[\"'(\u201c\u2022*-]*[A-Z\d\ue000])|\s+[\u2022*-]\s+(?=[A-Z\ue000])"
)
#: At the beginning of a sentence they ask for something: "use the VPN".
_COMMANDS = frozenset({"connect", "depend", "live", "report", "reside", "run", "talk", "use"})


def statements(
    content: str, subject: Mention | None, mentions: Sequence[Mention]
) -> list[Statement]:
    """The relations that a text states between these names.

    "It" and "the service" mean the subject.
    """
    marked = mark(content, subject, mentions)
    stated: dict[tuple[ConceptName, str, ConceptName], Statement] = {}
    topic = subject
    for sentence in _SENTENCE.split(marked.text):
        parser = _Sentence(sentence, marked.mentions, subject, topic)
        for source, type_, target in parser.statements():
            if source.name != target.name:
                key = (source.name, type_, target.name)
                stated.setdefault(key, Statement(source, type_, target))
        topic = parser.next_topic()
    return [*stated.values()]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence with marked names."""

    text: str
    mentions: Sequence[Mention]  #: that the marks stand for
    subject: Mention | None  #: what the whole text is about
    topic: Mention | None  #: what the sentences before it speak of

    def statements(self) -> Iterator[tuple[Mention, str, Mention]]:
        """Source, type and target of what it states."""
        if OPEN not in self.text or "?" in self.text or self.text.count(" ") > MOST_WORDS:
            return
        last: tuple[list[Mention], int] | None = None
        for match, wording in self._wordings():
            targets, end = self._targets(match.end(), wording)
            if not targets or self._is_doubted(match.end(), end):
                continue
            sources = self._sources(match, last)
            if not sources:
                continue
            last = sources, end
            for source in sources:
                for target in targets:
                    pair = (target, source) if wording.inverse else (source, target)
                    yield pair[0], wording.type, pair[1]

    def next_topic(self) -> Mention | None:
        """What "it" means in the sentence after this one."""
        opening = self.text[_end_of_opening(self.text) :]
        leading = _LEADING.match(opening)
        if leading:
            return self._mentions_of(leading["names"])[0]
        return self.topic if _GOES_ON_ABOUT_IT.match(opening) else None

    def _wordings(self) -> list[tuple[re.Match[str], Wording]]:
        """The wordings in a sentence, in their order; of two that begin at one place the longer."""
        present = _beginnings(re.findall(r"[A-Za-z]+", self.text))
        kept: dict[tuple[int, str], tuple[re.Match[str], Wording]] = {}
        for wording, pattern, beginnings in _compiled():
            if beginnings and not beginnings & present:
                continue
            for match in pattern.finditer(self.text):
                kept.setdefault((match.end(), wording.type), (match, wording))
        return sorted(kept.values(), key=lambda each: (each[0].end(), -each[0].start()))

    def _targets(self, end: int, wording: Wording) -> tuple[list[Mention], int]:
        after = _TARGET.match(self.text, end)
        if after is None or not _AFTER_TARGET.match(after["after"]):
            return [], end
        if wording.type == KIND_OF and _AN_ATTRIBUTE.match(after["after"]):
            return [], end
        return self._mentions_of(after["names"]), after.end("names")

    def _is_doubted(self, start: int, end: int) -> bool:
        before = _MONTH_OF_MAY.sub("", self.text[:start])
        return bool(_DOUBT_BEFORE.search(before) or _DOUBT_AFTER.search(self.text, end))

    def _sources(
        self, match: re.Match[str], last: tuple[list[Mention], int] | None
    ) -> list[Mention]:
        """The sources of a wording; `last` has those of the wording before, and its end."""
        before = self.text[: match.start()]
        bare = "be" in match.re.groupindex and match["be"] is None  # "directed by" alone
        if last and _ELIDED.fullmatch(before, last[1]):
            return last[0]
        for pattern in (_COPULA, _IN_BRACKETS) if bare else (_SOURCE,):
            near = pattern.search(before)
            if near and _BEFORE_SOURCE.search(before[: near.start()]):
                return self._mentions_of(near["names"])
        if bare:
            set_off = _SOURCE.search(before)
            if (
                set_off
                and (set_off["set_off"] or set_off["label"])
                and _BEFORE_SOURCE.search(before[: set_off.start()])
            ):
                return self._mentions_of(set_off["names"])
        return self._antecedent(before, match.group().split()[0].lower())

    def _antecedent(self, before: str, verb: str) -> list[Mention]:
        """What a pronoun at the beginning, or nothing there at all, stands for."""
        opening = before[_end_of_opening(before) :].rstrip()
        anaphor = _ANAPHOR.fullmatch(opening)
        if anaphor is None:
            return []
        word = (anaphor["word"] or "").lower()
        if not word and verb in _COMMANDS:
            return []
        antecedent = self.subject if word.startswith("the ") else self.topic
        return [antecedent] if antecedent is not None and _may_mean(word, antecedent.kind) else []

    def _mentions_of(self, names: str) -> list[Mention]:
        return [self.mentions[int(number)] for number in re.findall(r"\d+", names)]


def _end_of_opening(text: str) -> int:
    """Where a sentence begins after "In 1999," and the like."""
    opening = _OPENING.match(text)
    return opening.end() if opening else 0


def _may_mean(word: str, kind: Kind) -> bool:
    if word in {"he", "she"}:
        return kind in {Kind.NAME, Kind.PERSON}
    return kind is not Kind.PERSON or word in {"", "they"}


def _beginnings(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word[:3].lower() for word in words)


@cache
def _compiled() -> list[tuple[Wording, re.Pattern[str], frozenset[str]]]:
    """Every wording with its pattern, the longer ones before what they begin with.

    A sentence can match only if one of its words begins as the third value says, unless that is
    empty. They are compiled when a text is first read, since that takes a while.
    """
    compiled = []
    for wording in sorted(TABLE, key=lambda wording: -len(wording.said)):
        pattern = wording.said
        for shorthand, meaning in _SHORTHANDS.items():
            pattern = pattern.replace(shorthand, meaning)
        literal = re.sub(r"BE|IS|DATE|WORDS|\\.", " ", wording.said)
        words = {*re.findall(r"[A-Za-z]{2,}", literal)} - FUNCTION_WORDS
        expression = re.compile(rf"\b{pattern}(?=\s)", re.IGNORECASE)
        compiled.append((wording, expression, _beginnings(words)))
    return compiled
