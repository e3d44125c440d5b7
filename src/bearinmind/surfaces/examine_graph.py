"""What `doctor` looks at for the concept graph: who reads memories, and what was found."""

from __future__ import annotations

from bearinmind.app import Mind
from bearinmind.errors import MindError
from bearinmind.graph.extraction_plan import budget
from bearinmind.protocols import Extractor
from bearinmind.surfaces.checks import Check
from bearinmind.work.status import WorkStatus


def graph(app: Mind, status: WorkStatus) -> Check:
    """Whether the configured extractor can be made, and how far it has read."""
    counts = app.graph.counts()
    held = f"{counts.concepts:,} concepts, {counts.relations:,} relations"
    try:
        configured = app.work.extractor()
        tokens = _tokens(app, configured) if configured else ""
    except MindError as exc:
        detail = f"{app.settings.extractor}: {exc.message}"
        return Check(name="extractor", good=False, detail=detail, remedy=exc.hint)
    if configured is None:
        return Check(
            name="extractor", good=True, detail=f"{held}; no memory is read for it any more"
        )
    if not status.extractor:
        detail = "none yet: `bearinmind work` begins, as does the next `bearinmind store`"
        return Check(name="extractor", good=True, detail=f"{detail}{tokens}")
    place = "texts are sent to its server" if configured.leaves_machine else "texts stay here"
    reader = f"read by {status.extractor}"
    if status.extractor != configured.key:
        reader += f" until a worker begins with {configured.key}"
    waiting = f", {status.to_read:,} to read" if status.to_read else ""
    detail = f"{held}{waiting}, {reader}; {place}{tokens}"
    return Check(name="extractor", good=True, detail=detail)


def _tokens(app: Mind, extractor: Extractor) -> str:
    """What a chat model has spent today."""
    spent = budget(extractor) if app.settings.extractor == "llm" else None
    return f"; {spent.spent:,} of {spent.limit:,} tokens are spent today" if spent else ""
