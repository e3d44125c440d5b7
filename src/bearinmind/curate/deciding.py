"""What is to become of a new text beside the memories that are nearest to it. Pure.

Rules decide, or a model that is asked through `Judge`. Whatever a model says, the guard has the
last word: nothing is taken for known, and nothing is rewritten, that differs in a number, a date, a
negation, a name or the like.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from bearinmind.curate.contradictions import contradicts
from bearinmind.curate.differences import compare_read, read
from bearinmind.types import Memory


class What(StrEnum):
    """What is to be done with a new text."""

    ADD = "add"  #: it is new
    UPDATE = "update"  #: a memory says the same and less: give it this text
    SUPERSEDE = "supersede"  #: it contradicts a memory, and is the newer
    NOOP = "noop"  #: a memory says it already


class Decision(NamedTuple):
    """What is to be done, with which memory, and why."""

    kind: What
    memory: Memory | None
    reason: str


class Judge(Protocol):
    """Somebody else who decides, such as a chat model."""

    def __call__(self, text: str, category: str, neighbours: Sequence[Memory]) -> Decision:
        """What is to become of a text."""


def decide(
    text: str, category: str, neighbours: Sequence[Memory], judge: Judge | None = None
) -> Decision:
    """What is to become of a text of a category, beside its neighbours, the nearest first.

    Sensitive and deleted neighbours are not looked at. A judge is asked only where no rule is sure.
    """
    seen = [each for each in neighbours if not each.sensitive and each.deleted_at is None]
    sure = _by_rules(text, category, seen)
    if sure is not None:
        return sure
    if judge is None or not seen:
        return Decision(What.ADD, None, "nothing that is known says it")
    return guarded(judge(text, category, seen), text)


def guarded(decision: Decision, text: str) -> Decision:
    """A decision that somebody else took, as far as nothing is lost by it."""
    memory = decision.memory
    if decision.kind is What.ADD or memory is None:
        return Decision(What.ADD, None, decision.reason)
    mine, others = read(text), read(memory.content)
    telling = compare_read(mine, others).telling
    if decision.kind is not What.SUPERSEDE and telling:
        return Decision(What.ADD, None, f"it differs from {memory.id} in a {telling[0]}")
    return decision


def _by_rules(text: str, category: str, neighbours: Sequence[Memory]) -> Decision | None:
    mine = read(text)
    contradicted: Decision | None = None
    for memory in neighbours:
        others = read(memory.content)
        comparison = compare_read(mine, others)
        if comparison.is_same and mine:
            if comparison.more > 0 and memory.category == category:
                return Decision(What.UPDATE, memory, f"{memory.id} says the same, and less")
            if comparison.more <= 0:
                return Decision(What.NOOP, memory, f"{memory.id} says it already")
        difference = contradicts(mine, others, text)
        if difference and contradicted is None and memory.category == category:
            contradicted = Decision(
                What.SUPERSEDE, memory, f"it contradicts {memory.id} in a {difference}"
            )
    return contradicted
