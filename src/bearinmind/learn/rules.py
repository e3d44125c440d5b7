"""What a turn teaches, read by rules: no model, no token, English. Pure.

A sentence is kept only when its form says that it is meant to last: "always", "from now on", "I
prefer", "we decided", "remember that". Missing something costs little, for it will be said again;
keeping something wrong costs trust. So every form is narrow, and what might be about this task
alone is proposed, not stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bearinmind.learn import wording
from bearinmind.learn.forms import AGREED, FORMS, PROPOSED, Form
from bearinmind.learn.refusing import refusal_of
from bearinmind.learn.sentences import sentences
from bearinmind.learn.turns import Candidate, Lesson, Message, Reading, Refusal, Refused, Role
from bearinmind.types import Trust

_LONGEST_AGREEMENT = 60  # characters
_LONGEST_LOOKED_AT = 1_000  # characters of a sentence: what is longer is none


def read(messages: Iterable[Message]) -> Reading:
    """What the messages of a turn teach, in the order in which it was said."""
    candidates: dict[str, Candidate] = {}
    refused: list[Refused] = []
    before: Message | None = None
    for message in messages:
        if message.role not in (Role.USER, Role.ASSISTANT):
            continue
        found = _of_user(message.text, before) if message.role is Role.USER else ()
        for each in found:
            if isinstance(each, Refused):
                refused.append(each)
            else:
                candidates.setdefault(each.text.casefold(), each)
        before = message
    return Reading(candidates=tuple(candidates.values()), refused=tuple(refused))


def _of_user(text: str, before: Message | None) -> Iterator[Candidate | Refused]:
    if before is not None and before.role is Role.ASSISTANT and agrees(text):
        yield from _agreed(before.text)
        return
    for sentence, own in sentences(text):
        form, found = _first(sentence) if len(sentence) <= _LONGEST_LOOKED_AT else (None, None)
        if form is None or found is None:
            continue
        kept = found["kept"].strip()
        reason = refusal_of(sentence, kept) if own else Refusal.PASTED
        if reason is not None:
            yield Refused(said=sentence, reason=reason)
            continue
        yield Candidate(
            text=form.word(kept),
            lesson=form.lesson,
            said=sentence,
            sure=form.sure,
            importance=form.importance,
        )


def agrees(text: str) -> bool:
    """Whether a message says yes and nothing else."""
    said = text.strip()
    return len(said) <= _LONGEST_AGREEMENT and bool(AGREED.match(said))


def _first(sentence: str) -> tuple[Form | None, re.Match[str] | None]:
    """The first form that a sentence has."""
    for form in FORMS:
        found = form.pattern.match(sentence)
        if found:
            return form, found
    return None, None


def _agreed(text: str) -> Iterator[Candidate | Refused]:
    """What an assistant proposed and the user agreed to, when it is clear what that was."""
    own = [sentence.text for sentence in sentences(text) if sentence.own]
    proposed = [(each, found) for each in own if (found := PROPOSED.search(each))]
    if len(proposed) != 1:
        return
    [(sentence, found)] = proposed
    kept = wording.infinitive(found["kept"])
    reason = refusal_of(sentence, kept, own=False)
    if reason is not None:
        yield Refused(said=sentence, reason=reason)
    else:
        yield Candidate(
            text=f"Decided: {kept}.",
            lesson=Lesson.DECISION,
            said=sentence,
            sure=False,
            trust=Trust.AGENT,
        )
