"""Finds the lessons of a turn by rules: no chat model, no token, English. Pure.

A sentence may be stored only when its form says that it is meant to last: "always", "from now on",
"I prefer", "we decided". The forms are in `bearinmind.learn.forms`. What has no such form and yet
probably lasts ("we moved CI to GitHub Actions") is proposed, as is what might be about this task
alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bearinmind.learn.forms import BARE, FORMS, LEAD
from bearinmind.learn.lasting import Embed, lesson_of
from bearinmind.learn.model import Candidate, Lesson, Message, Refusal, Refused, Role, TurnFindings
from bearinmind.learn.sentences import (
    about_user,
    infinitive,
    refusal_of,
    refusal_of_scored,
    sentences,
)
from bearinmind.types import Trust

_LONGEST_AGREEMENT = 60  # characters
_LONGEST_LOOKED_AT = 1_000  # characters of a sentence: what is longer is none
#: What an assistant proposes; it counts when the next thing that the user says is yes.
PROPOSED = re.compile(
    "\\b(?:I(?:'d| would)? (?:suggest|recommend|propose)(?: that)?(?: we)?|we should"
    "|my recommendation is(?: to)?) (?P<kept>(?:use|using|go with|going with|adopt|adopting"
    "|standardi[sz](?:e|ing) on|switch(?:ing)? to|store|storing) "
    f"{BARE}(?!existing\\b)\\S.*?)[.?!]*$",
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
    kept = LEAD.sub("", sentence)
    found = Candidate(text=about_user(kept), lesson=lesson, sentence=sentence, sure=False)
    return found, refusal_of_scored(sentence, kept)


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
