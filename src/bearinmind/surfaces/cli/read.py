"""The commands that read what is stored. None of them writes, or makes a store."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bearinmind.app import Mind
from bearinmind.app.requests import ListFields, QueryFields
from bearinmind.concepts import ConceptName
from bearinmind.errors import InvalidInput, MemoryNotFound, StoreFailure
from bearinmind.recall import paths
from bearinmind.recall.attach import one_line
from bearinmind.recall.paths import Labels
from bearinmind.surfaces import times
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.session import Session
from bearinmind.trace import Answer
from bearinmind.types import Link, Memory, MemoryId, State

if TYPE_CHECKING:
    from rich.console import RenderableType


def recall(
    ctx: typer.Context,
    query: Annotated[
        list[str],
        typer.Argument(metavar="QUERY", help="The question; `-` reads standard input."),
    ],
    limit: Annotated[int | None, typer.Option("--limit", help="Most memories to recall.")] = None,
    pool: Annotated[int | None, typer.Option("--pool", help="How deep each leg looks.")] = None,
    category: options.InCategories = None,
    tag: options.WithTags = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    session: options.OfSession = None,
    project: options.OfProject = None,
    agent: options.OfAgent = None,
    state: options.InStates = None,
    sort_by: options.Sorting = None,
    focus: Annotated[
        list[str] | None,
        typer.Option("--focus", help="A tag or category that matters more just now; repeatable."),
    ] = None,
    expand: Annotated[
        list[str] | None,
        typer.Option("--expand", help="Another word for what is asked; repeatable."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", help="Most bytes of memories to give back.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show how the answer was found.")] = False,
    why_not: Annotated[
        str | None,
        typer.Option("--why-not", metavar="ID", help="Say why this memory is not in the answer."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Find the memories that matter for a question."""
    run = Session.of(ctx, as_json=as_json)
    text = _query_text(query)
    filtering = options.filter_fields(
        categories=category,
        tags=tag,
        since=since,
        until=until,
        as_of=as_of,
        states=state,
        session=session,
        project=project,
        agent=agent,
    )
    asking = {
        "limit": limit,
        "pool": pool,
        "sort_by": sort_by,
        "focus": options.words(focus),
        "expanded": options.words(expand),
        "budget_bytes": budget,
    }
    fields = cast("QueryFields", {**filtering, **options.given(asking)})
    if why_not is not None:
        with run.existing() as app:
            _reply_why_not(run, app, text, why_not, fields)
        return
    app_or_none = run.find()
    if app_or_none is None:
        run.reply_empty({"query": text, "hits": [], "degraded": []})
        return
    with app_or_none as app:
        answer = app.recall(text, **fields)
        labels = {} if as_json else app.graph.labels(_concepts(answer, with_trace=trace))
    _reply_answer(run, answer, labels, with_trace=trace)


def list_memories(
    ctx: typer.Context,
    limit: options.ListLimit = 20,
    after: Annotated[
        str | None, typer.Option("--after", metavar="ID", help="Go on behind this memory.")
    ] = None,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="Begin with the oldest.")
    ] = False,
    category: options.InCategories = None,
    tag: options.WithTags = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    session: options.OfSession = None,
    project: options.OfProject = None,
    agent: options.OfAgent = None,
    owner: options.OfOwner = None,
    state: options.InStates = None,
    as_json: options.Json = False,
) -> None:
    """Show memories, the newest first.

    The own ones, and with their owner those that others share.
    """
    run = Session.of(ctx, as_json=as_json)
    fields = options.list_fields(
        categories=category,
        tags=tag,
        since=since,
        until=until,
        as_of=as_of,
        states=state,
        session=session,
        project=project,
        agent=agent,
        owner=owner,
    )
    app_or_none = run.find()
    if app_or_none is None:
        run.reply_empty({"memories": []})
        return
    with app_or_none as app:
        found = app.list(limit=limit, after=after, newest_first=not oldest_first, **fields)
        states = app.states(found)
    run.reply_rows(
        {"memories": lazy.machine.memories(found, states)},
        found,
        lambda: lazy.render.memories(found, states, app.scope.user),
        _NOTHING_LISTED,
    )


def get(
    ctx: typer.Context,
    id: options.Id,
    versions: Annotated[bool, typer.Option("--versions", help="Show every version of it.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show a memory with all its fields, links and versions."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as app:
        memory = app.get(id)
        state = app.states([memory])[memory.id]
        if memory.owner != app.scope.user:
            _reply_shared(run, memory, state)
            return
        links = app.links(memory.id)
        past = app.versions(memory.id)
        lines = {} if as_json else _lines(app, memory.id, links)
        card = app.graph.of_memory(memory.id)

    def human() -> Iterable[RenderableType]:
        yield lazy.render.memory(memory, state, links, lines, lazy.render_graph.memory_rows(card))
        if versions:
            yield lazy.render.data("")
            yield lazy.render.versions(past)

    whole = lazy.machine.whole(memory, state, past[:-1], links)
    run.reply(whole | lazy.machine_graph.memory_card(card), human)


def _reply_shared(run: Session, memory: Memory, state: State) -> None:
    """Print another user's memory, of which neither the past nor the links are seen."""
    more = [("owner", lazy.render.data(memory.owner, lazy.render.NOTICE))]
    run.reply(
        lazy.machine.whole(memory, state, (), ()) | {"owner": memory.owner},
        lambda: [lazy.render.memory(memory, state, (), {}, more)],
    )


def why(ctx: typer.Context, id: options.Id, as_json: options.Json = False) -> None:
    """Show what led to a memory."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as app:
        answer = app.why(id)
        card = app.graph.of_memory(answer.memory.id)
    run.reply(
        lazy.machine.why(answer) | lazy.machine_graph.memory_card(card),
        lambda: [lazy.render.why(answer, lazy.render_graph.memory_rows(card))],
    )


def timeline(
    ctx: typer.Context,
    around: Annotated[
        str | None,
        typer.Argument(
            metavar="ID|MOMENT", help="A memory, or a time: 2026-11-15, 3d; now by default."
        ),
    ] = None,
    before: options.Before = 5,
    after: options.After = 5,
    session: options.OfSession = None,
    owner: options.OfOwner = None,
    same_session: Annotated[
        bool, typer.Option("--same-session", help="Only of the session of that memory.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show what was remembered around a memory or a moment.

    By this user, and by others as far as they share it.
    """
    run = Session.of(ctx, as_json=as_json)
    now = datetime.now(UTC)
    moment = None
    if around is None or times.is_time(around):
        moment = now if around is None else times.parse_past(around, "the moment", now)
    app_or_none = run.existing() if moment is None else run.find()
    if app_or_none is None:
        run.reply_empty({"moment": moment, "anchor": None, "before": [], "after": []})
        return
    with app_or_none as app:
        fields = options.list_fields(session=session, owner=owner)
        if same_session:
            fields = _same_session(app, None if moment else around, fields)
        answer = app.timeline(moment or str(around), before=before, after=after, **fields)
    user = app.scope.user
    run.reply(lazy.machine.timeline(answer), lambda: [lazy.render.timeline(answer, user)])


def stats(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Count what is stored, and what others share."""
    run = Session.of(ctx, as_json=as_json)
    place = {"store": str(run.place)}
    app_or_none = run.find()
    if app_or_none is None:
        machine = lazy.machine
        nothing = machine.NO_STATISTICS | machine.embeddings(None) | machine.graph(None, None)
        run.reply_empty(place | {"bytes": 0, "versions": {}} | nothing)
        return
    with app_or_none as app:
        counts = app.stats()
        work = app.work.status()
        graph = app.graph.counts()
        facts = app.store_facts()
    done = lazy.machine.embeddings(work) | lazy.machine.graph(work, graph)
    run.reply(
        place
        | {"bytes": facts.bytes, "versions": facts.versions}
        | lazy.machine.statistics(counts)
        | done,
        lambda: [lazy.render_stats.statistics(counts, str(run.place), facts, work, graph)],
    )


# ---- what they share ---------------------------------------------------------------------------

_NOTHING_LISTED = "No memory matches."
_NOTHING_RECALLED = "No memory matches the query."


def _query_text(query: list[str]) -> str:
    if query == [lazy.lines.STANDARD]:
        return lazy.lines.read_text(lazy.lines.STANDARD)
    return " ".join(query)


def _concepts(answer: Answer, *, with_trace: bool) -> set[ConceptName]:
    """The concepts that are shown with an answer."""
    ways = answer.trace.paths.values() if with_trace else [hit.path for hit in answer.hits]
    return paths.concepts(ways)


def _reply_answer(run: Session, answer: Answer, labels: Labels, *, with_trace: bool) -> None:
    for missing in answer.trace.failed:
        run.note(f"degraded: {missing}")
    for missing in answer.trace.partial:
        run.note(f"note: {missing}; words find everything already")
    if answer.trace.failed and not answer.trace.answered:
        raise StoreFailure(
            "no leg of the recall could answer",
            hint="`bearinmind doctor` looks for what is wrong with the store.",
        )

    def human() -> Iterable[RenderableType]:
        if answer.hits:
            user = answer.query.filter.scope.user
            yield lazy.render_recall.hits(answer.hits, labels, user)
        else:
            yield lazy.render.data(_NOTHING_RECALLED)
        if with_trace:
            yield lazy.render_trace.answer(answer, labels)

    run.reply(lazy.machine.answer(answer, with_trace=with_trace), human)


def _reply_why_not(run: Session, app: Mind, text: str, id_: str, fields: QueryFields) -> None:
    answer = app.why_not(text, id_, **fields)
    run.reply(
        {"query": app.masked(text), "why_not": lazy.machine.why_not(answer)},
        lambda: [lazy.render_trace.why_not(answer)],
    )


def _lines(app: Mind, id_: MemoryId, links: Iterable[Link]) -> dict[MemoryId, str]:
    """One line of each linked memory; one that is to come by a later sync has none yet."""
    lines: dict[MemoryId, str] = {}
    for end in {end for link in links for end in (link.source, link.target)} - {id_}:
        with suppress(MemoryNotFound):
            lines[end] = one_line(app.get(end).content)
    return lines


def _same_session(app: Mind, id_: str | None, fields: ListFields) -> ListFields:
    """The session of a memory; others may have one of that name, so its owner belongs to it."""
    if id_ is None:
        raise InvalidInput("--same-session needs a memory", hint="Give an id, or --session NAME.")
    memory = app.get(id_)
    if memory.provenance.session is None:
        raise InvalidInput(f"memory {memory.id} does not say which session it comes from")
    return {"owner": memory.owner, **fields, "session": memory.provenance.session}
