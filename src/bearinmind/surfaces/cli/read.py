"""The commands that show what is stored. None of them writes, or makes a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.app.requests import FilterFields, ListFields
from bearinmind.errors import InvalidInput, MemoryNotFound
from bearinmind.graph.lookup import MemoryCard
from bearinmind.outdates.verdicts import in_words
from bearinmind.protocols import GraphCounts, Statistics, StoreFacts
from bearinmind.recall.history import DEEPEST, USUAL_DEPTH
from bearinmind.recall.pipeline import LARGEST_LIMIT
from bearinmind.remember.admit import check_past, is_time
from bearinmind.surfaces import times
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.memories import (
    listed_line,
    memory_list,
    origins,
    state_words,
    statement,
    towards,
)
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    ID,
    NOTICE,
    QUIET,
    STRONG,
    Session,
    facts,
    fields,
    grid,
    group,
    many,
    memory_count,
    minute,
    outdated_mark,
    outdated_words,
    parts,
    safe,
    shared_by,
    styled,
    tree,
)
from bearinmind.surfaces.verbs.verb import (
    GetAnswer,
    HistoryAnswer,
    ListAnswer,
    TimelineAnswer,
    WhyAnswer,
    read_cursor,
)
from bearinmind.text.analysis import one_line
from bearinmind.text.ids import name_among
from bearinmind.types import Decider, Link, LinkKind, Memory, MemoryId, Outdated, State
from bearinmind.work.status import EMBED, EXTRACT, WorkStatus

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_LONGEST_ID = 40  # characters, dashes among them; the `next` of a page is longer


@options.taking(filters=options.filters)
def list_memories(
    run: Session,
    *,
    limit: int = options.most("memories"),
    after: str | None = option(
        "--after", "Go on behind this memory; or the `next` of a page.", metavar="ID|NEXT"
    ),
    oldest_first: bool = flag("--oldest-first", "Begin with the oldest."),
    by_importance: bool = flag("--by-importance", "Begin with the most important."),
    owner: str | None = options.OF_OWNER,
    state: list[State] | None = options.IN_STATES,
    filters: FilterFields,
) -> None:
    """Show memories, the newest first.

    The own ones, and with their owner those that others share.
    """
    more = options.without_none({"states": state or None, "owner": owner})
    chosen = cast("ListFields", filters | more)
    with run.reading(ListAnswer(memories=(), states={}, as_data=(), next=None)) as mind:
        # One more than is shown tells whether there is another page.
        page = mind.list(
            limit=limit + (not by_importance),
            after=read_cursor(after) if after and len(after) > _LONGEST_ID else after or None,
            newest_first=not oldest_first,
            by_importance=by_importance,
            **chosen,
        )
        answer = ListAnswer.of(mind, page, limit, chosen.get("as_of"))
    run.reply_rows(
        answer,
        answer.memories,
        lambda: memory_list(answer.memories, answer.states, mind.scope.user, answer.outdated),
        "No memory matches.",
    )


def get(
    run: Session,
    id: str = options.ID,
    versions: bool = flag("--versions", "Show every version of it."),
) -> None:
    """Show a memory with all its fields, links and versions."""
    with run.existing() as mind:
        answer = GetAnswer.of(mind, mind.get(id))
        memory = answer.memory
        own = memory.owner == mind.scope.user
        lines = {} if run.as_json else _lines(mind, memory.id, answer.links)
        card = (
            mind.graph.of_memory(memory.id)
            if own
            else MemoryCard(id=memory.id, concepts={}, relations=())
        )
    more = _graph_rows(card) if own else [("owner", styled(memory.owner, NOTICE))]

    def human() -> Iterable[RenderableType]:
        yield _memory_card(answer, lines, more)
        if versions and own:
            yield styled("")
            yield _version_table([*answer.earlier, memory])

    run.reply(codec.to_data(answer) | _graph_data(card), human)


def why(
    run: Session,
    id: str = options.ID,
    depth: int = option(
        "--depth", "How many steps back, at most.", USUAL_DEPTH, min=1, max=DEEPEST
    ),
) -> None:
    """Show what led to a memory."""
    with run.existing() as mind:
        answer = WhyAnswer.of(mind, mind.why(id, depth=depth))
        card = mind.graph.of_memory(answer.memory.id)
    run.reply(
        codec.to_data(answer) | _graph_data(card), lambda: [_why_tree(answer, _graph_rows(card))]
    )


def timeline(
    run: Session,
    around: str | None = argument(
        "ID|MOMENT", "A memory, or a time: 2026-11-15, 3d; now by default.", None
    ),
    before: int = option("--before", "How many before it.", 5, min=0, max=LARGEST_LIMIT),
    after: int = option("--after", "How many after it.", 5, min=0, max=LARGEST_LIMIT),
    session: str | None = options.OF_SESSION,
    owner: str | None = options.OF_OWNER,
    same_session: bool = flag("--same-session", "Only of the session of that memory."),
) -> None:
    """Show what was remembered around a memory or a moment.

    By this user, and by others as far as they share it.
    """
    now = datetime.now(UTC)
    moment = None
    if around is None or is_time(around):
        moment = check_past(around, "the moment", now) or now
    nothing = TimelineAnswer(
        moment=moment or now, anchor=None, before=(), after=(), states={}, as_data=()
    )
    with run.existing() if moment is None else run.reading(nothing) as mind:
        named = options.without_none({"session": session, "owner": owner})
        chosen = cast("ListFields", named)
        if same_session:
            chosen = _same_session(mind, None if moment else around, chosen)
        around_it = mind.timeline(moment or str(around), before=before, after=after, **chosen)
        answer = TimelineAnswer.of(mind, around_it)
    user = mind.scope.user
    run.reply(answer, lambda: [_timeline_table(answer, user)])


def history(
    run: Session,
    thing: list[str] = argument("THING", "What has changed."),
    limit: int = option("--limit", "Most chains of states.", 3, min=1, max=LARGEST_LIMIT),
) -> None:
    """Show how something changed: its states in order."""
    text = " ".join(thing)
    with run.reading(HistoryAnswer(thing=text, chains=(), as_data=())) as mind:
        answer = HistoryAnswer.of(mind, mind.history(text, limit=limit))
    user = mind.scope.user
    run.reply_rows(
        answer, answer.chains, lambda: _history_table(answer, user), "No memory matches."
    )


# ---- what they share ---------------------------------------------------------------------------


def _lines(mind: Mind, id_: MemoryId, links: Iterable[Link]) -> dict[MemoryId, str]:
    """One line of each linked memory; one that is to come by a later sync has none yet."""
    lines: dict[MemoryId, str] = {}
    for end in {end for link in links for end in (link.source, link.target)} - {id_}:
        with suppress(MemoryNotFound):
            lines[end] = one_line(mind.get(end).content)
    return lines


def _graph_rows(value: MemoryCard) -> list[tuple[str, Text]]:
    """What a memory mentions and states, as rows of its fields."""
    labels = {each.name: each.label for concepts in value.concepts.values() for each in concepts}
    rows = [("concepts", styled(", ".join(labels.values())))] if labels else []
    return rows + [("relation", statement(each, labels)) for each in value.relations]


def _graph_data(value: MemoryCard) -> dict[str, Any]:
    return {
        "concepts": [
            {"name": each.name, "label": each.label, "kind": each.kind, "role": role}
            for role, concepts in value.concepts.items()
            for each in concepts
        ],
        "relations": value.relations,
    }


def _same_session(mind: Mind, id_: str | None, chosen: ListFields) -> ListFields:
    """The session of a memory; others may have one of that name, so its owner belongs to it."""
    if id_ is None:
        raise InvalidInput("--same-session needs a memory", hint="Give an id, or --session NAME.")
    memory = mind.get(id_)
    if memory.provenance.session is None:
        raise InvalidInput(f"memory {memory.id} has no session", hint="Name one with --session.")
    return {"owner": memory.owner, **chosen, "session": memory.provenance.session}


def _memory_card(
    answer: GetAnswer, lines: Mapping[MemoryId, str], more: Iterable[tuple[str, Text]]
) -> RenderableType:
    """A memory with all its fields and links; `lines` has one line of each linked memory."""
    value = answer.memory
    origin = value.provenance
    outdated = answer.outdated
    rows: dict[str, str] = {
        "state": outdated_words(outdated) if outdated else state_words(value, answer.state),
        "category": value.category,
        "tags": ", ".join(value.tags),
        "keywords": ", ".join(value.keywords),
        "importance": f"{value.importance:g}",
        "created": minute(value.created_at),
        "updated": minute(value.updated_at) if value.version > 1 else "",
        "deleted": minute(value.deleted_at),
        "valid from": minute(value.valid_from),
        "valid to": minute(value.valid_to),
        "agent": origin.agent or "",
        "session": origin.session or "",
        "project": origin.project or "",
        "source": origin.source or "",
        "trust": origin.trust,
        "version": str(value.version),
    }
    table = fields(rows)
    for link in answer.links:
        outgoing = link.source == value.id
        other = link.target if outgoing else link.source
        line = towards(in_words(link), other, lines.get(other, ""), outgoing=outgoing)
        table.add_row(styled("link", QUIET), line)
    for name, shown_as in more:
        table.add_row(styled(name, QUIET), shown_as)
    return group(styled(value.id, ID), styled(value.content), styled(""), table)


def _version_table(values: Sequence[Memory]) -> RenderableType:
    table = grid(">", "-", "")
    for value in values:
        what = styled("deleted", NOTICE) if value.deleted_at else styled(value.content)
        table.add_row(styled(f"v{value.version}", QUIET), styled(minute(value.updated_at)), what)
    return table


# ---- history -----------------------------------------------------------------------------------


def _why_tree(value: WhyAnswer, more: Iterable[tuple[str, Text]]) -> RenderableType:
    """What led to a memory, as a tree; `more` is what else is known of the memory itself."""
    root = tree(_leaf(value.memory, outdated=value.outdated.get(value.memory.id)))
    nodes = {value.memory.id: root}
    for newer in value.superseded_by:
        root.add(_leaf(newer, "superseded by"))
    for version in value.versions[:-1]:
        changed = f"version {version.version}, {minute(version.updated_at)}"
        root.add(parts(changed, one_line(version.content)))
    for step in value.steps:
        parent, word = step.link.source, step.link.kind.replace("-", " ")
        if step.link.kind is LinkKind.CAUSES:  # which reads the other way round
            parent, word = step.link.target, "caused by"
        outdated = value.outdated.get(step.memory.id)
        nodes[step.memory.id] = nodes[parent].add(_leaf(step.memory, word, outdated))
    for name, known in more:
        root.add(styled(f"{name} ", QUIET).append_text(known))
    return root


def _leaf(memory: Memory, word: str = "", outdated: Outdated | None = None) -> Text:
    line = styled(f"{word} " if word else "", QUIET).append(memory.id, style=ID)
    line.append("  ").append(safe(one_line(memory.content)), style="default")
    return styled("\n").join(
        [line, parts(*facts(memory), *origins(memory), outdated_mark(outdated))]
    )


def _timeline_table(value: TimelineAnswer, user: str) -> RenderableType:
    table = grid("-", "-", "")
    for memory in (*value.before, value.anchor, *value.after):
        if memory is None:
            table.add_row(styled(minute(value.moment), STRONG), "", styled("◂", STRONG))
            continue
        style = STRONG if memory is value.anchor else ""
        what = styled(listed_line(memory.content), style)
        when = styled(minute(memory.created_at), style or QUIET)
        table.add_row(when, styled(memory.id, ID), what)
        outdated = value.outdated.get(name_among(value.states, memory.owner, memory.id))
        if marks := parts(shared_by(memory, user), outdated_mark(outdated)):
            table.add_row("", "", marks)
    return table


_BY = {
    Decider.SCORER: "the scorer",
    Decider.MODEL: "a model",
    Decider.AGENT: "an agent",
    Decider.PERSON: "a person",
}


def _history_table(value: HistoryAnswer, user: str) -> RenderableType:
    table = grid("-", "")
    for number, chain in enumerate(value.chains):
        if number:
            table.add_row("", "")
        moments = [moment for state in chain for moment in (state.since, state.until)]
        for state in chain:
            memory = state.memory
            span = times.span_in_words(state.since, state.until, moments)
            table.add_row(styled(span, "" if state.until else STRONG), styled(memory.content))
            facts = [shared_by(memory, user), *origins(memory), _decision(state.outdated)]
            table.add_row("", parts(styled(memory.id, ID), *facts))
    return table


def _decision(outdated: Outdated | None) -> str:
    """By which memory another is outdated, who or what decided that, and how sure it is."""
    if outdated is None:
        return ""
    sure = "" if outdated.probability == 1.0 else f", {outdated.probability:.0%} sure"
    return f"outdated by {outdated.by} (decided by {_BY[outdated.decided_by]}{sure})"


# ---- statistics ----------------------------------------------------------------------------------

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
        "to_compare": work.to_compare,
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
    unread = _unfinished(work.of_kind(EXTRACT), "to read")
    rows = {
        "store": f"{place} ({facts})",
        "live": f"{value.live:,}",
        "superseded": f"{value.superseded:,}",
        "expired": f"{value.expired:,}",
        "not yet valid": f"{value.not_yet_valid:,}" if value.not_yet_valid else "",
        "deleted": f"{value.deleted:,}",
        "earlier versions": f"{value.earlier_versions:,}",
        "links": f"{value.links:,}",
        "embedded": _embedded(work),
        "graph": f"{many(graph.concepts, 'concept')}, {many(graph.relations, 'relation')}{unread}"
        if work.extractor or graph.concepts
        else "",
        "changes": f"{memory_count(work.to_compare)} to compare" if work.to_compare else "",
        "categories": _counted(value.categories),
        "tags": _counted(value.tags),
        "oldest": minute(value.oldest),
        "newest": minute(value.newest),
        "shared with you": f"{value.shared:,} by {many(value.sharers, 'user')}"
        if value.shared
        else "",
    }
    return fields(rows)


def _embedded(work: WorkStatus) -> str:
    waiting = _unfinished(work.of_kind(EMBED), "waiting")
    if work.meaning_off is not None:
        return f"none: {work.meaning_off.reason}{waiting}"
    if work.active is None:
        return ""
    return f"{work.active.embedded:,} by {work.active.space.model}{waiting}"


def _unfinished(work: WorkStatus, waiting: str) -> str:
    also = {waiting: work.waiting, "given up": work.dead}
    return "".join(f", {count:,} {what}" for what, count in also.items() if count)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
