"""The forms of sentences that are meant to last: data, in order. English.

A form is narrow: missing something costs little, for it will be said again; keeping something wrong
costs trust. What might be about the task at hand alone is not sure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bearinmind.learn.model import Lesson
from bearinmind.learn.sentences import about_user, statement, stop


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
LEAD = re.compile(_LEAD, re.IGNORECASE)
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
BARE = (
    "(?!(?:the|an?|this|that|these|those|it|them|my|your|his|her|its|their|any|some|only|more)\\b)"
)
_TERM = f"(?:the (?:term|word|name) )?{BARE}"
_NAMED = f"(?=[^.]*(?-i:[A-Z0-9])){BARE}"
_INSTEAD = (
    f"(?:use|write) {_TERM}(?!\\d)\\S(?:[^,']|'(?!s))*?"
    f"(?: instead of | rather than |, not |, never ){BARE}(?!mine\\b|\\d)\\S.*"
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
        f"|(?:for|in) {BARE}(?:[\\w -]{{2,40}}s|(?-i:[A-Z])[\\w -]{{1,40}})), (?:please )?",
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
        f"(?:prefer|favou?r|hate|dislike|can't stand) (?:that you |{BARE})\\S.*)",
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
        f"|(?:chose|chosen|picked|ruled out) {_NAMED}|standardi[sz](?:ed|ing) on {BARE})",
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
        f"|(?:let's|we'll|we will) (?:standardi[sz]e|settle) on {BARE}\\S.*)",
        importance=0.7,
    ),
    _form(
        Lesson.CORRECTION,
        f"(?P<kept>prefer {BARE}\\S\\S[^,]*? over {BARE}\\S\\S.*",
        # Put right, or for more than what is at hand.
        f"|(?:(?<=no, )|(?<=no )|(?<=nope, )|(?<=actually, )|(?=.*{_EVERYWHERE})){_INSTEAD})",
    ),
    _form(
        Lesson.CORRECTION,
        "(?<=[,.!\\s-])(?P<kept>(?:the|our|my) ",
        f"(?:[\\w'/-]+ ){{0,3}}{_LASTING_THING} ",
        "(?:(?:is|are)(?: called)?|lives? in|runs? on|uses?|listens? on|belongs? (?:in|to)) ",
        f"{BARE}\\S.*(?:, not | instead of ){BARE}\\S.*)",
    ),
    _form(
        Lesson.CORRECTION,
        f"(?P<kept>(?:we|{_THIS_HOUSE}|the team) (?:don't|doesn't|do not|does not|no longer) ",
        f"(?:use|allow|support|mock) {BARE}\\S.*)",
    ),
    _form(
        Lesson.CORRECTION,
        f"(?P<kept>(?:we|{_THIS_HOUSE}) (?:uses?|runs? on|targets?|requires?) {BARE}\\S.*",
        f"(?:, not |instead of |rather than ){BARE}\\S.*)",
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:stop|quit) ",
        "(?:add|us|writ|mock|creat|apologi[sz]|summari[sz]|explain|repeat)ing",
        f" {BARE}(?!so\\b)(?!.*\\bfirst\\b){_NOT_THERE}\\S.*)",
        word=stop,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:don't|do not) (?:use|add|mock|hardcode|hard-code|silence|swallow) ",
        f"{BARE}(?!to\\b|yet\\b|so\\b|up\\b|me\\b|us\\b|new (?:file|branch|column)\\b)",
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
