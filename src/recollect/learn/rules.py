"""What a turn teaches, read by rules: no model, no token, English. Pure.

A sentence is kept only when its form says that it is meant to last: "always", "from now on", "I
prefer", "we decided", "remember that". Missing something costs little, for it will be said again;
keeping something wrong costs trust. So every rule is narrow, and what might be about this task alone
is proposed, not stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from recollect.learn import wording
from recollect.learn.refusing import refusal_of
from recollect.learn.sentences import sentences
from recollect.learn.turns import Candidate, Lesson, Message, Reading, Refusal, Refused, Role
from recollect.types import Trust

_LEAD = r"^(?:(?:no+|nope|ok(?:ay)?|yes|yeah|yep|right|and|but|so|also|oh|ah|hm+|hey|btw|by the way|well|thanks|great|good|cool|nice|perfect|sorry|please|pls|actually|wrong|again|fyi|one (?:more )?thing|small thing|note)[,:!.\s-]+)*"
_VERBS = (
    "use|run|deploy|commit|push|merge|write|put|keep|call|name|store|log|pin|squash|rebase|tag|release|test|mock"
    "|import|return|raise|throw|prefix|format|ship|target|support|avoid|add|ask|check|create|document|escape"
    "|include|install|leave|lint|make|open|pass|place|prefer|quote|read|regenerate|reply|answer|respond|review|round"
    "|save|send|set|sign|skip|sort|start|stick|stop|throw|treat|type|update|validate|verify|wrap|explain|show|build"
    "|indent|end|begin|bump|declare|define|delete|drop|edit|force|generate|give|hardcode|hard-code|ignore|link|list"
    "|mention|modify|move|mutate|rename|remove|replace|rely|rewrite|silence|split|swallow|touch|translate|use|wait|work|stage|amend|cite"
)


class Rule(NamedTuple):
    """A form of sentence that is meant to last."""

    lesson: Lesson
    pattern: re.Pattern[str]
    sure: bool
    importance: float = 0.6
    #: What is kept, made of the group `kept`.
    word: Callable[[str], str] = wording.statement


def _rule(
    lesson: Lesson,
    pattern: str,
    *,
    sure: bool,
    importance: float = 0.6,
    word: Callable[[str], str] = wording.statement,
) -> Rule:
    return Rule(lesson, re.compile(pattern, re.IGNORECASE), sure, importance, word)


_LASTING = (
    r"(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|for (?:all )?future (?:reference|work|changes|prs?|tasks)"
    r"|as a (?:general )?rule(?: of thumb)?|in general|by default|by convention|next time|every time|each time|whenever you [^,]{3,80}|when you [^,]{3,80})"
)

#: In this order: the first rule that a sentence fits decides.
RULES: Sequence[Rule] = (
    # What the user asks to have remembered.
    _rule(
        Lesson.PERSON,
        _LEAD + r"(?:remember (?:that )?)?(?P<kept>(?:my name is|call me|i go by) \S.*)$",
        sure=True,
        importance=0.8,
        word=wording.about_user,
    ),
    _rule(
        Lesson.FACT,
        _LEAD + r"(?:(?:can you |could you )?(?:please )?remember(?: (?:this|that|for later|for the future))?\s*[:,-]\s*|remember that |don't forget that |do not forget that |make a note that |note for (?:later|the future)\s*[:,-]\s*|for (?:future )?reference\s*[:,-]\s*|keep in mind that |bear in mind that )(?P<kept>(?!to\b)\S.*)$",
        sure=True,
        importance=0.7,
    ),
    # What is to hold from now on.
    _rule(
        Lesson.PREFERENCE,
        _LEAD + _LASTING + r"[,:]?\s+(?P<kept>(?:please |you (?:should|must|can) |i want you to |i'd like you to |let's |we )?(?:always |never |don't |do not |only |first )?(?:" + _VERBS + r")\b.*)$",
        sure=True,
        importance=0.7,
    ),
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?P<kept>(?:if|when|whenever) [^,]{3,120}, (?:please )?(?:always|never) (?!mind\b)\S.*)$",
        sure=True,
        importance=0.7,
    ),
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?:you (?:should|must) |i want you to |i'd like you to |i need you to |make sure (?:to |you |that you )|be sure to |let's |remember to )?(?:please )?(?P<kept>(?:always|never|don't ever|do not ever) (?:" + _VERBS + r")\b.*)$",
        sure=True,
        importance=0.7,
    ),
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?P<kept>(?:please |let's )?(?:always |never |don't |do not |only )?(?:" + _VERBS + r")\b.*\b(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|(?:ever|never) again|every time|each time|as a rule)[.!]*)$",
        sure=True,
        importance=0.7,
    ),
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?P<kept>we (?:always|never|only) (?:" + _VERBS + r")\b.*)$",
        sure=True,
    ),
    # What the user prefers.
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?P<kept>i (?:(?:really|strongly|generally|usually|much|always|personally|still|do) )?(?:prefer|favou?r|hate|dislike|can't stand) (?!the (?:first|second|third|other|latter|former|new|old)\b)\S.*)$",
        sure=True,
        word=wording.about_user,
    ),
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?P<kept>(?:my (?:strong )?(?:preference|preferred \w+|favou?rite [\w ]{2,30}|editor|shell|timezone|time zone|locale|keyboard|default \w+|os|operating system) is|i (?:always|usually|never|generally) (?:use|write|work|code|run|name|commit)|i don't (?:like|want) (?:you to|to see|any)|i (?:like|want) (?:my|all|every)) \S.*)$",
        sure=True,
        word=wording.about_user,
    ),
    # What was decided.
    _rule(
        Lesson.DECISION,
        _LEAD + r"(?P<kept>(?:(?:after [^,]{3,60}|in the (?:meeting|retro|standup|planning)[^,]{0,30}), )?(?:we|the team|i|they|management)(?:'ve| have|'re| are| has)? (?:all |both |finally |now |just )?(?:decided|agreed|settled|chose|chosen|picked|standardi[sz]ed|standardi[sz]ing|opted|ruled out)\b (?:to|on|that|against|in favou?r of|for|not|\S).*)$",
        sure=True,
        importance=0.8,
    ),
    _rule(
        Lesson.DECISION,
        _LEAD + r"(?P<kept>(?:the |our |final )*decision(?: is|:| was)(?: to| that)? \S.*)$",
        sure=True,
        importance=0.8,
    ),
    _rule(
        Lesson.DECISION,
        _LEAD + r"(?P<kept>(?:we're|we are|we'll be) (?:going with|moving (?:\w+ ){0,3}(?:to|from)|switching (?:\w+ ){0,3}(?:to|from)|migrating (?:\w+ ){0,4}(?:to|from)|dropping|sticking with|keeping|replacing|retiring|deprecating) \S.*)$",
        sure=False,
        importance=0.7,
    ),
    _rule(
        Lesson.DECISION,
        _LEAD + r"(?P<kept>(?:let's|we'll|we will) (?:go with|stick with|standardi[sz]e on|settle on|use) \S.*)$",
        sure=False,
        importance=0.7,
    ),
    # What was put right.
    _rule(
        Lesson.CORRECTION,
        _LEAD + r"(?P<kept>(?:use|using|prefer|call|name|write|put|import|run) (?!it\b)\S[^,]*?(?: instead of | rather than |, not |, never | over )\S.*)$",
        sure=False,
    ),
    _rule(
        Lesson.CORRECTION,
        r"^(?:no+|nope|actually|wrong|that's (?:wrong|not right)|not quite)[,.!\s-]+(?:actually,? )?(?P<kept>(?:the|our|my) [\w .'/-]{2,60} (?:is|are|lives? in|runs? on|uses?|listens? on|belongs? (?:in|to)) \S.*(?:, not | not |instead of )\S.*)$",
        sure=False,
    ),
    _rule(
        Lesson.CORRECTION,
        _LEAD + r"(?P<kept>(?:we|the (?:project|repo|team|codebase)|this (?:project|repo|repository|codebase|team)) (?:don't|doesn't|do not|does not|no longer) (?:use|allow|have|support|mock|want|do|need|commit|import) (?!to\b)\S.*)$",
        sure=False,
    ),
    _rule(
        Lesson.CORRECTION,
        _LEAD + r"(?P<kept>(?:(?:we|this (?:project|repo|repository|codebase|team)|our (?:team|project|repo|codebase)) (?:uses?|runs? on|targets?|requires?|supports? only) \S.*(?:, not | not |instead of |rather than )\S.*))$",
        sure=False,
    ),
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?:please )?(?P<kept>(?:stop|quit) (?:\w+ing) \S.*)$",
        sure=False,
        word=wording.stop,
    ),
    _rule(
        Lesson.PREFERENCE,
        _LEAD + r"(?P<kept>(?:please )?(?:don't|do not|no need to) (?:ever )?(?:use|add|write|mock|put|create|hardcode|hard-code|commit|push|import|silence|swallow|mention|apologi[sz]e|summari[sz]e|explain) (?!(?:the|this|that|it|anything|a|an|to|yet|any\s+of)\b)\S.*)$",
        sure=False,
    ),
    # Who is who.
    _rule(
        Lesson.PERSON,
        _LEAD + r"(?P<kept>(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)? (?:is|'s) (?:our|my|the) (?:new )?(?:\w+ ){0,2}(?:lead|manager|boss|designer|engineer|developer|owner|cto|ceo|pm|product manager|admin|dba|reviewer|maintainer|architect|colleague|teammate|intern|sre|contact)\b.*)$",
        sure=False,
    ),
    _rule(
        Lesson.PERSON,
        _LEAD + r"(?P<kept>(?:my (?:manager|boss|lead|colleague|teammate|cofounder|co-founder|wife|husband|partner|team) is|i (?:work|live) (?:at|for|in|on the)|i'm (?:based|located) in|i am (?:based|located) in|i'm (?:a|an|the) (?:\w+ ){0,3}(?:engineer|developer|designer|scientist|student|manager|lead|researcher|analyst|admin|founder|architect|dba|sre)\b|i am (?:a|an|the) (?:\w+ ){0,3}(?:engineer|developer|designer|scientist|student|manager|lead|researcher|analyst|admin|founder|architect|dba|sre)\b)\s?.*)$",
        sure=False,
        word=wording.about_user,
    ),
)

# What an assistant proposes; it counts when the next thing that the user says is yes.
_PROPOSES = re.compile(
    r"(?:^|\b)(?:I(?:'d| would)? (?:suggest|recommend|propose)(?: that)?(?: we)?|let's|we should|we'll|my recommendation is(?: to)?|I'll|shall we|should we)"
    r" (?P<kept>(?:use|using|go with|going with|adopt|adopting|standardi[sz]e on|switch(?:ing)? to|store|storing) \S.*?)[.?!]*$",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"^(?:yes|yep|yeah|yup|sure|ok|okay|agreed|sounds (?:good|great|right)|perfect|great|exactly|lgtm|go (?:ahead|for it)"
    r"|do (?:it|that)|let's do (?:it|that)|that works|works for me|good (?:idea|plan|call)|fine by me|i agree|approved|👍)"
    r"(?:[,.!\s]+(?:yes|please|go ahead|do it|do that|let's do (?:it|that)|sounds good|that works|thanks|thank you|great|agreed|perfect|go for it))*[\s.!👍]*$",
    re.IGNORECASE,
)


def read(messages: Iterable[Message]) -> Reading:
    """What the messages of a turn teach, in the order in which it was said."""
    candidates: dict[str, Candidate] = {}
    refused: list[Refused] = []
    before: Message | None = None
    for message in messages:
        found: Iterator[Candidate | Refused] = iter(())
        if message.role is Role.USER:
            found = _of_user(message.text, before)
        for each in found:
            if isinstance(each, Refused):
                refused.append(each)
            else:
                candidates.setdefault(each.text.casefold(), each)
        if message.role in (Role.USER, Role.ASSISTANT):
            before = message
    return Reading(candidates=tuple(candidates.values()), refused=tuple(refused))


def _of_user(text: str, before: Message | None) -> Iterator[Candidate | Refused]:
    if before is not None and before.role is Role.ASSISTANT and _AGREES.match(text.strip()):
        yield from _agreed(before.text)
        return
    for sentence, own in sentences(text):
        rule, found = _first(sentence)
        if rule is None or found is None:
            continue
        if not own:
            yield Refused(said=sentence, reason=Refusal.PASTED)
            continue
        kept = found["kept"].strip()
        reason = refusal_of(sentence, kept)
        if reason is not None:
            yield Refused(said=sentence, reason=reason)
            continue
        yield Candidate(
            text=rule.word(kept),
            lesson=rule.lesson,
            said=sentence,
            sure=rule.sure,
            importance=rule.importance,
        )


def _first(sentence: str) -> tuple[Rule | None, re.Match[str] | None]:
    """The first rule that a sentence fits."""
    for rule in RULES:
        found = rule.pattern.match(sentence)
        if found:
            return rule, found
    return None, None


def _agreed(text: str) -> Iterator[Candidate | Refused]:
    """What an assistant proposed and the user agreed to, when it is clear what that was."""
    own = [sentence.text for sentence in sentences(text) if sentence.own]
    proposed = [(each, found) for each in own if (found := _PROPOSES.search(each))]
    if len(proposed) != 1:
        return
    [(sentence, found)] = proposed
    kept = wording.infinitive(found["kept"])
    # It was a question, to which the answer is yes.
    reason = refusal_of(sentence.rstrip("?").removeprefix("Should we ").removeprefix("Shall we "), kept)
    if reason is not None:
        yield Refused(said=sentence, reason=reason)
    else:
        yield Candidate(
            text=f"Decided: {kept}.",
            lesson=Lesson.DECISION,
            said=sentence,
            sure=False,
            trust=Trust.AGENT,
            importance=0.6,
        )
