"""The nouns of learning: what was said in a turn, what is worth keeping of it, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bearinmind.types import MemoryId, Trust

LONGEST = 320  #: characters of a sentence: a rule that needs more is written down elsewhere


class Mode(StrEnum):
    """How turns are read, and what becomes of their lessons."""

    OFF = "off"  #: nothing is read
    INBOX = "inbox"  #: everything is proposed, and somebody decides
    RULES = "rules"  #: what is sure is stored, the rest is proposed; rules alone read
    MODEL = "model"  #: as with rules, and a chat model reads as well


class Role(StrEnum):
    """The author of a message. Nothing is learned from tools or from the system."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a turn."""

    role: Role
    text: str


class Lesson(StrEnum):
    """The kind of a lesson."""

    CORRECTION = "correction"
    PREFERENCE = "preference"
    DECISION = "decision"
    FACT = "fact"
    PERSON = "person"
    UPDATE = "update"  #: what holds now in place of something earlier


#: The category of a memory by what kind of thing it says.
CATEGORIES = {
    Lesson.CORRECTION: "preferences",
    Lesson.PREFERENCE: "preferences",
    Lesson.DECISION: "decisions",
    Lesson.FACT: "facts",
    Lesson.PERSON: "people",
    Lesson.UPDATE: "facts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something worth keeping, in words that stand by themselves."""

    text: str
    lesson: Lesson
    sentence: str  #: that it was made of
    sure: bool  #: whether it may be stored without anybody looking at it
    trust: Trust = Trust.USER
    importance: float = 0.6


class Refusal(StrEnum):
    """Why a sentence that looks worth keeping is not kept."""

    QUESTION = "question"  #: it asks
    SUPPOSED = "supposed"  #: it says what might be, not what is
    PASTED = "pasted"  #: the user's message holds it, but as a quotation or a paste
    REPORTED = "reported"  #: somebody else says it
    ONE_OFF = "one-off"  #: it is about this task alone
    VAGUE = "vague"  #: nobody would know later what it speaks of
    LONG = "too long"
    SECRET = "secret"  # noqa: S105  the name of a reason
    UNSUPPORTED = "unsupported"  #: a model says it, and the turn does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A sentence that is not kept."""

    said: str  #: with the kind of a secret in its place
    reason: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFindings:
    """The candidates and refused sentences of a turn, in their order."""

    candidates: tuple[Candidate, ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedItem:
    """What became of one lesson of a turn."""

    text: str
    lesson: Lesson
    category: str
    #: Of the memory, or of the proposal; None when nothing was done because it was only tried.
    id: MemoryId | str | None = None
    reason: str = ""  #: why it was not simply stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The lessons of a turn, and what became of each."""

    mode: Mode
    read_by: str  #: rules, or rules and a model
    dry_run: bool = False  #: nothing was kept: this is what would be
    stored: Sequence[LearnedItem] = ()
    proposed: Sequence[LearnedItem] = ()
    known: Sequence[LearnedItem] = ()
    refused: Sequence[Refused] = ()
    notes: Sequence[str] = ()  #: what went otherwise than the settings ask for
