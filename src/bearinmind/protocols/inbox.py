"""What keeps proposals until somebody decides, and what was done afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bearinmind.proposals import Proposal, ProposalState
from bearinmind.types import Scope


class Inbox(Protocol):
    """Keeps proposals. None is ever removed: what was decided is the log of operations.

    But a purge takes what proposals say that name the purged memory; open ones are dismissed.
    """

    def propose(self, scope: Scope, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Keep those that are new; one whose digest was proposed before, in any state, is not."""

    def proposals(
        self,
        scope: Scope,
        states: Sequence[ProposalState],
        limit: int,
        after: str | None = None,
    ) -> list[Proposal]:
        """Proposals in these states, by id, behind one of them."""

    def proposal(self, scope: Scope, id: str) -> Proposal | None:
        """One proposal."""

    def decide(self, scope: Scope, proposal: Proposal, before: ProposalState) -> bool:
        """Keep state, time and undo of a proposal; False when it was not in `before`."""

    def proposal_counts(self, scope: Scope) -> dict[ProposalState, int]:
        """How many there are in each state."""
