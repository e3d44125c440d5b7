"""Proposals and reports of curation as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from bearinmind.curate.curating import Look
from bearinmind.curate.hygiene import Report, Untidy
from bearinmind.errors import MindError
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.recall.attach import one_line
from bearinmind.surfaces.render import (
    BAD,
    GOOD,
    ID,
    NOTICE,
    QUIET,
    STRONG,
    data,
    day,
    grid,
    many,
    minute,
    parts,
)
from bearinmind.types import LinkKind, Memory, MemoryId

_SHOWN = 5  # memories of one kind of untidiness that are named
_STYLES = {
    ProposalState.OPEN: NOTICE,
    ProposalState.APPLIED: GOOD,
    ProposalState.DISMISSED: QUIET,
    ProposalState.UNDONE: QUIET,
}
_DONE = {
    ProposalState.APPLIED: "Applied ",
    ProposalState.DISMISSED: "Dismissed ",
    ProposalState.UNDONE: "Undone ",
}

Texts = Mapping[MemoryId, Memory]


def look(value: Look, texts: Texts, *, proposed: bool) -> Iterator[RenderableType]:
    """What curation found."""
    how = "by words and meaning" if value.by_meaning else "by words alone: nothing is embedded"
    shown = [each for each in value.proposals if each.id not in value.known]
    if shown:
        yield proposals(shown, texts)
    looked = f"Looked at {many(value.memories, 'memory', 'memories')} {how}."
    if proposed:
        yield Text(f"{looked} {many(len(shown), 'proposal')} went into the inbox.")
        if shown:
            yield Text("bearinmind curate show ID, apply ID and dismiss ID decide on them.", QUIET)
        return
    yield Text(f"{looked} {many(len(shown), 'proposal')} could be made; nothing was changed.")
    if value.known:
        yield Text(f"{many(len(value.known), 'other')} was made before: curate inbox --all.", QUIET)
    if shown:
        yield Text("bearinmind curate --propose puts them into the inbox.", QUIET)


def proposals(values: Sequence[Proposal], texts: Texts) -> RenderableType:
    """Proposals, each with the memories that it is about."""
    if not values:
        return Text("No proposals.")
    return Group(*(_lines(value, texts) for value in values))


def whole(value: Proposal, texts: Texts) -> RenderableType:
    """Everything about one proposal."""
    facts = grid("-", "")
    for name, figure in (value.evidence | value.change).items():
        facts.add_row(data(name, QUIET), data(str(figure)))
    facts.add_row(Text("made", QUIET), Text(minute(value.created_at)))
    if value.decided_at:
        facts.add_row(Text(value.state, QUIET), Text(minute(value.decided_at)))
    memories = [_memory(id_, texts, whole=True) for id_ in value.memories]
    return Group(_head(value), *memories, facts, *_settling(value))


def decided(
    done: Sequence[Proposal], failed: Sequence[tuple[str, MindError]]
) -> Iterator[RenderableType]:
    """What became of some proposals."""
    for value in done:
        line = Text(_DONE[value.state]).append(value.id, ID)
        yield line.append(f"  {value.kind}: ").append_text(data(value.reason))
    for id_, error in failed:
        yield (
            Text("Not done ", BAD)
            .append_text(data(id_, ID))
            .append(": ")
            .append_text(data(error.message))
        )
    if not done and not failed:
        yield Text("There is no such proposal in the inbox.")


def report(value: Report) -> RenderableType:
    """What is untidy, and what to do about it."""
    head = Text(
        f"{many(value.memories, 'live memory', 'live memories')}, {many(value.links, 'link')}"
    )
    return Group(head, *(_untidy(each) for each in value.found))


def _lines(value: Proposal, texts: Texts) -> RenderableType:
    return Group(_head(value), *(_memory(id_, texts) for id_ in value.memories))


def _head(value: Proposal) -> Text:
    head = Text(value.id, ID).append("  ").append(value.kind, STRONG)
    if value.state is not ProposalState.OPEN:
        head.append(f" {value.state}", _STYLES[value.state])
    return head.append(f"  {value.origin}: ", QUIET).append_text(data(value.reason))


def _memory(id_: MemoryId, texts: Texts, *, whole: bool = False) -> RenderableType:
    memory = texts.get(id_)
    if memory is None:
        return Text("  ").append(id_, ID).append("  is no longer there", QUIET)
    content = memory.content if whole else one_line(memory.content)
    about = parts(memory.category, *(f"#{tag}" for tag in memory.tags), day(memory.created_at))
    line = Text("  ").append(id_, ID).append("  ").append_text(data(content))
    return line.append("  ").append_text(about) if whole else line


def _settling(value: Proposal) -> list[Text]:
    """How somebody acts on a review, of which nothing comes by itself."""
    if value.kind is not ProposalKind.REVIEW or value.state is not ProposalState.OPEN:
        return []
    lines = [Text(f"bearinmind curate dismiss {value.id}: both hold", QUIET)]
    if len(value.memories) > 1:
        newer, older = value.memories[:2]
        serve = f"bearinmind link {newer} {LinkKind.SUPERSEDES} {older}: the newer one holds"
        lines.append(Text(serve, QUIET))
    return [*lines, Text(f"bearinmind curate apply {value.id}: it is settled", QUIET)]


def _untidy(value: Untidy) -> RenderableType:
    style = NOTICE if value.count else GOOD
    line = Text(f"{value.count:>6,}  ", style).append(value.name, STRONG)
    if not value.count:
        return line
    named: list[str] = [f"{x.source} {x.kind} {x.target}" for x in value.links] or [*value.memories]
    more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
    return Group(
        line.append(f": {value.meaning}"),
        Text("        ").append(", ".join(named[:_SHOWN]) + more, ID),
        Text(f"        {value.remedy}", QUIET),
    )
