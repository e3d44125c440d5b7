"""Counts of what is stored, as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import RenderableType
from rich.text import Text

from bearinmind.protocols import GraphCounts, Statistics, StoreFacts
from bearinmind.surfaces.render import QUIET, data, grid, many, minute
from bearinmind.work.kinds import EMBED, EXTRACT
from bearinmind.work.status import WorkStatus


def statistics(
    value: Statistics, place: str, facts: StoreFacts, work: WorkStatus, graph: GraphCounts
) -> RenderableType:
    """Counts of what is stored."""
    table = grid("-", "")
    rows = {
        "store": f"{place} ({facts})",
        "live": f"{value.live:,}",
        "superseded": f"{value.superseded:,}",
        "expired": f"{value.expired:,}",
        "deleted": f"{value.deleted:,}",
        "earlier versions": f"{value.earlier_versions:,}",
        "links": f"{value.links:,}",
        "embedded": _embedded(work),
        "graph": _graph(work, graph),
        "categories": _counted(value.categories),
        "tags": _counted(value.tags),
        "oldest": minute(value.oldest),
        "newest": minute(value.newest),
        "shared with you": _shared(value),
    }
    for name, text in rows.items():
        if text:
            table.add_row(Text(name, style=QUIET), data(text))
    return table


def _shared(value: Statistics) -> str:
    return f"{value.shared:,} by {many(value.sharers, 'user')}" if value.shared else ""


def _embedded(work: WorkStatus) -> str:
    if work.meaning_off is not None:
        waiting = _unfinished(work.of_kind(EMBED), "waiting")
        return f"none: {work.meaning_off.reason}{waiting}"
    if work.active is None:
        return ""
    told = _unfinished(work.of_kind(EMBED), "waiting")
    return f"{work.active.embedded:,} by {work.active.space.model}{told}"


def _graph(work: WorkStatus, counts: GraphCounts) -> str:
    if not work.extractor and not counts.concepts:
        return ""
    told = _unfinished(work.of_kind(EXTRACT), "to read")
    return f"{many(counts.concepts, 'concept')}, {many(counts.relations, 'relation')}{told}"


def _unfinished(work: WorkStatus, waiting: str) -> str:
    also = {waiting: work.waiting, "given up": work.dead}
    return "".join(f", {count:,} {what}" for what, count in also.items() if count)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
