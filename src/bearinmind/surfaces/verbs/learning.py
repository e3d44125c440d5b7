"""What a session begins with and what its turns teach, as asked for and answered over a server."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bearinmind.app import Mind
from bearinmind.learn.turns import Learned, Lesson, Message, Mode, Refusal, Role, Taken
from bearinmind.surfaces.verbs import running
from bearinmind.surfaces.verbs.answers import Answer, MemoryAnswer
from bearinmind.surfaces.verbs.requests import Count, Origin, Request, Text

# ---- what is asked -----------------------------------------------------------------------------


class MessageRequest(Request):
    """Something that was said; only what users and assistants say is learned from."""

    role: Role
    text: Text


class LearnRequest(Request):
    """What was said in a turn, oldest first, and where."""

    messages: Annotated[list[MessageRequest], Field(max_length=500)]
    agent: Origin | None = None
    session: Origin | None = None
    project: Origin | None = None
    dry_run: bool = Field(False, description="Keep nothing: only say what would be learned.")


class BriefRequest(Request):
    """For what a session begins."""

    project: Origin | None = None
    session: Origin | None = None
    query: Text | None = None
    limit: Count = 10
    budget_bytes: Annotated[int, Field(ge=1, le=1_000_000)] = 4_000


# ---- what is answered --------------------------------------------------------------------------


class TakenAnswer(Answer):
    """Something that a turn taught."""

    text: str
    lesson: Lesson
    category: str
    id: str | None = Field(
        description="Of the memory, or of the proposal; null when nothing was kept."
    )
    reason: str = Field(description="Why it was not simply stored.")


class RefusedAnswer(Answer):
    """A sentence that is not kept."""

    said: str
    reason: Refusal


class LearnAnswer(Answer):
    """What a turn taught, and what became of it."""

    mode: Mode
    read_by: str
    dry_run: bool
    stored: list[TakenAnswer]
    proposed: list[TakenAnswer]
    known: list[TakenAnswer]
    refused: list[RefusedAnswer]
    notes: list[str]


class BriefAnswer(Answer):
    """What a session should begin with, the weightiest first."""

    memories: list[MemoryAnswer]


# ---- from the one to the other -----------------------------------------------------------------


def learn(app: Mind, asked: LearnRequest) -> LearnAnswer:
    """Learn from a turn."""
    messages = [Message(role=each.role, text=each.text) for each in asked.messages]
    return learned(app.learn(messages, **asked.given("messages")))


def brief(app: Mind, asked: BriefRequest) -> BriefAnswer:
    """What a session begins with."""
    found = app.brief(**asked.given())
    return BriefAnswer(memories=[running.memory(app, each) for each in found])


def learned(value: Learned) -> LearnAnswer:
    """What a turn taught, as it is answered."""
    return LearnAnswer(
        mode=value.mode,
        read_by=value.read_by,
        dry_run=value.dry_run,
        stored=[*map(_taken, value.stored)],
        proposed=[*map(_taken, value.proposed)],
        known=[*map(_taken, value.known)],
        refused=[RefusedAnswer(said=each.said, reason=each.reason) for each in value.refused],
        notes=[*value.notes],
    )


def _taken(value: Taken) -> TakenAnswer:
    return TakenAnswer(
        text=value.text,
        lesson=value.lesson,
        category=value.category,
        id=value.id,
        reason=value.reason,
    )
