"""The forms of sentences that are meant to last: data, in order. English.

A form is narrow: missing something costs little, for it will be said again; keeping something wrong
costs trust. What might be about the task at hand alone is not sure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
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

# ---- updates: what has changed, and what holds now -----------------------------------------------

# What people say before they come to what has changed.
_NEWS = (
    "(?:(?:forget|scratch) [^,:-]{3,40}(?:, | - )|correction[:,] |change of plans?[:,] "
    "|(?:[\\w ]{2,20} )?update[:,] |turns out (?:that )?)*"
)
# Things of the task at hand: what becomes of them is no news tomorrow.
_TASK_THING = (
    "(?:file|folder|function|method|class|test|variable|line|loop|page|cursor|build|server|branch"
    "|pr|pull request|commit|import|button|headline|paragraph|dataset|error|bug|step|module"
    "|component|output|script|query|response|result|app crash|screen|terminal|process|weather)s?\\b"
)
_SUBJECT = (
    "(?!(?:i|you|he|she|it|they|we|this|that|these|those|there|everything|nothing|what|now|let|if|when|unless|maybe|next)\\b)"
    f"(?:(?:the|our|my|all|new) )?(?!(?:\\w+ )?{_TASK_THING})[\\w'/.-]+(?: [\\w'/.-]+){{0,4}}?"
)
# What can be looked up tomorrow: a name, a number, an identifier.
_VALUE = "(?=[^.]*?(?:(?-i:[A-Z])|\\d|\\w[-_]\\w))"
_PRESENT = "(?:now|nowadays|these days)"
_HOLDS = (
    "(?:is|are|goes?|costs?|runs?|lives?|listens?|uses?|starts?|happens?|needs?|comes?|belongs?"
    "|takes?|means?|gets?|happens?)"
)
_CONTRAST = (
    "(?:,? (?:not|instead of|rather than) |,? (?:it|they) (?:was|were|used to)\\b|,? used to be "
    "|, previously |,? and no longer )"
)
_CHANGED = (
    "(?:moved|switched|migrated|relocated|changed|swapped|replaced|renamed|dropped|retired|ditched"
    "|bumped|upgraded|raised|lowered|increased|reduced|doubled|cut|adopted|abandoned|merged|split)"
)
_NEW_ROLE = (
    "(?:is (?:the|our|my) new|took over|takes over|has taken over|replaces|is (?:my|our) "
    "[\\w ]{3,30}? now\\b|left the (?:company|team|project),)"
)

_update = partial(_form, Lesson.UPDATE, _NEWS, importance=0.7)
UPDATES: Sequence[Form] = (
    _update(
        "(?:from now on|going forward|from here on(?: out)?|as of [\\w ]{3,20}?",
        "|since [\\w ]{3,20}?),? ",
        f"(?P<kept>(?:we|{_SUBJECT}) (?:all )?(?:{_HOLDS}|go|must|have to|need) \\S.*)",
    ),
    _update(
        f"(?:[^,:]{{3,60}}[,:] )?(?P<kept>(?:please )?{_DO}[^,]{{3,100}}\\b",
        "(?:from now on|from here on(?: out)?)\\b(?:,| and| instead| rather|[.!]*$).*)",
    ),
    _update(
        f"(?:[^,:]{{3,60}}[,:] )?(?P<kept>{_SUBJECT} {_HOLDS} \\S.*\\bfrom now on[.!]*)",
    ),
    _update(
        "(?P<kept>(?:we|the team|our \\w+)(?:'ve| have| has)? (?:just |finally |recently |also )?",
        f"{_CHANGED} (?!on\\b|it\\b|this\\b|that\\b|back\\b|(?:the|all) (?:\\w+ )?{_TASK_THING})",
        "[^.]*\\b(?:to|from|for|with|by|off|into|as)\\b .*)",
    ),
    _update(
        f"(?P<kept>{_SUBJECT}(?: has| have| was| were| got)?(?: been)?",
        f" (?:{_CHANGED}|pushed|postponed|went up|went down|gone up) (?:to|into|from|off) {BARE}",
        f"{_VALUE}.*|(?:the |our )?(?!(?:\\w+ )?{_TASK_THING})[\\w -]{{3,40}}? (?:has|have|was)",
        "(?: been)? (?:moved|merged|renamed) (?:to|into) the .*)",
    ),
    _update(
        f"(?P<kept>{_SUBJECT} {_HOLDS} (?:called |at |on |in |to )?{_VALUE}\\S.*\\b{_PRESENT}\\b",
        f"(?:{_CONTRAST}.*|, [^,]{{3,60}}|,? fyi|[.!]*)|",
        f"{_SUBJECT} (?:{_HOLDS}|go|live|run|use|need) \\S.*\\bnow\\b{_CONTRAST}.*)",
    ),
    _update(
        f"(?P<kept>(?:our|my) (?!(?:\\w+ )?{_TASK_THING})[\\w -]{{3,30}}? (?:is|are) ",
        f"(?:in|on|at|with|a|an|the|run by|built with|handled by) [^,]{{3,60}} {_PRESENT}[.!]*)",
    ),
    _update(
        "(?P<kept>we(?:'re)? (?:all )?(?!have\\b|got\\b|can|could|should|will|know|see|are\\b)",
        f"[\\w'-]+(?: \\S[^,]{{2,60}})? {_PRESENT}(?:{_CONTRAST}.*|, [^,]{{3,60}}|[.!]*)",
        f"|(?:[\\w.-]+(?: \\w+)? (?:is|are) (?:out|gone|retired|history|cancelled), )we use {BARE}",
        "\\S.*)",
    ),
    _update(
        f"(?P<kept>{_SUBJECT} (?:(?:is|are) no longer \\S[^,]*|(?:isn't|aren't) [^,]*",
        f"\\bany (?:more|longer)), (?:it is|it's|they|but) {_VALUE}.*)",
    ),
    _form(
        Lesson.PERSON,
        "(?P<kept>(?-i:[A-Z])[\\w.]+(?: (?-i:[A-Z])\\w+)? ",
        f"{_NEW_ROLE} ?\\S.*)",
    ),
    _update(
        "(?P<kept>(?:(?:i|my) [^,.]{3,60}(?:, | but ))?(?:i|she|he) (?:only |mostly )?",
        "(?:drives?|lives?|works?|types?|goes|go|starts?|drinks?|eats?|prefers?|studies|study",
        "|writes?|takes?) (?!(?:the|an?) (?:other|new|old|same)\\b)",
        f"\\S[^,]{{1,60}} {_PRESENT}(?:{_CONTRAST}.*|[.!]*)",
        "|my new [\\w ]{3,25} is (?!not\\b|\\w+[.!]*$)\\S.*",
        "|i(?:'ve| have)? got a new (?:phone number|number|address|job|e-?mail address)\\b.{3,}",
        "|i(?:'ve| have) (?:become|turned) (?:an? )?[\\w-]+\\b.*)",
        word=about_user,
    ),
)

# ---- statements: how things are with us, by name -------------------------------------------------

STATEMENTS: Sequence[Form] = (
    _form(
        Lesson.FACT,
        f"(?P<kept>(?:our|my) (?!(?:\\w+ )?{_TASK_THING})[\\w -]{{3,30}}? ",
        "(?:is|are|runs?|starts?|begins?|ends?|lives?) ",
        "(?:called |named |written in |hosted (?:on|in) |based in |in |on )(?=(?-i:[A-Z]))\\S.*)",
        word=about_user,
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>we (?:follow|use) [\\w ]+ (?:in (?:this|our|every) (?:project|repo|repository"
        "|codebase|team)|for (?:all|every) (?:of )?(?:our )?\\S.*)"
        "|we (?:must|may) (?:not|never) \\S.*)",
    ),
    _form(
        Lesson.PREFERENCE,
        "(?P<kept>(?:for [\\w -]{3,30} reasons,? )we (?:must|may|can) ?(?:not|never) \\S.*)",
    ),
    _form(
        Lesson.PREFERENCE,
        "(?:our|my|the team) (?:rule|convention|policy)(?: is(?: that)?|:) ",
        "(?P<kept>(?!to\\b)\\S.*)",
    ),
    _form(Lesson.FACT, f"as a rule, (?P<kept>{_SUBJECT} (?:is|are|gets?|goes) \\S.*)"),
    _form(
        Lesson.PERSON,
        "(?P<kept>(?-i:[A-Z])\\w+(?: (?-i:[A-Z])\\w+)? (?:is|are) responsible for \\S.*",
        "|(?:for [\\w -]{3,30},? )our contact is (?-i:[A-Z])\\S.*)",
    ),
    _form(
        Lesson.PREFERENCE,
        f"(?P<kept>i (?:always want|don't like|never want) {BARE}(?!that\\b|how\\b|when\\b)",
        "(?:[\\w-]+ ){1,4}(?:in|on|when|for|with) \\S.*|i always want an? \\S.*)",
        word=about_user,
    ),
    _form(
        Lesson.PERSON,
        "(?P<kept>(?:i'm|i am) allergic to \\S.*)",
        importance=0.8,
        word=about_user,
    ),
)

#: In this order: the first that a sentence has decides.
EVERY: Sequence[Form] = (*FORMS, *UPDATES, *STATEMENTS)
