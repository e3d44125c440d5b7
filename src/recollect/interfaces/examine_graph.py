"""What `doctor` looks at for the concept graph: who reads memories, and what was found."""

from __future__ import annotations

from recollect.app import Recollect
from recollect.app.reading import budget
from recollect.errors import RecollectError
from recollect.interfaces.checks import Check
from recollect.protocols import Extractor
from recollect.work.status import WorkStatus


def graph(app: Recollect, status: WorkStatus) -> Check:
    """Whether the configured extractor can be made, and how far it has read."""
    counts = app.graph_counts()
    held = f"{counts.concepts:,} concepts, {counts.relations:,} relations"
    try:
        configured = app.extractor()
        tokens = _tokens(app, configured) if configured else ""
    except RecollectError as exc:
        detail = f"{app.settings.extractor}: {exc.message}"
        return Check(name="extractor", good=False, detail=detail, remedy=exc.hint)
    if configured is None:
        return Check(
            name="extractor", good=True, detail=f"{held}; no memory is read for it any more"
        )
    if not status.extractor:
        detail = "none yet: `recollect work` begins, as does the next `recollect store`"
        return Check(name="extractor", good=True, detail=f"{detail}{tokens}")
    place = "texts are sent to its server" if configured.leaves_machine else "texts stay here"
    reader = f"read by {status.extractor}"
    if status.extractor != configured.key:
        reader += f" until a worker begins with {configured.key}"
    waiting = f", {status.to_read:,} to read" if status.to_read else ""
    detail = f"{held}{waiting}, {reader}; {place}{tokens}"
    return Check(name="extractor", good=True, detail=detail)


def _tokens(app: Recollect, extractor: Extractor) -> str:
    """What a chat model has spent today."""
    spent = budget(extractor) if app.settings.extractor == "llm" else None
    return f"; {spent.spent:,} of {spent.limit:,} tokens are spent today" if spent else ""
