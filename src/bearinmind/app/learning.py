"""The verbs around a session of an agent: what it begins with, and what its turns teach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from bearinmind.config import Settings
from bearinmind.protocols import Page, Store
from bearinmind.recall import brief
from bearinmind.recall.parse import LARGEST_LIMIT, check_number
from bearinmind.recall.pipeline import Recall
from bearinmind.remember.admit import check_origin
from bearinmind.remember.pipeline import Remember
from bearinmind.remember.secrets import masked
from bearinmind.types import Filter, Memory, Query, Scope
from bearinmind.work.background import Background

if TYPE_CHECKING:  # seldom asked for, and `bearinmind recall` should begin at once
    from bearinmind.learn.configured import ConfiguredReader
    from bearinmind.learn.turns import Learned, Message, Mode

_LOOKED_AT = 300  # the newest memories, among which a brief is chosen
_FOUND = 3  # memories of a brief that answer what is asked
MOST_BRIEF_BYTES = 1_000_000


class LearningStatus(NamedTuple):
    """How learning is set up, and what it has cost today."""

    mode: Mode
    model: str | None  #: that reads turns, if one does
    leaves_machine: bool  #: whether turns are sent to another machine
    spent: int  #: tokens today
    limit: int


class LearningVerbs:
    """What a Bear in Mind does for the sessions of agents."""

    scope: Scope
    settings: Settings
    _store: Store
    _clock: Callable[[], datetime]
    _remember: Remember
    _recall: Recall
    _background: Background
    _turn_reader: ConfiguredReader

    def learn(
        self,
        messages: Iterable[Message],
        *,
        agent: str | None = None,
        session: str | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> Learned:
        """Learn from what was said in a turn, as the setting `learn` has it.

        A turn that is given again teaches nothing again. With `dry_run` nothing is kept.
        """
        from bearinmind.app.learner import Learner, Origin  # noqa: PLC0415  see above

        learner = Learner(
            store=self._store,
            scope=self.scope,
            settings=self.settings,
            clock=self._clock,
            remember=self._remember,
            nearest=self._nearest,
            reader=self._turn_reader,
            origin=Origin(
                agent=check_origin(agent, "agent"),
                session=check_origin(session, "session"),
                project=check_origin(project, "project"),
            ),
            dry_run=dry_run,
        )
        learned = learner([*messages])
        if learned.stored and not dry_run:
            self._background.nudge()
        return learned

    def learning_status(self) -> LearningStatus:
        """How learning is set up, and what it has cost today.

        Raises:
            InvalidSetting: a model is to read turns, and a setting is missing.
            WorkFailure: its tokens cannot be counted.
        """
        from bearinmind.learn.turns import Mode  # noqa: PLC0415  see above

        reader = self._turn_reader.configured()
        return LearningStatus(
            mode=Mode(self.settings.learn),
            model=reader.name if reader else None,
            leaves_machine=reader.leaves_machine if reader else False,
            spent=reader.tokens.spent() if reader else 0,
            limit=self.settings.learn_daily_tokens,
        )

    def brief(
        self,
        *,
        project: str | None = None,
        session: str | None = None,
        query: str | None = None,
        limit: int = 10,
        budget_bytes: int = 4_000,
    ) -> Sequence[Memory]:
        """What a session should begin with: what is important and new, for a project or at all.

        What was remembered in `session` comes first, then what answers `query`. Nothing of other
        projects is in it, nothing sensitive, and no more bytes than `budget_bytes`.
        """
        project, session = check_origin(project, "project"), check_origin(session, "session")
        limit = check_number("limit", limit, LARGEST_LIMIT)
        budget = check_number("budget_bytes", budget_bytes, MOST_BRIEF_BYTES)
        now = self._clock()
        page = Page(limit=_LOOKED_AT)
        mine = Filter(scope=self.scope, now=now)
        looked_at = self._store.browse(mine, page)
        if project is not None:
            looked_at = [*self._store.browse(replace(mine, project=project), page), *looked_at]
        first: list[Memory] = []
        if session is not None:
            first += self._store.browse(replace(mine, session=session), Page(limit=limit))
        if query:
            found = self._nearest(query, _FOUND)
            first += [each for each in found if each.provenance.project in (project, None)]
        return brief.chosen(
            looked_at, first=first, project=project, now=now, limit=limit, budget_bytes=budget
        )

    def _nearest(self, text: str, limit: int) -> Sequence[Memory]:
        """The own memories that are nearest to a text; nobody is told that it was asked."""
        mine = Filter(scope=self.scope, now=self._clock())
        recall = replace(self._recall, rerank=None)  # which may ask a model that wants to be paid
        return [
            hit.memory for hit in recall(Query(text=masked(text), filter=mine, limit=limit)).hits
        ]
