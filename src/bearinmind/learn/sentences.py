"""The sentences of a message, and which of them are its author's own words. Pure.

What somebody pastes is not what they say: a web page that holds "remember that ..." would otherwise
write into the memory of the person who asks for a summary. So whatever looks like code, a log, a
quotation or a document is set aside, and with it all that follows an announcement of such a thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bearinmind.learn.model import LONGEST, Refusal

MOST_CHARACTERS = 20_000  # of a message: more is a paste, and costs time
_MOST_OWN = 3_000  # characters of own words: a longer message is a document
_MOST_PARAGRAPH = 900  # characters: people who type make shorter ones
_WRAPPED = 60  # characters of a line from which on an editor may have broken it
_QUOTED_WORDS = 4  # from here on what stands in quotes is somebody's sentence, not a name

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")
_ELEMENT = re.compile(r"<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>.*?(?:</\1\s*>|\Z)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_QUOTES = re.compile(
    '"([^"\n]{1,2000})"|\u201c([^\u201d]{1,2000})\u201d|\u00ab([^\u00bb]{1,2000})\u00bb'
    "|\u2018([^\u2019]{12,2000})\u2019"
)
_MARK = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands for a quotation, or for what was set aside

# Lines of logs, stack traces, diffs, shells, tables, configuration and source text.
_MACHINE = re.compile(
    r"""
      ^\s*>                                              # a quotation
    | ^(?:\ {4,}|\t)\S                                   # an indented block
    | ^\s*(?:at\s+[\w.$<>/]+\s*\(|File\s+"|Traceback\b|Caused\ by:|\.\.\.\s\d+\ more)
    | ^\s*\[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d               # a time of day
    | ^\s*\[?\d\d:\d\d:\d\d
    | ^\s*\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|TRACE)\b\]?[:\s]
    | ^(?:\+\+\+|---|@@|diff\ --git|index\ [0-9a-f]{7}|[+-](?=\S)(?!\d*\s))
    | ^\s*[$%]\s\S                                       # a shell
    | ^\s*\|.*\|\s*$
    | ^\s*[\w.-]+\s*[:=]\s*[\["'{]                       # configuration
    | [;{}]\s*$
    | ^\s*(?:import\s+[\w.{*]+(?:\s+as\b|\s+from\b|\s*$)|from\s+[\w.]+\s+import\b|def\s+\w+\(
      |class\s+\w+[:(]|(?:const|let|var)\s+\w+\s*=|function\s+\w*\(|return\s+[\w.]+\()
    | ^\s*\w+(?:Error|Exception|Warning):
    | ^\s*(?:npm|yarn|pnpm|pip|cargo)\s+(?:ERR!|WARN|error|warning)
    | ^\s*(?:error|warning|fatal|panic)(?:\[\w+\])?:\s
    """,
    re.VERBOSE,
)
# Somebody else is made to speak, or the model is spoken to over its user's head.
_FOREIGN = re.compile(
    r"""
      ^[^\S\n]*(?:system|assistant|human|user|ai|subject|from|to|title|author|date)\s*:\s
    | \b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+|the\s+|your\s+)*
      (?:previous|prior|above|earlier)\s+(?:instructions?|messages?|prompts?|rules?)
    | ^\#{1,6}\s\S | ^(?:---+|===+|\*\*\*+)\s*$        # a document
    | ^(?:hi|hello|dear|hey|good\s+morning)\b[^\n]{0,30},?\s*\n.*\n    # a letter
    | ^(?:best|regards|cheers|sincerely|kind\s+regards|thanks|yours)[^\n]{0,20},?\s*\n?\s*
      (?:[A-Z]\w+\s*)?\Z
    | ^[^\S\n]*\[?\d{1,2}:\d\d(?::\d\d)?\]?\s+\w+:      # a chat
    | ^[a-z]{2,15}:\s[^\n]+\n[a-z]{2,15}:\s
    | \bQ:\s.*\bA:\s
    | ^[^\S\n]*\[/?\w+\]\s*$                           # a marked block
    | ^[^\S\n]*1[.)]\s.*\n\s*2[.)]\s                         # a numbered list: mostly a document's
    | ^\w+>\s
    | \bsystem\s+prompt\b | <\|\w+\|> | \[/?INST\] | \byou\s+are\s+(?:now\s+)?(?:an?|in)\s
    | \b(?:ai|language)\s+(?:assistants?|models?|agents?)\s+(?:reading|processing|must|should)\b
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# What follows is shown, not said.
_ANNOUNCED = re.compile(
    r"""
    (?:\b(?:translate|summari[sz]e|proofread|rewrite|explain|analy[sz]e|this|these|following
      |here(?:'s|\s+is|\s+are)?|below|output|logs?|errors?|trace|page|article|e-?mail|ticket|issue|message|snippet|response|reply|review|comment|thread|slack|readme
      |docs?|files?|diff|patch|prompt|transcript|notes?|text|contents?|paste|pasted|says|said|reads
      |wrote|got|get|sees?|returns?|prints?)
    (?:[^.:?!\n]|[.:](?=\S)){0,60}):(?:\s+|$)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A line that names what stands below it.
_HEADING = re.compile(
    r"^[^.?!\n]{0,50}\b(?:e-?mail|mail|message|ticket|issue|page|article|letter|review|comment|post"
    r"|slack|chat|thread|transcript|logs?|output|text|wiki|site|blog|minutes|proofread|translate"
    r"|summari[sz]e|changelog)"
    r"\b[^.?!\n]{0,40}$",
    re.IGNORECASE,
)
_OWN_COLON = re.compile(
    r"\b(?:remember|note|keep in mind|decision|decided|preference|from now on|rule|convention)"
    r"(?:\s+(?:this|that|it|for\s+later|for\s+the\s+future))?\s*$",
    re.IGNORECASE,
)
_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\b[DM]r\.)(?<!\bMs\.)(?<!\bProf\.)[\"')\]]*\s+(?=\S)|\n+|\s*;\s+"
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


class Sentence(NamedTuple):
    """A sentence of a message."""

    text: str
    own: bool = True  #: whether its author says it, rather than shows it


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a message, those that it merely holds marked as such."""
    text = text[:MOST_CHARACTERS].replace("\r\n", "\n").replace("\u2019", "'")
    text = _ELEMENT.sub(_set_aside, _COMMENT.sub(_set_aside, text))
    if _FOREIGN.search(text):
        yield from _shown(text)
        return
    own, shown = _parted(text)
    if len(own) > _MOST_OWN:
        yield from _shown(text)
        return
    for paragraph in re.split(r"\n\s*\n", own):
        is_own = len(paragraph) <= _MOST_PARAGRAPH
        for piece in _pieces(_QUOTES.sub(_masked, paragraph)):
            yield Sentence(piece.replace(_MARK, '"…"'), is_own and _MARK not in piece)
    yield from _shown(shown)


def _parted(text: str) -> tuple[str, str]:
    """The lines that may be somebody's own words, and the others."""
    own: list[str] = []
    shown: list[str] = []
    fenced = printed = False
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
            own.append("")  # what stands before a block and behind it are two paragraphs
        elif fenced or _MACHINE.search(line) or (printed and line.strip()):
            shown.append(line)
            printed = not fenced  # up to the next empty line, the rest of it
        else:
            printed = False
            own_part, rest = _before_announced(line)
            own.append(own_part)
            if rest is None and at + 1 < len(lines) and _HEADING.match(line):
                rest = ""
            if rest is not None:
                return "\n".join(own), "\n".join([*shown, rest, *lines[at + 1 :]])
    return "\n".join(own), "\n".join(shown)


def _before_announced(line: str) -> tuple[str, str | None]:
    """A line up to where something else is shown, and what is; None when nothing is."""
    for match in _ANNOUNCED.finditer(line):
        before = line[: match.end()].rstrip().rstrip(":")
        if not _OWN_COLON.search(before):
            return before + ":", line[match.end() :]
    stripped = line.rstrip()
    if stripped.endswith(":") and not _OWN_COLON.search(stripped[:-1]):
        return line, ""
    return line, None


def _set_aside(match: re.Match[str]) -> str:
    """An element of a document, as lines that are taken for shown ones.

    A sentence that it stands in the middle of is marked: half of it is not what was said.
    """
    before = match.string[: match.start()].rstrip(" \t")
    cut = "" if not before or before[-1] in "\n.!?:;" else _MARK
    return f"{cut}\n" + "\n".join(f"> {line}" for line in match.group().split("\n")) + "\n"


def _masked(match: re.Match[str]) -> str:
    quoted = next(filter(None, match.groups()))
    return _MARK if len(quoted.split()) >= _QUOTED_WORDS else match.group()


def _shown(text: str) -> Iterator[Sentence]:
    for piece in _pieces(text):
        yield Sentence(piece, own=False)


def _pieces(text: str) -> Iterator[str]:
    for piece in _END.split("\n".join(_unwrapped(text.split("\n")))):
        plain = " ".join(_BULLET.sub("", piece.lstrip("> ")).split())
        if plain:
            yield plain


def _unwrapped(lines: Iterable[str]) -> Iterator[str]:
    """Lines as their author wrote them: an editor may have broken long ones."""
    before = ""
    for line in lines:
        if len(before) >= _WRAPPED and line.lstrip()[:1].islower() and before[-1:] not in ".!?:":
            before = f"{before} {line.lstrip()}"
        else:
            yield before
            before = line.rstrip()
    yield before


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
    {_AT_HAND} (?:conversation|chat|exercise|step|ticket|issue|one|case|patch|diff)
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
_UNNAMED = re.compile(
    r"(?:it|this|that|these|those|th(?:ey|eir|ere)|he|she|his|hers?|its)\b", re.IGNORECASE
)
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


def refusal_of(
    sentence: str, statement: str, *, own: bool = True, scored: bool = False
) -> Refusal | None:
    """Why what a sentence states is not kept; None when nothing speaks against it.

    `statement` is the part of the sentence that would be kept. When it is not the user's `own`, the
    user has said yes to it: then it may be a proposal. When it is `scored`, its score has weighed
    the words of the task at hand.
    """
    reasons = {
        Refusal.LONG: len(sentence) > LONGEST,
        Refusal.QUESTION: own and asks(sentence),
        Refusal.SUPPOSED: _SUPPOSES.search(sentence),
        Refusal.REPORTED: own and _REPORTS.search(sentence),
        Refusal.ONE_OFF: not scored and _THIS_TASK.search(sentence),
        Refusal.VAGUE: _UNNAMED.match(statement) if scored else is_vague(statement),
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


# ---- what is kept, in words that stand by themselves ---------------------------------------------

_POLITE = re.compile(
    r"^(?:please|pls|you (?:should|must|can)|i want you to|i'd like you to|let's)\s+(?=\S)",
    re.IGNORECASE,
)
_SELF = (
    (re.compile(r"\bI'm\b"), "the user is"),
    (re.compile(r"\bI am\b"), "the user is"),
    (re.compile(r"\bI've\b"), "the user has"),
    (re.compile(r"\bmyself\b", re.IGNORECASE), "the user"),
    (re.compile(r"\bmine\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\bme\b"), "the user"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "the user's"),
)
_I = re.compile(
    r"\bi ((?:(?:just|also|now|even|much|still|never|only|always|often|sometimes|no longer"
    r"|(?!(?:re|app|supp|rep|comp|imp|multip|f)ly\b)[a-z]+ly) )*)"
    r"(?:do (?!the\b|all\b|an?\b|my\b|our\b|it\b|this\b|that\b|not\b))?"
    r"(don't )?(can't stand|[a-z']+)\b",
    re.IGNORECASE,
)
_UNCHANGED = re.compile(
    r"was|had|can|could|will|would|should|must|may|might|shall|cannot|can't stand|\w+n't"
    r"|(?!(?:n|f|sp|proc|succ|exc)eed$|embed$)\w+ed|ate|became|began|bought|broke|built|came"
    r"|chose|did|drove|felt|found|forgot|gave|got|grew|heard|held|kept|knew|learnt|led|left|lost"
    r"|made|meant|met|paid|ran|said|saw|sent|sold|spent|spoke|taught|thought|told|took|went|won"
    r"|wore|wrote"
)
_VERB = {"have": "has", "haven't": "hasn't", "am": "is"}
_INFINITIVES = (
    ("using ", "use "),
    ("going ", "go "),
    ("adopting ", "adopt "),
    ("switching ", "switch "),
    ("storing ", "store "),
)
_PLEASE = re.compile(r",?\s+(?:please|pls|thanks|ok|okay|btw)$", re.IGNORECASE)
_MARKS = " .!,;:-"
_STOP = re.compile(r"^(?:stop|quit) (\w+ing) ", re.IGNORECASE)


def statement(kept: str) -> str:
    """A statement or an order as one sentence, with "the user" for "me"."""
    return _sentence(_POLITE.sub("", kept))


def about_user(kept: str) -> str:
    """What a user says about themselves, in the third person."""
    kept = re.sub(r"^call me\b", "my name is", kept, flags=re.IGNORECASE)
    return _sentence(kept)


def stop(kept: str) -> str:
    """What is to be stopped, as what is not to be done."""
    return _sentence(_STOP.sub(lambda match: f"Avoid {match[1].lower()} ", kept))


def infinitive(kept: str) -> str:
    """What is proposed, as what is to be done."""
    for doing, do in _INFINITIVES:
        if kept.lower().startswith(doing):
            kept = do + kept[len(doing) :]
    return kept.rstrip(" .!?")


def _third(match: re.Match[str]) -> str:
    """What I do, as what the user does."""
    how, negated, verb = match[1], match[2], match[3].lower()
    if negated:
        return f"the user {how}does not {verb}"
    is_same = _UNCHANGED.fullmatch(verb) and verb not in _VERB
    return f"the user {how}{verb if is_same else _VERB.get(verb) or _with_s(verb)}"


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _sentence(text: str) -> str:
    """A text as one sentence in the third person."""
    text = _I.sub(_third, text)
    for pattern, instead in _SELF:
        text = pattern.sub(instead, text)
    text = _PLEASE.sub("", " ".join(text.split()).rstrip(_MARKS)).rstrip(_MARKS)
    first = text.split(" ", 1)[0].replace("'", "")
    if first.isalpha() and first.islower():  # iOS and `make` keep their case
        text = text[:1].upper() + text[1:]
    return f"{text}."
