"""The proposals of a store: what might be changed, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bearinmind.proposals import REDACTED, Proposal, ProposalKind, ProposalState
from bearinmind.store import rows
from bearinmind.store.database import OnDatabase, Owned, Row
from bearinmind.types import MemoryId, Scope

_OBJECTS = ("evidence", "change", "undo")  # kept as JSON


class InboxInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Inbox`."""

    def propose(self, scope: Scope, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Keep those that are new; one whose digest was proposed before, in any state, is not."""
        with self._writing(scope) as transaction:
            return [
                proposal
                for proposal in proposals
                if transaction.change("propose", _from_proposal(proposal))
            ]

    def proposals(
        self,
        scope: Scope,
        states: Sequence[ProposalState],
        limit: int,
        after: str | None = None,
    ) -> list[Proposal]:
        """Proposals in these states, by id, behind one of them."""
        asked = {
            "owner": scope.user,
            "states": [*states],
            "after": after or "",
            "limit": limit,
        }
        return [*map(_to_proposal, self._database.read("proposals", asked))]

    def proposal(self, scope: Scope, id: str) -> Proposal | None:
        """One proposal."""
        found = self._database.read("proposal", {"owner": scope.user, "id": id})
        return _to_proposal(found[0]) if found else None

    def decide(self, scope: Scope, proposal: Proposal, before: ProposalState) -> bool:
        """Keep state, time and undo of a proposal; False when it was not in `before`."""
        decided = _from_proposal(proposal) | {"before": before}
        with self._writing(scope) as transaction:
            return bool(transaction.change("decide", decided))

    def proposal_counts(self, scope: Scope) -> dict[ProposalState, int]:
        """How many there are in each state."""
        found = self._database.read("count_proposals", {"owner": scope.user})
        return {ProposalState(state): count for state, count in found}


def forget(transaction: Owned, ids: Sequence[MemoryId]) -> None:
    """Remove what proposals say of these memories, inside a transaction of the caller."""
    named = [_json(id_) for id_ in ids]  # as they stand in the JSON that is kept
    transaction.change("redact_proposals", {"named": named, "reason": REDACTED})


def _from_proposal(proposal: Proposal) -> dict[str, Any]:
    return {
        "id": proposal.id,
        "kind": proposal.kind,
        "origin": proposal.origin,
        "memories": _json([*proposal.memories]),
        "reason": proposal.reason,
        **{name: _json(getattr(proposal, name)) for name in _OBJECTS},
        "digest": proposal.digest,
        "created_at": rows.from_time(proposal.created_at),
        "state": proposal.state,
        "decided_at": rows.from_time(proposal.decided_at),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _to_proposal(row: Row) -> Proposal:
    id_, kind, origin, memories, reason, evidence, change, digest, created_at, *decided = row
    state, decided_at, undo = decided
    return Proposal(
        id=id_,
        kind=ProposalKind(kind),
        origin=origin,
        memories=tuple(map(MemoryId, json.loads(memories))),
        reason=reason,
        evidence=json.loads(evidence),
        change=json.loads(change),
        digest=digest,
        created_at=rows.to_time(created_at),
        state=ProposalState(state),
        decided_at=rows.to_optional_time(decided_at),
        undo=json.loads(undo),
    )
