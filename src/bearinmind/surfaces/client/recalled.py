"""From the answer to a question to a answer with its trace, and to a why-not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, get_args

from bearinmind.surfaces.client.nouns import memories, memory
from bearinmind.surfaces.machine import reason_name
from bearinmind.surfaces.verbs import answers as a
from bearinmind.trace import (
    Answer,
    Dropped,
    Judged,
    LegReport,
    LegStanding,
    NotAskedFor,
    Reason,
    RerankReport,
    Trace,
    WhyNot,
)
from bearinmind.types import (
    Filter,
    Fused,
    Hit,
    MemoryId,
    Placing,
    Pointer,
    Query,
    Reranked,
    Scope,
    State,
    Step,
    UserId,
)

_REASONS: Mapping[str, type[Reason]] = {reason_name(kind): kind for kind in get_args(Reason)}


def answer(said: a.RecallAnswer, trace: a.TraceAnswer) -> Answer:
    """The answer to a query."""
    return Answer(
        query=_query(said.query, trace.query),
        hits=tuple(map(_hit, said.hits)),
        trace=_trace(trace),
    )


def why_not(said: a.WhyNotAnswer) -> WhyNot:
    """Why a memory was not recalled."""
    return WhyNot(
        id=MemoryId(said.id),
        rank=said.rank,
        reason=said.reason,
        standings=tuple(
            LegStanding(
                leg=each.leg,
                rank=each.rank,
                searched=each.searched,
                note=each.note,
                score=each.score,
                confidence=each.confidence,
                evidence=each.evidence,
                path=_path(each.path),
            )
            for each in said.standings
        ),
        remedy=said.remedy,
    )


def _query(text: str, said: a.QueryAnswer) -> Query:
    return Query(
        text=text,
        filter=Filter(
            scope=Scope(user=UserId(said.user)),
            now=said.now,
            categories=frozenset(said.categories),
            tags=frozenset(said.tags),
            created_from=said.created_from,
            created_to=said.created_to,
            session=said.session,
            project=said.project,
            agent=said.agent,
            as_of=said.as_of,
            states=frozenset(said.states),
        ),
        expanded=tuple(said.expanded),
        focus=tuple(said.focus),
        limit=said.limit,
        pool=said.pool,
        sort_by=said.sort_by,
        budget_bytes=said.budget_bytes,
    )


def _hit(said: a.HitAnswer) -> Hit:
    return Hit(
        memory=memory(said.memory),
        rank=said.rank,
        score=said.score,
        placings=_placings(said.placings),
        factors=said.factors,
        reranked=_reranked(said.reranked),
        replaces=tuple(map(MemoryId, said.replaces)),
        attached=memories(said.attached),
        pointers=tuple(
            Pointer(
                id=MemoryId(pointer.id),
                kind=pointer.kind,
                outgoing=pointer.outgoing,
                line=pointer.line,
            )
            for pointer in said.pointers
        ),
        path=_path(said.path),
        support=said.support,
    )


def _trace(said: a.TraceAnswer) -> Trace:
    return Trace(
        legs=tuple(LegReport(**_known(LegReport, leg.model_dump())) for leg in said.legs),
        fusion=said.fusion,
        adjustments=said.adjustments,
        selection=said.selection,
        fused=tuple(
            Fused(MemoryId(each.id), each.score, _placings(each.placings)) for each in said.fused
        ),
        judged=tuple(map(_judged, said.judged)),
        dropped=tuple(Dropped(MemoryId(each.id), _reason(each.reason)) for each in said.dropped),
        milliseconds=said.milliseconds,
        rerank=None if said.rerank is None else RerankReport(**_known(RerankReport, said.rerank)),
        paths={MemoryId(id_): _path(path) for id_, path in said.paths.items()},
    )


def _judged(said: a.CandidateAnswer) -> Judged:
    return Judged(
        MemoryId(said.id),
        said.score,
        said.score if said.fused is None else said.fused,
        _placings(said.placings),
        said.factors or {},
        _reranked(said.reranked),
    )


def _placings(said: Mapping[str, a.PlacingAnswer]) -> Mapping[str, Placing]:
    return {
        leg: Placing(each.rank, each.score, each.confidence, each.evidence)
        for leg, each in said.items()
    }


def _path(said: Iterable[a.StepAnswer]) -> tuple[Step, ...]:
    return tuple(
        Step(
            None if step.source is None else MemoryId(step.source),
            step.concept,
            step.role,
            MemoryId(step.target),
        )
        for step in said
    )


def _reranked(said: Mapping[str, float] | None) -> Reranked | None:
    if said is None:
        return None
    return Reranked(int(said["before"]), int(said["after"]), said["score"], said["blend"])


def _reason(said: Mapping[str, Any]) -> Reason:
    """Why a candidate was left out, by the name of the reason."""
    kind = _REASONS[str(said["kind"])]
    values = _known(kind, said)
    return kind(**values | ({"state": State(values["state"])} if kind is NotAskedFor else {}))


def _known(
    kind: type[Reason | LegReport | RerankReport], said: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a value; a newer server may say more."""
    return {field.name: said[field.name] for field in fields(kind)}
