"""The verbs of curation: what could be changed, what was decided, and back again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from bearinmind import ids, requests
from bearinmind.config import Settings
from bearinmind.errors import AmbiguousId, InvalidInput, ProposalNotFound
from bearinmind.proposals import Proposal, ProposalState
from bearinmind.protocols import Store
from bearinmind.recall.parse import check_number
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.requests import DraftFields
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Outcome, Scope, choose
from bearinmind.work.background import Background

if TYPE_CHECKING:  # seldom asked for, and `bearinmind recall` should begin at once
    from bearinmind.curate.applying import Deciding
    from bearinmind.curate.curating import Look
    from bearinmind.curate.deciding import Judge
    from bearinmind.curate.hygiene import Report

PROPOSALS = 100  #: that are listed unless more are wanted
MOST_PROPOSALS = 10_000  #: that are listed at once


@dataclass(frozen=True, slots=True)
class _Hands:
    """The ordinary verbs of one user."""

    remember: Remember
    scope: Scope
    settings: Settings

    def link(self, source: Memory, kind: LinkKind, target: Memory) -> Link:
        return self.remember.link(self.scope, source, kind, target)

    def unlink(self, source: MemoryId, kind: LinkKind, target: MemoryId) -> Link:
        return self.remember.unlink(self.scope, source, kind, target)

    def change(self, memory: Memory, fields: Mapping[str, Any], version: int) -> Memory:
        given = _typed(fields)
        spans = {"valid_from", "valid_to"} & given.keys()
        changes = Changes(**given, always_valid=any(given[name] is None for name in spans))
        return self.remember.update(self.scope, memory, changes, version)

    def add(self, fields: Mapping[str, Any], supersedes: Sequence[Memory]) -> Outcome:
        given = _typed(fields)
        content = str(given.pop("content", ""))
        draft = requests.draft(content, cast("DraftFields", given), self.settings)
        return self.remember.add(self.scope, draft, supersedes)

    def delete(self, memory: Memory) -> Memory:
        return self.remember.delete(self.scope, memory)


def _typed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What was written down, as the verbs take it."""
    typed: dict[str, Any] = {}
    for name, value in fields.items():
        if name in ("valid_from", "valid_to", "created_at") and isinstance(value, str):
            typed[name] = datetime.fromisoformat(value)
        else:
            typed[name] = tuple(value) if isinstance(value, list) else value
    return typed


class CurationVerbs:
    """What a Bear in Mind proposes to change about its memories, and what was decided.

    Nothing is changed by looking. What is applied goes by the ordinary verbs: it stays in the
    history, and can be undone. A proposal is given by its id, or any unambiguous beginning.
    """

    scope: Scope
    settings: Settings
    _store: Store
    _clock: Callable[[], datetime]
    _remember: Remember
    _background: Background

    def curate(
        self, *, propose: bool = False, since: datetime | None = None, ask: bool = False
    ) -> Look:
        """Look at all memories of this user for what could be changed; nothing is changed.

        With `propose`, what is new goes into the inbox, and only that is in the answer. With
        `since`, only what was written since then is looked at, and what it is near to. With `ask`,
        the model of the `llm_` settings is asked about pairs that may say the same, which costs
        tokens; what it takes for two is left out.

        Raises:
            InvalidSetting: no model is there to be asked.
        """
        from bearinmind.curate import curating  # noqa: PLC0415  see above

        options = curating.Options(
            cosine=self.settings.curate_cosine,
            temporary_days=self.settings.curate_temporary_days,
            categories=self.settings.categories,
            since=since,
        )
        with self._judge(ask=ask) as judge:
            found = curating.look(self._store, self.scope, self._clock(), options, judge)
        if not propose:
            return found
        kept = self._store.propose(self.scope, found.proposals)
        return replace(found, proposals=tuple(kept), known=frozenset())

    @contextmanager
    def _judge(self, *, ask: bool) -> Iterator[Judge | None]:
        """Whoever is asked where no rule is sure."""
        if not ask:
            yield None
            return
        from bearinmind.app.judging import ChatJudge  # noqa: PLC0415  see above

        with closing(ChatJudge(self.settings)) as judge:
            yield judge

    def hygiene(self) -> Report:
        """What is untidy among the memories of this user."""
        from bearinmind.curate import hygiene  # noqa: PLC0415  see above

        bounds = hygiene.Bounds(
            content_limit=self.settings.content_limit, categories=self.settings.categories
        )
        return hygiene.report(self._store, self.scope, self._clock(), bounds)

    def proposals(
        self,
        states: Iterable[ProposalState | str] = (ProposalState.OPEN,),
        *,
        limit: int = PROPOSALS,
    ) -> Sequence[Proposal]:
        """The proposals in these states, those that were made or decided last first.

        Raises:
            InvalidInput: there is no such state.
            InvalidQuery: the limit is out of its range.
        """
        check_number("limit", limit, MOST_PROPOSALS)
        chosen = [choose(ProposalState, state, InvalidInput) for state in states]
        found = [*_all(self._store, self.scope, chosen)]
        found.sort(key=lambda each: (each.decided_at or each.created_at, each.id), reverse=True)
        return found[:limit]

    def proposal(self, id: str) -> Proposal:
        """One proposal.

        Raises:
            ProposalNotFound, AmbiguousId
        """
        prefix = ids.normalise(id)
        exact = self._store.proposal(self.scope, prefix)
        if exact is not None:
            return exact
        every = _all(self._store, self.scope, [*ProposalState])
        found = [each for each in every if each.id.startswith(prefix)]
        if not found:
            raise ProposalNotFound(f"no proposal has an id that begins with {prefix!r}")
        if len(found) > 1:
            raise AmbiguousId(
                f"{prefix!r} is the beginning of {', '.join(each.id for each in found[:5])}"
            )
        return found[0]

    def proposal_counts(self) -> Mapping[ProposalState, int]:
        """How many proposals are in each state."""
        return self._store.proposal_counts(self.scope)

    def apply_proposal(self, id: str) -> Proposal:
        """Do what a proposal says.

        Raises:
            ProposalDecided: it was decided on before.
            WouldLoseFact: the last retrievable copy of a fact would disappear.
        """
        applied = self._deciding().apply(self.proposal(id))
        self._background.nudge()
        return applied

    def dismiss_proposal(self, id: str) -> Proposal:
        """Decide against a proposal; it is not made again.

        Raises:
            ProposalDecided: it was decided on before.
        """
        return self._deciding().dismiss(self.proposal(id))

    def undo_proposal(self, id: str) -> Proposal:
        """Take back what a proposal did.

        Raises:
            CannotUndo: it was not applied, or what it changed was changed since.
        """
        undone = self._deciding().undo(self.proposal(id))
        self._background.nudge()
        return undone

    def _deciding(self) -> Deciding:
        from bearinmind.curate.applying import Deciding  # noqa: PLC0415  see above

        hands = _Hands(self._remember, self.scope, self.settings)
        return Deciding(store=self._store, scope=self.scope, hands=hands, clock=self._clock)


def _all(store: Store, scope: Scope, states: Sequence[ProposalState]) -> Iterable[Proposal]:
    from bearinmind.curate.curating import all_proposals  # noqa: PLC0415  see above

    return all_proposals(store, scope, *states)
