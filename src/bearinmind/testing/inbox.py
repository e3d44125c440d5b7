"""The proposals of a store in memory."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bearinmind.proposals import REDACTED, Proposal, ProposalState
from bearinmind.types import MemoryId, Scope, UserId


class InboxInMemory:
    """Satisfies `bearinmind.protocols.Inbox`."""

    _lock: threading.RLock

    def __init__(self) -> None:
        super().__init__()
        self._proposals: dict[UserId, dict[str, Proposal]] = defaultdict(dict)

    def propose(self, scope: Scope, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Keep those that are new; one whose digest was proposed before, in any state, is not."""
        with self._lock:
            kept = self._proposals[scope.user]
            known = {proposal.digest for proposal in kept.values()}
            new = []
            for proposal in proposals:
                if proposal.digest not in known:
                    known.add(proposal.digest)
                    kept[proposal.id] = _as_kept(proposal)
                    new.append(proposal)
        return new

    def proposals(
        self,
        scope: Scope,
        states: Sequence[ProposalState],
        limit: int,
        after: str | None = None,
    ) -> list[Proposal]:
        """Proposals in these states, by id, behind one of them."""
        with self._lock:
            kept = sorted(self._proposals[scope.user].values(), key=lambda proposal: proposal.id)
        behind = [x for x in kept if x.state in states and (after is None or x.id > after)]
        return behind[:limit]

    def proposal(self, scope: Scope, id: str) -> Proposal | None:
        """One proposal."""
        with self._lock:
            return self._proposals[scope.user].get(id)

    def decide(self, scope: Scope, proposal: Proposal, before: ProposalState) -> bool:
        """Keep state, time and undo of a proposal; False when it was not in `before`."""
        with self._lock:
            kept = self._proposals[scope.user]
            known = kept.get(proposal.id)
            if known is None or known.state is not before:
                return False
            kept[proposal.id] = replace(
                known,
                state=proposal.state,
                decided_at=proposal.decided_at,
                undo=_json(proposal.undo),
            )
        return True

    def proposal_counts(self, scope: Scope) -> dict[ProposalState, int]:
        """How many there are in each state."""
        with self._lock:
            return dict(Counter(x.state for x in self._proposals[scope.user].values()))

    def _redact(self, scope: Scope, ids: Iterable[MemoryId]) -> None:
        """Remove what proposals say that name one of these memories."""
        gone = [json.dumps(id_) for id_ in ids]
        kept = self._proposals[scope.user]
        for proposal in [*kept.values()]:
            parts = (proposal.memories, proposal.evidence, proposal.change, proposal.undo)
            said = json.dumps(parts)
            if any(id_ in said for id_ in gone):
                was_open = proposal.state is ProposalState.OPEN
                kept[proposal.id] = replace(
                    proposal,
                    reason=REDACTED,
                    evidence={},
                    change={},
                    undo={},
                    state=ProposalState.DISMISSED if was_open else proposal.state,
                )


def _as_kept(proposal: Proposal) -> Proposal:
    """What a file would give back of it."""
    return replace(
        proposal,
        evidence=_json(proposal.evidence),
        change=_json(proposal.change),
        undo=_json(proposal.undo),
    )


def _json(value: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(value))
    return read
