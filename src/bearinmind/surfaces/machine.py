"""Every answer as plain data for `--json`; memories and links have the shape of an export."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bearinmind.errors import MindError
from bearinmind.protocols import GraphCounts, Statistics
from bearinmind.recall.history import Timeline, Why
from bearinmind.remember.pipeline import PurgePlan
from bearinmind.trace import Answer, Dropped, Reason, Trace, WhyNot
from bearinmind.types import Hit, Link, Memory, MemoryId, Placing, Reranked, State, Step
from bearinmind.work.done import WorkDone
from bearinmind.work.kinds import EMBED, EXTRACT
from bearinmind.work.status import WorkStatus

Data = dict[str, Any]


def error(exc: MindError) -> Data:
    """Why something could not be done."""
    return {"error": {"code": exc.code, "message": exc.message, "hint": exc.hint}}


def memory(value: Memory, state: State | None = None) -> Data:
    """A memory, with where it stands if that is known."""
    data = {"record": "memory", "id": value.id, **version(value)}
    return data if state is None else data | {"state": state}


def owned(value: Memory, state: State | None = None) -> Data:
    """A memory, with whose it is."""
    return memory(value, state) | {"owner": value.owner}


def memories(values: Iterable[Memory], states: Mapping[MemoryId, State]) -> list[Data]:
    """Memories in their order, each with its owner."""
    return [owned(value, states.get(value.id)) for value in values]


def version(value: Memory) -> Data:
    """One version of a memory."""
    data: Data = dataclasses.asdict(value)
    for name in ("id", "owner"):
        del data[name]
    origin, number = data.pop("provenance"), data.pop("version")
    return {**data, **origin, "version": number}


def link(value: Link) -> Data:
    """A link."""
    return {"record": "link", **dataclasses.asdict(value)}


def whole(value: Memory, state: State, earlier: Iterable[Memory], links: Iterable[Link]) -> Data:
    """A memory with its past and its links."""
    return memory(value, state) | {
        "earlier": [version(item) for item in earlier],
        "links": [link(item) for item in links],
    }


def hit(value: Hit) -> Data:
    """A recalled memory with everything that brought it here."""
    return {
        "rank": value.rank,
        "score": value.score,
        "confidence": value.confidence,
        "support": value.support,
        "memory": owned(value.memory),
        "placings": _placings(value.placings),
        "factors": dict(value.factors),
        "reranked": _reranked(value.reranked),
        "replaces": value.replaces,
        "attached": [memory(item) for item in value.attached],
        "pointers": [dataclasses.asdict(pointer) for pointer in value.pointers],
        "path": _path(value.path),
    }


def answer(value: Answer, *, with_trace: bool) -> Data:
    """The answer to a query."""
    data: Data = {
        "query": value.query.text,
        "hits": [hit(item) for item in value.hits],
        "degraded": value.trace.degraded,
    }
    return data | {"trace": trace(value.trace)} if with_trace else data


def trace(value: Trace) -> Data:
    """How a recall came to its answer."""
    return {
        "legs": [dataclasses.asdict(leg) for leg in value.legs],
        "fusion": value.fusion,
        "adjustments": value.adjustments,
        "selection": value.selection,
        "rerank": None if value.rerank is None else dataclasses.asdict(value.rerank),
        "fused": [
            {"id": item.id, "score": item.score, "placings": _placings(item.placings)}
            for item in value.fused
        ],
        "judged": [
            {
                "id": item.id,
                "score": item.score,
                "fused": item.fused,
                "placings": _placings(item.placings),
                "factors": dict(item.factors),
                "reranked": _reranked(item.reranked),
            }
            for item in value.judged
        ],
        "paths": {id_: _path(path) for id_, path in value.paths.items()},
        "dropped": [_dropped(item) for item in value.dropped],
        "milliseconds": dict(value.milliseconds),
    }


def why_not(value: WhyNot) -> Data:
    """Why a memory was not recalled."""
    standings = [dataclasses.asdict(s) | {"path": _path(s.path)} for s in value.standings]
    return dataclasses.asdict(value) | {"standings": standings}


def why(value: Why) -> Data:
    """What led to a memory."""
    return {
        "memory": memory(value.memory),
        "versions": [version(item) for item in value.versions],
        "steps": [
            {"depth": step.depth, "link": link(step.link), "memory": memory(step.memory)}
            for step in value.steps
        ],
        "superseded_by": [memory(item) for item in value.superseded_by],
    }


def timeline(value: Timeline) -> Data:
    """What was remembered around a moment."""
    return {
        "moment": value.moment,
        "anchor": None if value.anchor is None else owned(value.anchor),
        "before": [owned(item) for item in value.before],
        "after": [owned(item) for item in value.after],
    }


def plan(value: PurgePlan, *, purged: bool) -> Data:
    """What a purge removes, and whether it did."""
    return {
        "purged": purged,
        "memories": [memory(item) for item in value.memories],
        "versions": value.versions,
        "links": value.links,
    }


def statistics(value: Statistics) -> Data:
    """Counts of what is stored."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(Statistics)}


NO_STATISTICS: Data = statistics(
    Statistics(
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
)


def embeddings(value: WorkStatus | None) -> Data:
    """How many memories are embedded; versions of memories are counted one by one."""
    active = value.active if value else None
    return {
        "embedded": active.embedded if active else 0,
        "embedded_by": active.space.model if active else None,
        "waiting": value.of_kind(EMBED).waiting if value else 0,
        "given_up": value.of_kind(EMBED).dead if value else 0,
        "meaning_off": value.meaning_off.reason if value and value.meaning_off else None,
    }


def graph(value: WorkStatus | None, counts: GraphCounts | None) -> Data:
    """How much of the graph there is, and how many memories are to be read for it."""
    return {
        "graph": {
            "extractor": value.extractor or None if value else None,
            "concepts": counts.concepts if counts else 0,
            "relations": counts.relations if counts else 0,
            "waiting": value.of_kind(EXTRACT).waiting if value else 0,
            "given_up": value.of_kind(EXTRACT).dead if value else 0,
        }
    }


def work_status(value: WorkStatus) -> Data:
    """How background work stands."""
    return {
        "spaces": [
            {
                "key": known.space.key,
                "model": known.space.model,
                "dimensions": known.space.dimensions,
                "state": known.state,
                "embedded": known.embedded,
                "waiting": known.waiting,
                "dead": known.dead,
            }
            for known in value.spaces
        ],
        "extractor": value.extractor or None,
        "queue": [count._asdict() for count in value.queue],
        "next_due": value.next_due,
        "meaning_off": value.meaning_off.reason if value.meaning_off else None,
    }


def work_done(done: WorkDone, left: WorkStatus) -> Data:
    """What a worker did, and how things stand now."""
    return done._asdict() | {"by_kind": dict(done.by_kind)} | work_status(left)


def _placings(placings: Mapping[str, Placing]) -> Data:
    return {leg: placing._asdict() for leg, placing in placings.items()}


def _path(value: Iterable[Step]) -> list[Data]:
    """A way through the concept graph; one that begins at the query comes from nowhere."""
    return [
        {"from": step.source, "concept": step.concept, "role": step.role, "to": step.target}
        for step in value
    ]


def _reranked(value: Reranked | None) -> Data | None:
    return None if value is None else value._asdict()


def _dropped(value: Dropped) -> Data:
    kind = reason_name(type(value.reason))
    return {
        "id": value.id,
        "reason": {"kind": kind, "text": str(value.reason), **dataclasses.asdict(value.reason)},
    }


def reason_name(reason: type[Reason]) -> str:
    """What a reason for leaving a candidate out is called."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", reason.__name__).lower()
