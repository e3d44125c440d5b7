"""Finds the lessons of a turn by rules: no model, no token, English. Pure.

A sentence is kept only when its form says that it is meant to last: "always", "from now on", "I
prefer", "we decided", "we moved CI to ...". What might be about this task alone is proposed, not
stored. The forms are in `bearinmind.learn.forms`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bearinmind.learn.forms import BARE, EVERY, Form
from bearinmind.learn.model import Candidate, Lesson, Message, Refusal, Refused, Role, TurnFindings
from bearinmind.learn.sentences import infinitive, refusal_of, sentences
from bearinmind.types import Trust

_LONGEST_AGREEMENT = 60  # characters
_LONGEST_LOOKED_AT = 1_000  # characters of a sentence: what is longer is none
# Words of a change that otherwise speak of the task at hand.
_OF_A_CHANGE = re.compile(
    "\\bany (?:more|longer)\\b|^as of (?:today|yesterday)\\b|\\bthese days\\b|\\bfrom here on\\b",
    re.IGNORECASE,
)
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


def read(messages: Iterable[Message]) -> TurnFindings:
    """The lessons of a turn, in the order of its messages."""
    candidates: dict[str, Candidate] = {}
    refused: list[Refused] = []
    before: Message | None = None
    for message in messages:
        if message.role not in (Role.USER, Role.ASSISTANT):
            continue
        lessons = _of_user(message.text, before) if message.role is Role.USER else ()
        for each in lessons:
            if isinstance(each, Refused):
                refused.append(each)
            else:
                candidates.setdefault(each.text.casefold(), each)
        before = message
    return TurnFindings(candidates=tuple(candidates.values()), refused=tuple(refused))


def _of_user(text: str, before: Message | None) -> Iterator[Candidate | Refused]:
    if before is not None and before.role is Role.ASSISTANT and agrees(text):
        yield from _agreed(before.text)
        return
    for sentence, own in sentences(text):
        if len(sentence) > _LONGEST_LOOKED_AT:
            continue
        matches = ((form, match) for form in EVERY if (match := form.pattern.match(sentence)))
        form, match = next(matches, (None, None))
        if form is None or match is None:
            continue
        kept = match["kept"].strip()
        reason = _refusal(form, sentence, kept) if own else Refusal.PASTED
        if reason is not None:
            yield Refused(said=sentence, reason=reason)
            continue
        yield Candidate(
            text=form.word(kept),
            lesson=form.lesson,
            sentence=sentence,
            sure=form.sure,
            importance=form.importance,
        )


def _refusal(form: Form, sentence: str, kept: str) -> Refusal | None:
    if form.lesson is Lesson.UPDATE:
        return refusal_of(_OF_A_CHANGE.sub("", sentence), _OF_A_CHANGE.sub("", kept))
    return refusal_of(sentence, kept)


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
