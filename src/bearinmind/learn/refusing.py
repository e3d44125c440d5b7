"""What keeps a sentence from being learned, whoever proposes it. Pure."""

from __future__ import annotations

import re

from bearinmind.learn.turns import Refusal

LONGEST = 320  # characters of a sentence: a rule that needs more is written down elsewhere
_FEWEST_WORDS = 2


def _phrases(text: str) -> re.Pattern[str]:
    """Finds any of these phrases, which stand between commas or line ends, as whole words."""
    every = [phrase.strip() for phrase in re.split(r", |\n", text) if phrase.strip(" ,")]
    joined = "|".join(phrase.strip(",") for phrase in every)
    return re.compile(rf"\b(?:{joined})\b", re.IGNORECASE)


_QUESTION_MARK = re.compile(r"\?\s*[\"')\]]*$")
_ASKS = re.compile(
    r"^(?:(?:and|but|so|ok|okay|hm+|also|then|well|hey|btw)[,\s]+)*"
    r"(?:what|why|how|which|who|whose|where|should|shall|could|would|can|may|do|does|did|is|are|was"
    r"|were|has|have|had|will|won't|isn't|aren't|any\s+idea"
    r"|don't\s+(?:we|you|I)\s+(?:have|need|want|already))\b(?!\s+not\b)",
    re.IGNORECASE,
)
_SUPPOSES = _phrases(
    """
    maybe, perhaps, possibly, probably, might, suppose, supposing, imagine, hypothetically, what if
    in theory, i wonder, not sure, i guess, let's say, say we, assuming, for example, for instance
    e\\.g\\., would be, could be, would have, could have, should have, wish, if only
    if we (?:had|were|ever), i think we (?:should|could), we (?:could|might|should probably)
    thinking (?:about|of), considering, leaning towards?, haven't decided, not decided, undecided
    wouldn't, couldn't, don't know, unclear, tempted, as if
    pretend, joke, joking, kidding, lol, haha, typo
    """
)
_REPORTS = _phrases(
    r"""
    (?<!\byou )(?<!\bI )(?:says?|said|states|stated|claims?|claimed|wrote|writes|reads|told|tells)
    (?<!\byou )(?<!\bI )(?:suggests?|suggested|recommends?|recommended|insists?|warns?)
    (?<!\byou )(?<!\bI )(?:complains?|complained|mentions?|mentioned), asked (?:me|us) to
    according to, quoting, apparently, supposedly, allegedly, i (?:read|heard|saw), heard that
    """
)
_AT_HAND = "(?:in|for|on|to|from|of|with|by) (?:this|that|the current|the last|the next|your last)"
_THIS_TASK = _phrases(
    rf"""
    for now, right now, just now, today, tonight, tomorrow, yesterday, yet, just once, temporary
    this (?:time|once|week|morning|afternoon|evening|sprint), temporarily, for the moment
    at the moment, until, till, meanwhile, currently, still, go ahead, anymore now, again please
    in the (?:next|last) (?:step|commit|message|run), next step, while you're at it, without me
    before (?:we|you|I) (?:continue|go on|proceed|move on), as (?:i|we) (?:said|mentioned)
    {_AT_HAND} (?:pr|pull request|commit|branch|file|test|function)
    {_AT_HAND} (?:class|method|module|task|change|session|message)
    {_AT_HAND} (?:conversation|step|ticket|issue|one|case|patch|diff)
    {_AT_HAND} (?:feature|bug|line|variable|loop|endpoint|component)
    {_AT_HAND} (?:part|bit)
    (?:in|on|at) lines? \d+, (?:so|too) (?:many|much), any more, another
    when (?:you're|you are) done
    this (?:migration|release|refactoring|prototype|demo|bug|error|problem)
    """
)
_SCOPES = (
    "project|repo|repository|codebase|code base|package|service|app|application|team|company"
    "|organi[sz]ation|tool|workspace|monorepo|machine|laptop|computer|product|library|site|cluster"
    "|account"
)
_POINTS = _phrases(
    rf"""
    this(?! (?:{_SCOPES})\b), these, those, here, there(?! (?:is|are|must|should)\b), such, both
    the (?:above|below|former|latter), (?:above|below)(?=\s*(?:$|[.,;!])), same (?:way|thing|here)
    option \w+, plan \w, step (?:\d+|one|two|three), like (?:that|this|before)
    that(?=\s*(?:$|[.,;:!)])), that(?= (?:instead|again|one|way|approach|version|file|function)\b)
    that(?= (?:name|is|was|thing|part)\b)
    (?:need|use|using|skip|do|have|want|like|keep|add|import) that
    (?:in|on|with|for|of|to|from|about|by) that
    (?:the|that|your) (?:first|second|third|last|previous|current) (?:one|option|approach|version)
    (?:the|that|your) (?:first|second|third|last|previous|current) (?:way|idea|suggestion|plan)
    (?:the|your|my) (?:other|same|different|new|old|right|correct|wrong) (?:one|ones|thing|way|file)
    (?:the|your|my) (?:other|same|different|new|old|right|correct|wrong) (?:name|approach|branch)
    (?:your|my|his|her|their) (?:suggestion|proposal|plan|idea|approach|recommendation|version|fix)
    (?<!new )one(?=\s*(?:$|[.,;!]|instead\b)), stuff, whatever, something, so(?=\s*[.!]?$)
    (?:the|other|some|all|two|three|few) things
    """
)
_PRONOUNS = re.compile(r"\b(?:it|its|it's|they|them|their|he|she|him|her|his)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w@#./+-]*\w[\w+#]*")
_EMPTY = frozenset(
    """
    a an the and or but of to in on at for with from by as is are be been was were do does don't not
    no never always please use using used i you we me my our your us that so just really very too
    also ok okay it its they them prefer prefers like want should must can will make sure go going
    user user's
    """.split()  # noqa: SIM905  so that it can be read
)


def asks(sentence: str) -> bool:
    """Whether a sentence is a question, whatever its end."""
    return bool(_QUESTION_MARK.search(sentence) or _ASKS.match(sentence))


def refusal_of(sentence: str, statement: str, *, own: bool = True) -> Refusal | None:
    """Why what a sentence states is not kept; None when nothing speaks against it.

    `statement` is the part of the sentence that would be kept. When it is not the user's `own`, the
    user has said yes to it: then it may be a proposal.
    """
    reasons = {
        Refusal.LONG: len(sentence) > LONGEST,
        Refusal.QUESTION: own and asks(sentence),
        Refusal.SUPPOSED: bool(_SUPPOSES.search(sentence)),
        Refusal.REPORTED: own and bool(_REPORTS.search(sentence)),
        Refusal.ONE_OFF: bool(_THIS_TASK.search(sentence)),
        Refusal.VAGUE: is_vague(statement),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def is_vague(statement: str) -> bool:
    """Whether nobody would know later what a statement speaks of."""
    if _POINTS.search(statement):
        return True
    words = _WORD.findall(statement)
    telling = [word for word in words if word.casefold() not in _EMPTY]
    if len(words) < _FEWEST_WORDS or not telling:
        return True
    pronoun = _PRONOUNS.search(statement)
    if pronoun is None:
        return False
    # A pronoun is well where something that it can stand for was named before it.
    before = [w for w in _WORD.findall(statement[: pronoun.start()]) if w.casefold() not in _EMPTY]
    return len(before) < 2  # noqa: PLR2004  a verb and what it is done to
