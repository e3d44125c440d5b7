"""Finds the lessons of a turn by rules: no chat model, no token, English. Pure.

A sentence may be stored only when its form says that it is meant to last: "always", "from now on",
"I prefer", "we decided". A form is narrow: missing something costs little, for it will be said
again; keeping something wrong costs trust. What has no such form and yet probably lasts ("we moved
CI to GitHub Actions") is proposed, as is what might be about this task alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from bearinmind.learn.lasting import Embed, lesson_of
from bearinmind.learn.model import Candidate, Lesson, Message, Refusal, Refused, Role, TurnFindings
from bearinmind.learn.sentences import (
    about_user,
    infinitive,
    refusal_of,
    sentences,
    statement,
    stop,
)
from bearinmind.types import Trust


class Form(NamedTuple):
    """A form of sentence; what is kept of it is the group `kept`."""

    lesson: Lesson
    pattern: re.Pattern[str]
    sure: bool  #: whether it can hardly be about this task alone
    importance: float
    word: Callable[[str], str]


def _form(
    lesson: Lesson,
    *pieces: str,
    sure: bool = False,
    importance: float = 0.6,
    word: Callable[[str], str] = statement,
) -> Form:
    pattern = re.compile("".join((_LEAD, *pieces, "$")), re.IGNORECASE)
    return Form(lesson, pattern, sure, importance, word)


# What people say before they come to the point.
_LEAD = (
    "^(?:(?:no+|nope|ok(?:ay)?|yes|yeah|yep|right|and|but|so|also|oh|ah|hm+|hey|hi|btw|by the way"
    "|well|thanks|thank you|great|good|cool|nice|perfect|looks good|sorry|please|pls|actually|wrong"
    "|again|fyi|one (?:more )?thing|small thing|quick note|note|just so you know)[,:!.\\s-]+)*"
)
# What an order to last may tell to do. Other verbs are mostly about what is at hand.
_DO = (
    "(?:use|run|deploy|commit|push|merge|write|put|keep|call|name|store|log|pin|squash|rebase|tag"
    "|release|test|mock|import|return|raise|throw|prefix|format|auto-format|ship|target|support"
    "|avoid|add|ask|check|create|document|escape|include|install|leave|lint|make|open|pass|place"
    "|prefer|quote|read|regenerate|reply|answer|respond|review|round|save|send|set|sign|skip|sort"
    "|start|stick|stop|treat|type|update|validate|verify|wrap|explain|show|build|indent|end|begin"
    "|bump|declare|define|delete|drop|edit|force|generate|give|hardcode|hard-code|ignore|link|list"
    "|mention|modify|move|mutate|rename|remove|replace|rely|rewrite|silence|split|swallow|touch"
    "|translate|trust|roll|wait|work|stage|amend|cite|guess|paste|switch|be|do|just)\\b"
)
_LASTING = (
    "(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|for future work"
    "|as a (?:general )?rule(?: of thumb)?|in general|by convention|next time)"
)
_LASTING_BEHIND = (
    "\\b(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|ever again"
    "|every time|each time|as a rule)[.!]*"
)
# Something by its name, rather than one of the things at hand.
_BARE = (
    "(?!(?:the|an?|this|that|these|those|it|them|my|your|his|her|its|their|any|some|only|more)\\b)"
)
_TERM = f"(?:the (?:term|word|name) )?{_BARE}"
_NAMED = f"(?=[^.]*(?-i:[A-Z0-9])){_BARE}"
_INSTEAD = (
    f"(?:use|write) {_TERM}(?!\\d)\\S(?:[^,']|'(?!s))*?"
    f"(?: instead of | rather than |, not |, never ){_BARE}(?!mine\\b|\\d)\\S.*"
)
_EVERYWHERE = (
    "(?:\\beverywhere\\b|\\bin (?:this|our|all|the whole) (?:project|repo|repository|codebase"
    "|service|tool|app|tests|ui)|\\bin the ui\\b|\\b(?:for|in) [\\w ]+s[.!]*$)"
)
# Not at one place of what is at hand.
_NOT_THERE = (
    "(?!.* (?:for|in|to|from|on) (?:the(?! (?:ui|public|api)\\b)|these|those)\\b)(?!.*,? i only\\b)"
)
_LASTING_THING = (
    "(?:service|package|repo|repository|project|product|database|db|api|port|license|licence|region"
    "|domain|host|server|cluster|registry|library|table|bucket|schema|queue|topic|company)"
)
_WHO = (
    "(?:engineer|developer|designer|scientist|student|manager|lead|researcher|analyst|admin|founder"
    "|architect|dba|sre)"
)
_ROLE = (
    "(?:\\w+ ){0,2}(?:lead|manager|boss|designer|engineer|developer|owner|cto|ceo|pm|admin|dba"
    "|reviewer|maintainer|architect|colleague|teammate|intern|sre|contact)\\b"
)
_THIS_HOUSE = "(?:this|our) (?:project|repo|repository|codebase|team|service|app|company)"

FORMS: Sequence[Form] = (
    _form(
        Lesson.PERSON,
        "(?:remember (?:that )?)?(?P<kept>(?:my name is|call me|i go by) ",
        "(?-i:[A-Z])[\\w'-]+(?! (?:is|was|to)\\b).*)",
        sure=True,
        importance=0.8,
        word=about_user,
    ),
    _form(
        Lesson.FACT,
        "(?:(?:can you |could you )?(?:please )?remember",
        "(?: (?:this|that|for later|for the future))?\\s*:\\s*",
        "|(?:please )?remember that |(?:don't|do not) forget that |make a note that ",
        "|note for (?:later|the future)\\s*[:,-]\\s*|for future reference\\s*[:,-]\\s*",
        "|keep in mind that |bear in mind that )(?P<kept>(?!to\\b)\\S.*)",
        sure=True,
        importance=0.7,
    ),
    _form(
        Lesson.PREFERENCE,
        _LASTING,
        "[,:]?\\s+(?P<kept>(?:please |you (?:should|must|can) |i want you to |i'd like you to ",
        "|let's |we )?(?:always |never |don't |do not |only |no (?:more )?(?=\\w+ ?\\w+)|first )?",
        f"(?:{_DO}.*|(?<=no more )\\w.*|(?<=no )\\w.*))",
        sure=True,
        importance=0.7,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:whenever you|every time you|each time you) [^,]{3,100}, (?:please )?",
        f"(?:always |never |don't |do not |also )?{_DO}.*)",
        sure=True,
        importance=0.7,
    ),
    _form(
        Lesson.PREFERENCE,
        # What the agent does, not what the program does that it works on.
        "(?P<kept>(?:(?:if|when|whenever) (?:you|an? (?:test|command|build|migration|deploy",
        "|deployment|pipeline|job|check|review)) [^,]{3,100}",
        f"|(?:for|in) {_BARE}(?:[\\w -]{{2,40}}s|(?-i:[A-Z])[\\w -]{{1,40}})), (?:please )?",
        f"(?:always|never) (?!mind\\b){_DO}.*)",
        sure=True,
        importance=0.7,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?:you (?:should|must) |i want you to |i'd like you to |i need you to |be sure to |let's ",
        "|make sure (?:to |you |that you )|remember to )?(?:please )?",
        f"(?P<kept>(?:always|never(?: ever)?|don't ever|do not ever) {_DO}",
        "(?! it (?:return|never))\\s.*)",
        sure=True,
        importance=0.7,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:please |let's )?(?:always |never |don't |do not |only )?",
        f"{_DO}.*{_LASTING_BEHIND})",
        sure=True,
        importance=0.7,
    ),
    _form(Lesson.PREFERENCE, f"(?P<kept>we (?:always|never|only) {_DO}.*)", sure=True),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>i (?:(?:really|strongly|generally|usually|much|always|personally) )?",
        f"(?:prefer|favou?r|hate|dislike|can't stand) (?:that you |{_BARE})\\S.*)",
        sure=True,
        word=about_user,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:my (?:preferred \\w+|favou?rite [\\w ]{2,30}) is (?!not\\b)",
        "|my (?:editor|shell|operating system) is (?=[\\w.+-]+[.!]*$)",
        "(?!\\w+ing\\b|broken|down|slow|wrong|stuck|off\\b|set\\b|gone)",
        "|my (?:timezone|time zone|locale) is (?=(?-i:[A-Z]|[a-z]{2}_)|utc|gmt)",
        "|my preference is (?:to|for) ",
        "|i (?:always|usually|generally) (?:use|write|work|code|run|name|commit) ",
        "|i don't want you to |i don't like (?:to see|when you) )\\S.*)",
        sure=True,
        word=about_user,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>i want (?:all|every) (?!one|two|three|four|of\\b|\\d)",
        "\\S.* (?:in|to have|to be|with) \\S.*)",
        word=about_user,
    ),
    _form(
        Lesson.DECISION,
        "(?P<kept>(?:(?:after|in|at|during) [^,]{3,40}?,? )?(?:we|the team|management)",
        "(?:'ve| have|'re| are| has)? (?:all |both |finally |now |just )?",
        "(?:(?:decided|agreed|settled|opted) (?:to|on|that|against|in favou?r of|for|not) ",
        f"|(?:chose|chosen|picked|ruled out) {_NAMED}|standardi[sz](?:ed|ing) on {_BARE})",
        "(?!nothing|it\\b|meet\\b|talk\\b|wait\\b|that it\\b|that\\b(?! \\w+ \\w))\\S.*)",
        sure=True,
        importance=0.8,
    ),
    _form(
        Lesson.DECISION,
        "(?P<kept>(?:the |our |final )*decision(?: is|:| was)(?: to| that) (?!.*\\bbut\\b)\\S.*)",
        sure=True,
        importance=0.8,
    ),
    _form(
        Lesson.DECISION,
        "(?P<kept>(?:we're|we are) ",
        "(?:(?:moving|switching|migrating) (?:\\w+ ){0,4}from [\\w. -]+ to",
        f"|dropping support for|replacing|retiring|deprecating) {_NAMED}\\S.*)",
        importance=0.7,
    ),
    _form(
        Lesson.DECISION,
        f"(?P<kept>(?:let's|we'll|we will) (?:(?:go|stick) with|use) {_NAMED}(?!\\w+day\\b)",
        "\\S[^.]* for (?!the (?:demo|example)\\b)\\S.*",
        f"|(?:let's|we'll|we will) (?:standardi[sz]e|settle) on {_BARE}\\S.*)",
        importance=0.7,
    ),
    _form(
        Lesson.CORRECTION,
        f"(?P<kept>prefer {_BARE}\\S\\S[^,]*? over {_BARE}\\S\\S.*",
        # Put right, or for more than what is at hand.
        f"|(?:(?<=no, )|(?<=no )|(?<=nope, )|(?<=actually, )|(?=.*{_EVERYWHERE})){_INSTEAD})",
    ),
    _form(
        Lesson.CORRECTION,
        "(?<=[,.!\\s-])(?P<kept>(?:the|our|my) ",
        f"(?:[\\w'/-]+ ){{0,3}}{_LASTING_THING} ",
        "(?:(?:is|are)(?: called)?|lives? in|runs? on|uses?|listens? on|belongs? (?:in|to)) ",
        f"{_BARE}\\S.*(?:, not | instead of ){_BARE}\\S.*)",
    ),
    _form(
        Lesson.CORRECTION,
        f"(?P<kept>(?:we|{_THIS_HOUSE}|the team) (?:don't|doesn't|do not|does not|no longer) ",
        f"(?:use|allow|support|mock) {_BARE}\\S.*)",
    ),
    _form(
        Lesson.CORRECTION,
        f"(?P<kept>(?:we|{_THIS_HOUSE}) (?:uses?|runs? on|targets?|requires?) {_BARE}\\S.*",
        f"(?:, not |instead of |rather than ){_BARE}\\S.*)",
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:stop|quit) ",
        "(?:add|us|writ|mock|creat|apologi[sz]|summari[sz]|explain|repeat)ing",
        f" {_BARE}(?!so\\b)(?!.*\\bfirst\\b){_NOT_THERE}\\S.*)",
        word=stop,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:don't|do not) (?:use|add|mock|hardcode|hard-code|silence|swallow) ",
        f"{_BARE}(?!to\\b|yet\\b|so\\b|up\\b|me\\b|us\\b|new (?:file|branch|column)\\b)",
        f"{_NOT_THERE}\\S.*)",
    ),
    _form(
        Lesson.PERSON,
        "(?P<kept>(?-i:[A-Z])\\w+(?: (?-i:[A-Z])\\w+)? is (?:our|my) (?:new )?",
        f"{_ROLE}.*)",
    ),
    _form(
        Lesson.PERSON,
        "(?P<kept>(?:my (?:manager|boss|lead|cofounder|co-founder|wife|husband) is (?-i:[A-Z])",
        "|i live in (?-i:[A-Z])|i work (?:at|for) (?:an? |(?-i:[A-Z]))",
        "|(?:i'm|i am) (?:based|located) in (?-i:[A-Z])",
        f"|(?:i'm|i am) an? (?:\\w+ ){{0,3}}{_WHO}\\b).*)",
        word=about_user,
    ),
)

_LONGEST_AGREEMENT = 60  # characters
_LONGEST_LOOKED_AT = 1_000  # characters of a sentence: what is longer is none
#: What an assistant proposes; it counts when the next thing that the user says is yes.
PROPOSED = re.compile(
    "\\b(?:I(?:'d| would)? (?:suggest|recommend|propose)(?: that)?(?: we)?|we should"
    "|my recommendation is(?: to)?) (?P<kept>(?:use|using|go with|going with|adopt|adopting"
    "|standardi[sz](?:e|ing) on|switch(?:ing)? to|store|storing) "
    f"{_BARE}(?!existing\\b)\\S.*?)[.?!]*$",
    re.IGNORECASE,
)
_YES = (
    "(?:yes|yep|yeah|yup|sure|agreed|sounds (?:good|great|right)|exactly|lgtm|go (?:ahead|for it)"
    "|do (?:it|that)|let's do (?:it|that)|that works|works for me|good (?:idea|plan|call)"
    "|fine by me|i agree|approved|👍)"
)
AGREED = re.compile(
    f"^(?:(?:ok|okay|perfect|great)[,.!\\s]+)?{_YES}"
    f"(?:[,.!\\s]+(?:{_YES}|please|thanks|thank you|great|perfect))*[\\s.!👍]*$",
    re.IGNORECASE,
)


def read(messages: Iterable[Message], embed: Embed) -> TurnFindings:
    """The lessons of a turn, in the order of its messages."""
    candidates: dict[str, Candidate] = {}
    refused: list[Refused] = []
    before: Message | None = None
    for message in messages:
        if message.role not in (Role.USER, Role.ASSISTANT):
            continue
        lessons = _of_user(message.text, before, embed) if message.role is Role.USER else ()
        for each in lessons:
            if isinstance(each, Refused):
                refused.append(each)
            else:
                candidates.setdefault(each.text.casefold(), each)
        before = message
    return TurnFindings(candidates=tuple(candidates.values()), refused=tuple(refused))


def _of_user(text: str, before: Message | None, embed: Embed) -> Iterator[Candidate | Refused]:
    if before is not None and before.role is Role.ASSISTANT and agrees(text):
        yield from _agreed(before.text)
        return
    for sentence, own in sentences(text):
        if len(sentence) > _LONGEST_LOOKED_AT:
            continue
        found, reason = _by_form(sentence) or (own and _by_score(sentence, embed)) or (None, None)
        if found is None:
            continue
        if not own:
            reason = Refusal.PASTED
        yield found if reason is None else Refused(said=sentence, reason=reason)


def _by_form(sentence: str) -> tuple[Candidate, Refusal | None] | None:
    """What the form of a sentence says that it teaches, and what speaks against it."""
    matches = ((form, match) for form in FORMS if (match := form.pattern.match(sentence)))
    form, match = next(matches, (None, None))
    if form is None or match is None:
        return None
    kept = match["kept"].strip()
    found = Candidate(
        text=form.word(kept),
        lesson=form.lesson,
        sentence=sentence,
        sure=form.sure,
        importance=form.importance,
    )
    return found, refusal_of(sentence, kept)


def _by_score(sentence: str, embed: Embed) -> tuple[Candidate, Refusal | None] | None:
    """The same of a sentence without such a form that probably says what lasts."""
    lesson = lesson_of(sentence, embed)
    if lesson is None:
        return None
    kept = re.sub(_LEAD, "", sentence, flags=re.IGNORECASE)
    found = Candidate(text=about_user(kept), lesson=lesson, sentence=sentence, sure=False)
    return found, refusal_of(sentence, kept, scored=True)


def agrees(text: str) -> bool:
    """Whether a message says yes and nothing else."""
    return len(text.strip()) <= _LONGEST_AGREEMENT and bool(AGREED.match(text.strip()))


def _agreed(text: str) -> Iterator[Candidate | Refused]:
    """What an assistant proposed and the user agreed to, when it is clear what that was."""
    own = [sentence.text for sentence in sentences(text) if sentence.own]
    proposed = [(each, match) for each in own if (match := PROPOSED.search(each))]
    if len(proposed) != 1:
        return
    [(sentence, match)] = proposed
    kept = infinitive(match["kept"])
    reason = refusal_of(sentence, kept, own=False)
    if reason is not None:
        yield Refused(said=sentence, reason=reason)
    else:
        yield Candidate(
            text=f"Decided: {kept}.",
            lesson=Lesson.DECISION,
            sentence=sentence,
            sure=False,
            trust=Trust.AGENT,
        )
