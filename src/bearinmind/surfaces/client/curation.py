"""The verbs about what waits for a decision, as steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bearinmind import ids
from bearinmind.app.requests import PROPOSALS
from bearinmind.errors import InvalidInput
from bearinmind.proposals import Proposal, ProposalState
from bearinmind.surfaces.client.calling import Steps
from bearinmind.surfaces.client.learning import LearningVerbs
from bearinmind.surfaces.verbs import curation
from bearinmind.types import MemoryId, choose


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationVerbs(LearningVerbs):
    """What whoever looks through the inbox asks of a server."""

    def proposals(
        self,
        states: Iterable[ProposalState | str] = (ProposalState.OPEN,),
        *,
        limit: int = PROPOSALS,
    ) -> Steps[Sequence[Proposal]]:
        """The proposals in these states, those that were made or decided last first."""
        chosen = [choose(ProposalState, state, InvalidInput) for state in states]
        said = {"states": chosen, "limit": limit}
        asked, answered = curation.ProposalsRequest, curation.ProposalsAnswer
        got = yield from self.answer("proposals", asked, answered, said)
        return tuple(map(_proposal, got.proposals))

    def proposal(self, id: str) -> Steps[Proposal]:
        """One proposal."""
        return (yield from self._proposal("proposal", id))

    def apply_proposal(self, id: str) -> Steps[Proposal]:
        """Do what a proposal says; it can be undone."""
        return (yield from self._proposal("apply_proposal", id))

    def dismiss_proposal(self, id: str) -> Steps[Proposal]:
        """Decide against a proposal; it is not made again."""
        return (yield from self._proposal("dismiss_proposal", id))

    def undo_proposal(self, id: str) -> Steps[Proposal]:
        """Take back what a proposal did."""
        return (yield from self._proposal("undo_proposal", id))

    def _proposal(self, verb: str, id: str) -> Steps[Proposal]:
        said = {"id": ids.normalise(id)}
        got = yield from self.answer(verb, curation.ProposalRequest, curation.ProposalAnswer, said)
        return _proposal(got)


def _proposal(answer: curation.ProposalAnswer) -> Proposal:
    return Proposal(
        **answer.model_dump(exclude={"memories"}),
        memories=tuple(map(MemoryId, answer.memories)),
    )
