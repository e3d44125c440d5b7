"""The verbs around a session of an agent, as steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bearinmind.learn.turns import Learned, Message, Refused, Taken
from bearinmind.surfaces.client import nouns
from bearinmind.surfaces.client.accounts import AccountVerbs
from bearinmind.surfaces.client.calling import Steps
from bearinmind.surfaces.verbs import learning
from bearinmind.types import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningVerbs(AccountVerbs):
    """What the session of an agent asks of a server."""

    def learn(
        self,
        messages: Iterable[Message],
        *,
        agent: str | None = None,
        session: str | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> Steps[Learned]:
        """Learn from what was said in a turn, as the server's setting `learn` has it."""
        said = {
            "messages": [{"role": each.role, "text": each.text} for each in messages],
            "agent": agent,
            "session": session,
            "project": project,
            "dry_run": dry_run,
        }
        got = yield from self.answer("learn", learning.LearnRequest, learning.LearnAnswer, said)
        return _learned(got)

    def brief(
        self,
        *,
        project: str | None = None,
        session: str | None = None,
        query: str | None = None,
        limit: int = 10,
        budget_bytes: int = 4_000,
    ) -> Steps[Sequence[Memory]]:
        """What a session should begin with: what is important and new, for a project or at all."""
        said = {
            "project": project,
            "session": session,
            "query": query,
            "limit": limit,
            "budget_bytes": budget_bytes,
        }
        got = yield from self.answer("brief", learning.BriefRequest, learning.BriefAnswer, said)
        return tuple(map(nouns.memory, got.memories))


def _learned(answer: learning.LearnAnswer) -> Learned:
    return Learned(
        mode=answer.mode,
        read_by=answer.read_by,
        dry_run=answer.dry_run,
        stored=tuple(map(_taken, answer.stored)),
        proposed=tuple(map(_taken, answer.proposed)),
        known=tuple(map(_taken, answer.known)),
        refused=tuple(Refused(said=each.said, reason=each.reason) for each in answer.refused),
        notes=tuple(answer.notes),
    )


def _taken(answer: learning.TakenAnswer) -> Taken:
    return Taken(
        text=answer.text,
        lesson=answer.lesson,
        category=answer.category,
        id=answer.id,
        reason=answer.reason,
    )
