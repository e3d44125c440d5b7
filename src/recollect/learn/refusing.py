"""What keeps a sentence from being learned, whoever proposes it. Pure."""

from __future__ import annotations

import re

from recollect.learn.turns import Refusal

LONGEST = 320  # characters of a sentence: a rule that needs more is written down elsewhere
_FEWEST_WORDS = 3

_ASKS = re.compile(
    r"""
    \?\s*["')\]]*$
    | ^(?:(?:and|but|so|ok|okay|hm+|also|then|well|hey|btw)[,\s]+)*
      (?:what|why|how|which|who|whose|where|should|shall|could|would|can|may|do|does|did|is|are|was|were
        |has|have|had|will|won't|isn't|aren't|don't\s+(?:we|you|I)\s+(?:have|need|want|already)\b|any\s+idea
        |do\s+you|can\s+you|could\s+you)\b(?!\s+not\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"""
    \b(?:maybe|perhaps|possibly|probably|might|suppose|supposing|imagine|hypothetically|what\s+if|in\s+theory
      |i\s+wonder|not\s+sure|i\s+guess|let's\s+say|say\s+we|assuming|for\s+example|for\s+instance|e\.g\.
      |would\s+be|could\s+be|would\s+have|could\s+have|should\s+have|wish|if\s+only|if\s+we\s+(?:had|were|ever)
      |i\s+think\s+we\s+(?:should|could)|we\s+(?:could|might|should\s+probably)|thinking\s+(?:about|of)
      |considering|leaning\s+towards?|haven't\s+decided|not\s+decided|undecided|wouldn't|couldn't
      |don't\s+know|unclear|tempted|as\s+if|pretend|joke|joking|kidding|lol|haha|typo)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REPORTS = re.compile(
    r"""
    \b(?<!\byou\s)(?<!\bI\s)(?:(?:says?|said|states|stated|claims?|claimed|wrote|writes|reads|suggests?|suggested|recommends?
      |recommended|insists?|complains?|complained|told|tells|warns?|mentions?|mentioned|asked\s+(?:me|us)\s+to)
      |according\s+to|quoting|apparently|supposedly|allegedly|i\s+(?:read|heard|saw)|heard\s+that)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_THIS_TASK = re.compile(
    r"""
    \b(?:for\s+now|right\s+now|just\s+now|today|tonight|tomorrow|yesterday|yet|this\s+(?:time|once|week|morning|afternoon|evening|sprint)
      |just\s+once|temporar(?:y|ily)|for\s+the\s+moment|at\s+the\s+moment|until|till|meanwhile|currently
      |in\s+the\s+(?:next|last)\s+(?:step|commit|message|run)|before\s+(?:we|you|I)\s+(?:continue|go\s+on|proceed|move\s+on)
      |(?:in|for|on|to|from|of|with|by)\s+(?:this|that|the\s+current|the\s+last|the\s+next|your\s+last)\s+
        (?:pr|pull\s+request|commit|branch|file|test|function|class|method|module|task|change|session|conversation|message
          |step|ticket|issue|one|case|patch|diff|feature|bug|line|variable|loop|endpoint|component|part|bit)
      |as\s+(?:i|we)\s+(?:said|mentioned)|again\s+please|next\s+step|while\s+you're\s+at\s+it|still|anymore\s+now|go\s+ahead
      |(?:in|on|at)\s+lines?\s+\d+|(?:so|too)\s+(?:many|much)|any\s+more|another|when\s+(?:you're|you\s+are)\s+done|without\s+me
      |this\s+(?:migration|release|refactoring|prototype|demo|bug|error|problem))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SCOPES = (
    "project|repo|repository|codebase|code\\s+base|package|service|app|application|team|company|organi[sz]ation"
    "|tool|workspace|monorepo|machine|laptop|computer|product|library|site|cluster|account"
)
_POINTS = re.compile(
    rf"""
    \b(?:
        this(?!\s+(?:{_SCOPES})\b) | these | those | here | there(?!\s+(?:is|are|must|should)\b)
      | the\s+(?:above|below|former|latter) | (?:above|below)(?=\s*(?:$|[.,;!])) | same\s+(?:way|thing|here) | such | option\s+\w+ | both
      | that(?=\s*(?:$|[.,;:!)]|instead\b|again\b|one\b|way\b|approach\b|version\b|file\b|function\b|name\b|is\b|was\b|thing\b|part\b))
      | (?:the|that|your)\s+(?:first|second|third|last|other|new|old|previous|current)\s+(?:one|option|approach|version|way|idea|suggestion|plan)
      | (?:the|your|my)\s+(?:other|same|different|new|right|correct|wrong)\s+(?:one|ones|thing|way|file|name|approach|branch|function)
      | (?:your|my|his|her|their)\s+(?:suggestion|proposal|plan|idea|approach|recommendation|version|fix|way)
      | (?<!new\s)one(?=\s*(?:$|[.,;!]|instead\b)) | stuff | (?:the|other|some|all|two|three|few)\s+things | whatever | something | so(?=\s*[.!]?$)
      | like\s+(?:that|this|before) | plan\s+\w | step\s+(?:\d+|one|two|three)
      | (?:need|use|using|in|on|with|for|of|to|skip|do|have|want|like|keep|add|import|from|about|by)\s+that
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PRONOUNS = re.compile(r"\b(?:it|its|it's|they|them|their|he|she|him|her|his)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w@#./+-]*\w[\w+#]*")
_EMPTY = frozenset(
    """
    a an the and or but of to in on at for with from by as is are be been was were do does don't not no
    never always please use using used i you we me my our your us that so just really very too also ok
    okay it its they them prefer prefers like want should must can will make sure go going user user's
    """.split()  # noqa: SIM905  so that it can be read
)


def asks(sentence: str) -> bool:
    """Whether a sentence is a question, whatever its end."""
    return bool(_ASKS.search(sentence))


def refusal_of(sentence: str, statement: str, *, own: bool = True) -> Refusal | None:
    """Why what a sentence states is not kept; None when nothing speaks against it.

    `statement` is the part of the sentence that would be kept. When it is not the user's `own`, the
    user has said yes to it: then it may be a proposal.
    """
    if len(sentence) > LONGEST:
        return Refusal.LONG
    if own and asks(sentence):
        return Refusal.QUESTION
    if _SUPPOSES.search(sentence):
        return Refusal.SUPPOSED
    if own and _REPORTS.search(sentence):
        return Refusal.REPORTED
    if _THIS_TASK.search(sentence):
        return Refusal.ONE_OFF
    if is_vague(statement):
        return Refusal.VAGUE
    return None


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
