"""Time in the question: which state of a thing its words ask for, and which span they name. Pure.

A rule that cannot tell reads nothing: a question that is mistaken for one about the past would be
answered with what is no longer true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bearinmind.trace import Asks, QuestionTime

if TYPE_CHECKING:
    from bearinmind.recall.date_phrases import DatePhrase

NOTHING = QuestionTime()
_LONGEST = 1_000  # characters: the dates of a longer text, such as a pasted log, ask for nothing

# Most questions hold none of these words, and are read no further.
_DATE_WORDS = (
    r"ago|yesterday|today|last|past|previous|this|january|february|march|april|may|june|july|"
    r"august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|"
    r"spring|summer|autumn|fall|winter|q[1-4]|(?:19|20)\d\d"
)
_DATE = re.compile(rf"\b(?:{_DATE_WORDS})\b")
_CUE = re.compile(
    rf"\b(?:{_DATE_WORDS}|now|nowadays|current|currently|moment|present|presently|these days|"
    r"still|any ?more|before|prior|previously|former|formerly|used? to|original|originally|"
    r"initially|first|earlier|old|time|beginning|back|replace|stop|drop|abandon|retire|ditch|from|"
    r"when|how long|point|begin|start|year|date|day|month|week|until|till)\b"
)

_SOMEBODY = r"(?:we|i|you|they|he|she|it|there)"
_OWNER = r"\b(?:our|my|your|his|her|their|its|\w+['\u2019]s|\w+s['\u2019])"
_CHANGED = (
    r"(?:switched|moved|migrated|changed|replaced|started|stopped|dropped|joined|left|adopted|"
    r"introduced|upgraded|renamed|merged|took\s+over|went|got|began|became|ended)"
)
_CHANGE = (
    rf"(?:{_CHANGED}|switch|move|migrat(?:e|ion)|change|replace(?:ment)?|start|stop|drop|join|leave|"
    r"adopt|introduc(?:e|tion)|upgrade|rename|merge|take\s+over|begin|become|end)"
)
_WHEN = re.compile(
    rf"""\bwhen(?:'d|\s+(?:did|was|were|has|have|had)|\s+exactly\s+did)\b
    | \b(?:since\s+when|at\s+what\s+point\s+(?:did|was|were))\b
    | \b(?:from|until|till)\s+when\s+(?:did|was|were|has|have|had)\b
    | \bhow\s+long\s+(?:ago|since|have|has|had)\b
    | \b(?:what|which)\s+(?:year|date|day|month|week)\s+(?:did|was|were|has|have|had)\b
    | (?:^|\b(?:know|remember|recall|tell\s+me)\s+)when\s+(?:\w+\s+){{1,3}}?{_CHANGED}\b(?=[^,]*$)
    | \b(?:date|day)\s+(?:of|that|when|on\s+which)\s+(?:\w+\s+){{1,2}}?{_CHANGE}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_THEN = re.compile(
    rf"""\b(?:previously|formerly|back\s+then|at\s+that\s+time|at\s+the\s+time(?!\s+of)
        |in\s+the\s+old\s+days|in\s+the\s+past(?!\s+(?:\d|few|couple|several|one|two|three|day|week|month|year)))\b
    | \bback\s+(?:in\s+(?:the\s+days?|those\s+days)|when)\b
    | \b(?:a\s+while|some\s+time|long|ages|years|months|weeks)\s+ago\b
    | \b(?:{_SOMEBODY}|who|what|that|which\s+\w+)\s+used\s+to\b
    | \b(?!(?:is|are|was|were|be|been|being|get|gets|got)\b)\w+\s+used\s+to\s+
        (?:be|have|live|work|own|belong|cost|do)\b
    | \bdid\s+(?:(?:\w+\s+){{1,4}}used|{_SOMEBODY}\s+use)\s+to\b
    | \bwhen\s+(?:\w+\s+){{1,2}}(?:was|were|had|still)\b
    | \bdid\s+[^?,]{{1,40}}?\b(?:switch|move|migrate|change|upgrade|come)
        (?:\s+(?:away|over))?\s+from\b(?!\s+\S+\s+to\b)
    | \bdid\s+[^?,]{{1,40}}\breplace\s*[?.!]*\s*$
    | \b(?:what|which|who)\b[^?]{{0,40}}\bdid\s+\w+\s+(?:stop\s+using|drop|abandon|retire|ditch)\b
    | \b(?:was|were|did|had)\b[^?,]*\bearlier\s*[?.!]*\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_OF_A_CHANGE = re.compile(rf"\b(?:{_CHANGE}|how\s+long|since)\b", re.IGNORECASE)
# In the present tense they ask for what comes first: "how is it initially set up?"
_AT_FIRST = re.compile(
    r"\b(?:originally|initially|at\s+first|in\s+the\s+beginning(?!\s+of))\b", re.IGNORECASE
)
# What these name may also be asked about as it is now: "where is our old server now?"
_FORMER = re.compile(
    rf"""{_OWNER}\s+(?:previous|former|old|earlier|original)\s+(?=\w)
    | \b(?:was|were|did|had)\b[^?]{{0,40}}\bthe\s+(?:previous|former|old|earlier)\s+(?=\w)
    | (?:^|^the\s+|\bof\s+the\s+)(?:previous|former|prior|old)\s+(?=\w)
    | \b(?:what|who|which|where)(?:['\u2019]s|\s+is|\s+are)\s+the\s+(?:previous|former)\s+(?=\w)
    | \bdid\s+{_SOMEBODY}\s+(?:begin|start)(?:\s+out)?\s+with\b
    | \b(?:was|were)\s+(?:the\s+original|{_OWNER}\s+(?:very\s+)?first)\s+(?=\w)
    | \bdid\s+(?:\w+\s+){{1,3}}?first\s+(?:use|have|choose|pick|try|run|live|work)\b
    | \bdid\s+{_SOMEBODY}\s+(?:use|have|choose|pick|try|run|start|begin)\b[^?]*
        \bfirst\s*[?.!]*\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_PLACE_IN_ORDER = re.compile(  # "the previous page", "our first step"
    r"(?:page|step|commit|line|command|question|answer|message|result|section|chapter|item|name|"
    r"prompt|output|half|aid|one|two|three|thing|day|week|month|year|quarter)s?\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?<!\bwell )\b(?:before|prior\s+to|until|till)\b(?!\s+(?:or\s+after|when)\b)", re.IGNORECASE
)
_BEFORE_A_CHANGE = re.compile(
    rf"\b(?:before|prior\s+to|until|till)\s+(?:\w+\s+){{1,2}}?{_CHANGE}\b"
    r"|\bbefore(?:\s+(?:that|then))?\s*[?.!]*\s*$",
    re.IGNORECASE,
)
_NOW = re.compile(
    rf"""\b(?:currently|nowadays|presently|at\s+(?:the\s+moment|present)(?!\s+of)|these\s+days
        |any\s?more|today|still)\b
    | (?<=\w\s)now\b(?!\s+(?:that|the)\b)
    | (?:{_OWNER}|\bthe|^)\s*(?:current|present)\s+(?=\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_PAST_TENSE = re.compile(
    r"\b(?:did|didn't|was|wasn't|were|weren't|had|hadn't)\b"
    r"|\b(?:who|what|which(?:\s+\w+){1,2})\s+(?:\w{2,}ed|ran|held|led|kept|made|paid|gave|took|wrote|"
    r"built|sent|came|went|got)\b",
    re.IGNORECASE,
)
_PRESENT_TENSE = re.compile(
    rf"\b(?:do|does)\s+(?:{_SOMEBODY}|the|our|my)\b"
    r"|\b(?:is|isn't|are|aren't|am|will|won't|must|should|shall|can|could|might|needs?|needed|"
    r"ha(?:s|ve|d)\s+to|wants?|(?-i:may)|^may)\b",
    re.IGNORECASE,
)
# They ask whether it is so, which the newest memory knows: "Does the fair take place in May 2025?"
_WHETHER = re.compile(
    r"\W*(?:do|does|is|isn't|are|aren't|am|will|can|could|may|must|shall|should)\b", re.IGNORECASE
)
_PERFECT = re.compile(
    r"\b(?:has|have|i've|we've)\b(?!\s+(?:to|an?|the|our|my|his|her|their|its)\b)", re.IGNORECASE
)
_NOT_THEN = frozenset({"since", "after", "for"})  # "since May", "the budget for 2025" may be so now
_WITHIN = frozenset({"in", "on", "during", "as of", "between", "around", "throughout", "through"})


def read(text: str, now: datetime) -> QuestionTime:
    """What the words of a question say about time, seen from a moment."""
    if len(text) > _LONGEST or not _CUE.search(lower := text.lower()):
        return NOTHING
    past = bool(_PAST_TENSE.search(text))
    dates: Sequence[DatePhrase] = ()
    if _DATE.search(lower):
        # Its library is loaded by the first question that may hold a date.
        from bearinmind.recall.date_phrases import date_phrases  # noqa: PLC0415

        dates = date_phrases(text, now, past=past or bool(_PERFECT.search(text)))
    asks, words = next(_readings(text, dates, now, past=past), (Asks.NONE, ""))
    date = min(dates, key=_preference, default=None)
    phrases = dict.fromkeys([words.strip(), date.words if date else ""])
    return QuestionTime(
        asks=asks, span=date.span if date else None, words=tuple(filter(None, phrases))
    )


def without_time(text: str, time: QuestionTime) -> str:
    """A question without the words that name a time, unless there are no others."""
    if not time.span:
        return text
    from bearinmind.recall.date_phrases import spelled_out  # noqa: PLC0415  as above

    return " ".join(spelled_out(text).replace(time.words[-1], " ", 1).split()) or text


def _readings(
    text: str, dates: Sequence[DatePhrase], now: datetime, *, past: bool
) -> Iterator[tuple[Asks, str]]:
    """What the question may ask for, with the words that say so, the surest first."""
    present = bool(_PRESENT_TENSE.search(text))
    dated = [date.words for date in dates if _is_past(date, now, past=past or not present)]
    if not past and _WHETHER.match(text):
        dated = []
    when = _search(_WHEN, text)
    if when and not (dated and not _OF_A_CHANGE.search(text)):  # "when were sessions in 2024?"
        yield Asks.WHEN, when[0]
    if dated:
        yield Asks.THEN, dated[0]
    if then := _search(_THEN, text):
        yield Asks.THEN, then[0]
    if (past or not present) and (then := _search(_AT_FIRST, text)):
        yield Asks.THEN, then[0]
    before = _BEFORE if past else _BEFORE_A_CHANGE
    if not present and (past or not _PERFECT.search(text)) and (then := _search(before, text)):
        yield Asks.THEN, then[0]
    if (present or not past) and (now_word := _search(_NOW, text)):
        yield Asks.NOW, now_word[0]
    former = _FORMER.search(text)
    if former and not _PLACE_IN_ORDER.match(text, former.end()):
        yield Asks.THEN, former[0]


def _search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that is no title, such as "Before I Disappear" within a sentence."""
    for match in pattern.finditer(text):
        if not match[0].istitle() or not re.search(r"[\w,]\s+$", text[: match.start()]):
            return match
    return None


def _is_past(date: DatePhrase, now: datetime, *, past: bool) -> bool:
    """Whether a question with this date asks for what was so then."""
    if date.lead in _NOT_THEN or date.span.end > now:
        return False
    return past or (date.lead in _WITHIN and date.absolute)


def _preference(date: DatePhrase) -> tuple[bool, timedelta]:
    """The key by which the date that says most comes first: of the calendar, then the shortest."""
    start = date.span.start
    return not date.absolute, date.span.end - start if start else timedelta.max
