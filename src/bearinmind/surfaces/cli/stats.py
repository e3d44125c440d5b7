"""The command that counts what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bearinmind import codec
from bearinmind.protocols import GraphCounts, Statistics, StoreFacts
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.terminal import fields, many, minute
from bearinmind.work.status import EMBED, EXTRACT, WorkStatus

if TYPE_CHECKING:
    from rich.console import RenderableType


_NO_STORE = StoreFacts(bytes=0, versions={})
_NO_WORK = WorkStatus(spaces=(), queue=(), next_due=None)
_NO_MEMORIES = Statistics(
    live=0,
    superseded=0,
    expired=0,
    deleted=0,
    earlier_versions=0,
    links=0,
    categories={},
    tags={},
    oldest=None,
    newest=None,
)


def stats(run: Session) -> None:
    """Count what is stored, and what others share."""
    place = str(run.place)
    nothing = _data(_NO_MEMORIES, _NO_STORE, _NO_WORK, GraphCounts(0, 0, 0, 0, 0))
    with run.reading({"store": place} | nothing) as mind:
        counts = mind.stats()
        work = mind.work.status()
        graph = mind.graph.counts()
        facts = mind.store_facts()
    run.reply(
        {"store": place} | _data(counts, facts, work, graph),
        lambda: [_table(counts, place, facts, work, graph)],
    )


def _data(
    counts: Statistics, facts: StoreFacts, work: WorkStatus, graph: GraphCounts
) -> dict[str, Any]:
    """Counts as data; versions of memories are embedded and read one by one."""
    embed, active = work.of_kind(EMBED), work.active
    return {
        "bytes": facts.bytes,
        "versions": facts.versions,
        **codec.to_data(counts),
        "embedded": active.embedded if active else 0,
        "embedded_by": active.space.model if active else None,
        "waiting": embed.waiting,
        "given_up": embed.dead,
        "meaning_off": work.meaning_off.reason if work.meaning_off else None,
        "graph": graph_data(work, graph),
    }


def graph_data(work: WorkStatus, counts: GraphCounts) -> dict[str, Any]:
    """How much of the graph there is, and how many memories are to be read for it."""
    read = work.of_kind(EXTRACT)
    return {
        "extractor": work.extractor or None,
        "concepts": counts.concepts,
        "relations": counts.relations,
        "waiting": read.waiting,
        "given_up": read.dead,
    }


def _table(
    value: Statistics, place: str, facts: StoreFacts, work: WorkStatus, graph: GraphCounts
) -> RenderableType:
    """Counts of what is stored."""
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
    return fields(rows)


def _shared(value: Statistics) -> str:
    return f"{value.shared:,} by {many(value.sharers, 'user')}" if value.shared else ""


def _embedded(work: WorkStatus) -> str:
    if work.meaning_off is not None:
        waiting = _unfinished(work.of_kind(EMBED), "waiting")
        return f"none: {work.meaning_off.reason}{waiting}"
    if work.active is None:
        return ""
    shown = _unfinished(work.of_kind(EMBED), "waiting")
    return f"{work.active.embedded:,} by {work.active.space.model}{shown}"


def _graph(work: WorkStatus, counts: GraphCounts) -> str:
    if not work.extractor and not counts.concepts:
        return ""
    shown = _unfinished(work.of_kind(EXTRACT), "to read")
    return f"{many(counts.concepts, 'concept')}, {many(counts.relations, 'relation')}{shown}"


def _unfinished(work: WorkStatus, waiting: str) -> str:
    also = {waiting: work.waiting, "given up": work.dead}
    return "".join(f", {count:,} {what}" for what, count in also.items() if count)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
