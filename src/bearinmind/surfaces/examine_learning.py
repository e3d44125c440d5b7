"""What `doctor` looks at for learning: what becomes of a turn, and what a model may cost."""

from __future__ import annotations

from bearinmind.app import Mind
from bearinmind.errors import MindError
from bearinmind.proposals import ProposalState
from bearinmind.surfaces.checks import Check


def learning(app: Mind) -> Check:
    """How learning is set up, and what it has cost today."""
    try:
        status = app.curation.learning_status()
    except MindError as exc:
        detail = f"{app.settings.learn}: {exc.message}"
        return Check(name="learning", good=False, detail=detail, remedy=exc.hint)
    waiting = app.curation.counts().get(ProposalState.OPEN, 0)
    detail = f"{status.mode}, {waiting:,} proposals wait in the inbox"
    if status.model:
        place = "turns are sent to its server" if status.leaves_machine else "turns stay here"
        detail += (
            f"; {status.model} reads turns, {place}; "
            f"{status.spent:,} of {status.limit:,} tokens are spent today"
        )
    return Check(name="learning", good=True, detail=detail)
