"""What is believed of a model's answer: only what the turn itself says. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bearinmind.analysis import FUNCTION_WORDS, ask
from bearinmind.chat.reading import json_objects
from bearinmind.learn.refusing import LONGEST, refusal_of
from bearinmind.learn.turns import Candidate, Lesson, Message, Reading, Refusal, Refused, Role

_SUPPORT = 0.75  # share of the words of a lesson that the sentence it is made of must have
_SURE = 0.9  # from here on it may be stored
# What a retelling in the third person adds by itself.
_RETOLD = frozenset(
    ("user", "prefers", "prefer", "wants", "want", "likes", "decided", "team", "uses", "use")
)
_EXACT = re.compile(r"\S*[\d_/@\\]\S*|\S+\.\w\S*")  # what must be as it was said, to the letter


def believed(answer: str, turn: Sequence[Message]) -> Reading:
    """The lessons of an answer that the user's own words bear out, and why the others are not."""
    said = [_plain(each.text) for each in turn if each.role is Role.USER]
    candidates: dict[str, Candidate] = {}
    refused: list[Refused] = []
    for lesson in _lessons(answer):
        found = _judged(lesson, said)
        if isinstance(found, Candidate):
            candidates.setdefault(found.text.casefold(), found)
        else:
            refused.append(found)
    return Reading(candidates=tuple(candidates.values()), refused=tuple(refused))


def _lessons(answer: str) -> Iterator[dict[str, Any]]:
    for found in json_objects(answer):
        inside = found.get("lessons")
        for each in inside if isinstance(inside, list) else [found]:
            if isinstance(each, dict) and {"said", "text", "kind"} <= each.keys():
                yield each


def _judged(lesson: dict[str, Any], said: Sequence[str]) -> Candidate | Refused:
    sentence, text = " ".join(str(lesson["said"]).split()), " ".join(str(lesson["text"]).split())
    reason = _reason(sentence, text, said)
    if reason is None and lesson["kind"] not in [*Lesson]:
        reason = Refusal.UNSUPPORTED
    if reason is not None:
        return Refused(said=(text or sentence)[:LONGEST], reason=reason)
    certain = lesson.get("certain") is True and support(text, sentence) >= _SURE
    return Candidate(text=text, lesson=Lesson(lesson["kind"]), said=sentence, sure=certain)


def _reason(sentence: str, text: str, said: Sequence[str]) -> Refusal | None:
    if not sentence or not text or not any(_plain(sentence) in each for each in said):
        return Refusal.UNSUPPORTED
    if len(text) > LONGEST:
        return Refusal.LONG
    if support(text, sentence) < _SUPPORT:
        return Refusal.UNSUPPORTED
    return refusal_of(sentence, text)


def support(text: str, sentence: str) -> float:
    """The share of a text's words that a sentence has; nothing when a name or number is new."""
    spelled = sentence.casefold()
    for exact in _EXACT.findall(text):
        if exact.strip(".,;:!?\"'()").casefold() not in spelled:
            return 0.0
    mine, theirs = _words(text), _words(sentence)
    if not mine:
        return 0.0
    return len(mine & theirs) / len(mine)


def _words(text: str) -> set[str]:
    """The words of a text that say something, in the form in which they are compared."""
    telling = [
        word
        for word in re.findall(r"[\w']+", text.casefold())
        if word not in FUNCTION_WORDS and word not in _RETOLD
    ]
    return {*ask(" ".join(telling)).atoms} if telling else set()


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("\u2019", "'").split())
