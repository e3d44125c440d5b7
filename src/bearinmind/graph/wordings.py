"""The relations that are stated in so many words: a closed table of their types and wordings.

A wording is a regular expression over a sentence in which names are marked. `BE` stands for a form
of "to be" that may be left out where the sentence says it elsewhere ("a film directed by"), `IS`
for one in the present, `DATE` for a date or nothing, `WORDS` for up to six words. Turned wordings
name the target first: "A owns B" is "B is owned by A".

A state that has ended is not stated: "was owned by" and "used to run on" are in no row. Where the
past is worth keeping, for people of history, it has a type of its own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bearinmind.graph.marking import MARK

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
    turned: bool = False  #: the target comes first


def _rows(type_: str, *said: str, turned: tuple[str, ...] = ()) -> list[Wording]:
    return [Wording(type_, text) for text in said] + [
        Wording(type_, text, turned=True) for text in turned
    ]


TABLE = [
    # What software does.
    *_rows(
        "runs on",
        r"runs? (?:on|in)",
        r"IS(?:running|hosted|deployed) (?:on|in|at|to)",
        r"(?:was|were|has been) deployed (?:on|to)",
        turned=(r"hosts",),
    ),
    *_rows("depends on", r"depends? (?:up)?on", r"relies on", r"requires"),
    *_rows(
        "uses",
        r"uses?",
        r"makes use of",
        r"IS(?:using|powered by|built (?:with|on|using)|backed by)",
        turned=(r"IS(?:used|needed) by",),
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
    *_rows("is monitored by", r"ISmonitored (?:by|with|in)", turned=(r"monitors",)),
    *_rows("was caused by", r"BEcaused by", turned=(r"caused",)),
    # Whose it is, and what it belongs to.
    *_rows("is owned by", r"ISowned by", r"belongs to", turned=(r"owns", r"ISthe owners? of")),
    *_rows(
        "is maintained by",
        r"IS(?:maintained|looked after) by",
        turned=(r"maintains", r"ISthe maintainers? of"),
    ),
    *_rows("is part of", r"IS(?:an? )?(?:part|component|module|subsidiary) of"),
    *_rows("is a member of", r"(?:is|are|was|were) (?:an? )?members? of"),
    *_rows(
        "was replaced by",
        r"BE(?:replaced|superseded|succeeded) by",
        turned=(
            r"(?:has )?(?:replaced|superseded|succeeded)",
            r"replaces|supersedes|succeeds",
            r"(?:is|was) the (?:successor|replacement) (?:of|to|for)",
        ),
    ),
    *_rows(
        "was acquired by", r"BE(?:acquired|bought|taken over) by", turned=(r"acquired", r"bought")
    ),
    *_rows(
        "was founded by",
        r"BE(?:co-?)?(?:founded|established|started)DATE by",
        turned=(r"(?:co-?)?founded", r"(?:is|was) (?:the|an?) (?:co-?)?founders? of"),
    ),
    *_rows(
        "is led by",
        r"IS(?:led|headed|run|chaired) by",
        turned=(
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
        turned=(r"employs",),
    ),
    *_rows("worked at", r"(?:worked|taught) (?:at|for)"),
    *_rows("lives in", r"(?:lives?|resides?) in", r"ISliving in"),
    *_rows("lived in", r"(?:lived|resided) in"),
    *_rows("moved to", r"(?:(?:has|have) )?(?:moved|migrated|relocated) to", r"BEmoved to"),
    *_rows("reports to", r"reports? to"),
    *_rows("is managed by", r"ISmanaged by", turned=(r"manages", r"ISthe manager of")),
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
        turned=(r"(?:is|was) the (?:father|mother|parent) of",),
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
        turned=(r"directed", r"(?:is|was) the director of"),
    ),
    *_rows(
        "was written by",
        r"BE(?:co-)?(?:written|authored)(?:,? (?:and |co-)?\w+ed)* by",
        r"(?:is|was) an? WORDS(?:novel|book|story|poem|play|essay|memoir|biography|treatise) by",
        turned=(r"wrote", r"(?:is|was) the author of"),
    ),
    *_rows("was produced by", r"BEproduced(?:,? (?:and )?\w+ed)* by", turned=(r"produced",)),
    *_rows("was composed by", r"BEcomposed by", turned=(r"composed",)),
    *_rows(
        "was performed by",
        r"BE(?:performed|sung|recorded) by",
        r"(?:is|was) an? WORDS(?:song|single|album|track|EP) by",
    ),
    *_rows("was published by", r"BEpublishedDATE by", turned=(r"published",)),
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


def _written_out(said: str) -> str:
    for shorthand, meaning in _SHORTHANDS.items():
        said = said.replace(shorthand, meaning)
    return said


def compiled() -> list[tuple[Wording, re.Pattern[str]]]:
    """Every wording, ready to be looked for, the longer ones before what they begin with."""
    ordered = sorted(TABLE, key=lambda wording: -len(wording.said))
    return [
        (wording, re.compile(rf"\b{_written_out(wording.said)}(?=\s)", re.IGNORECASE))
        for wording in ordered
    ]
