"""The commands of curation: what could be tidied up, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bearinmind import codec
from bearinmind.app.curation import Curation
from bearinmind.app.requests import MOST_PROPOSALS
from bearinmind.curate.hygiene import Issue
from bearinmind.curate.review import Review
from bearinmind.errors import InvalidInput, MindError, ProposalNotFound
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.remember.admit import check_past
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    BAD,
    GOOD,
    ID,
    NOTICE,
    QUIET,
    STRONG,
    Session,
    day,
    fields,
    group,
    many,
    memory_count,
    minute,
    parts,
    styled,
)
from bearinmind.surfaces.failures import meaning_of
from bearinmind.text.analysis import one_line
from bearinmind.types import LinkKind, Memory, MemoryId, Resolution

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

app = typer.Typer(invoke_without_command=True)
_ProposalIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="Ids of proposals, or any unambiguous beginnings."),
]
_AllOf = Annotated[
    ProposalKind | None,
    typer.Option("--all-of", help="Every open proposal of this kind, instead of ids."),
]
_DECIDED = (ProposalState.APPLIED, ProposalState.DISMISSED, ProposalState.UNDONE)


@app.callback()
def curate(
    run: Session,
    ctx: typer.Context,
    propose: bool = flag("--propose", "Put what is new into the inbox; still no change."),
    since: str | None = option("--since", "Only what was written since: 2026-11-15, 12h, 3d, 2w."),
    ask: bool = flag("--ask", "Ask the model of `llm_url` about doubtful pairs: it costs."),
) -> None:
    """Show what could be tidied up; nothing is changed.

    Near-duplicates, contradictions, what is out of date, and categories that are spelled in two
    ways. With --propose it goes into the inbox, where each is applied or dismissed.

    Example: bearinmind curate --propose
    """
    if ctx.invoked_subcommand is not None:
        return
    moment = check_past(since, "--since", datetime.now(UTC))
    with run.reading({"memories": 0, "proposals": []}) as mind:
        look = mind.curation.review(propose=propose, since=moment, ask=ask)
        texts = mind.curation.memories(look.proposals)
    if look.trouble:
        run.note(f"the model was not asked about everything: {look.trouble}")
    run.reply(
        {
            "memories": look.memories,
            "by_meaning": look.by_meaning,
            "proposed": propose,
            "proposals": [
                _proposal_data(each, texts) | {"known": each.id in look.known}
                for each in look.proposals
            ],
        },
        lambda: _look_lines(look, texts, proposed=propose),
    )


@app.command("inbox")
def inbox(
    run: Session,
    every: bool = flag("--all", "Also those that were decided, last first."),
) -> None:
    """Show the proposals that wait for a decision.

    Example: bearinmind curate inbox
    """
    _list(run, [*ProposalState] if every else [ProposalState.OPEN])


@app.command("log")
def log(run: Session) -> None:
    """Show what was decided, the last first: applied, dismissed or undone.

    Example: bearinmind curate log
    """
    _list(run, _DECIDED)


@app.command("show")
def show(
    run: Session,
    id: str = argument("ID", "The id of a proposal, or any unambiguous beginning."),
) -> None:
    """Show one proposal with the memories that it is about.

    Example: bearinmind curate show k7f2
    """
    with run.existing(ProposalNotFound) as mind:
        proposal = mind.curation.proposal(id)
        texts = mind.curation.memories([proposal])
        because = [*mind.curation.because(proposal)]
    run.reply(
        _proposal_data(proposal, texts) | {"because": because},
        lambda: [_proposal_card(proposal, texts, because)],
    )


@app.command("apply")
def apply(
    run: Session,
    ids: _ProposalIds = None,
    all_of: _AllOf = None,
    resolution: Resolution | None = option(
        "--as", "Which of two memories holds: newer, older, both, or merge."
    ),
) -> None:
    """Do what proposals say; it can be undone.

    What would hide the last retrievable copy of a fact is refused. Of two memories that may be
    states of one thing, --as says which holds: the newer, as without it, the older, or both; with
    merge the newer is served in place of the older.

    Example: bearinmind curate apply k7f2 --as older
    """
    if all_of is ProposalKind.REVIEW:
        raise InvalidInput(
            "reviews cannot be applied all at once: a person must look at each",
            hint="Name them one by one, or dismiss them.",
        )
    if all_of is ProposalKind.OUTDATE and resolution is None:
        raise InvalidInput(
            "which of two memories holds must be said for all of them at once",
            hint="Add --as newer, or decide on them one by one.",
        )
    _decide(run, ids, all_of, partial(Curation.apply, resolution=resolution))


@app.command("dismiss")
def dismiss(run: Session, ids: _ProposalIds = None, all_of: _AllOf = None) -> None:
    """Decide against proposals; they are not made again.

    Of two memories that may be states of one thing, both hold then.

    Example: bearinmind curate dismiss k7f2
    """
    _decide(run, ids, all_of, Curation.dismiss)


@app.command("undo")
def undo(run: Session, ids: _ProposalIds = None) -> None:
    """Take back what decided proposals did.

    Example: bearinmind curate undo k7f2
    """
    _decide(run, ids, None, Curation.undo, hint="Give ids; `curate inbox --all` shows them.")


@app.command("report")
def report(run: Session) -> None:
    """Show what is untidy: twins, fragments, dangling links, orphans, what is too long.

    Example: bearinmind curate report
    """
    with run.reading({"memories": 0, "links": 0, "found": []}) as mind:
        answer = mind.curation.hygiene()
    counted = many(answer.memories, "live memory", "live memories")
    run.reply(
        {
            **codec.to_data(answer),
            "found": [codec.to_data(each) | {"count": each.count} for each in answer.found],
        },
        lambda: [styled(f"{counted}, {many(answer.links, 'link')}"), *map(_untidy, answer.found)],
    )


def _list(run: Session, states: Sequence[ProposalState]) -> None:
    with run.reading({"proposals": []}) as mind:
        proposals = mind.curation.proposals(states, limit=MOST_PROPOSALS)
        texts = mind.curation.memories(proposals)
    run.reply(
        {"proposals": [_proposal_data(each, texts) for each in proposals]},
        lambda: [_proposal_list(proposals, texts)],
    )


def _decide(
    run: Session,
    ids: list[str] | None,
    all_of: ProposalKind | None,
    verb: Callable[[Curation, str], Proposal],
    *,
    hint: str = "Give ids, or --all-of KIND.",
) -> None:
    """Decide on each of some proposals; the first failure gives the exit code."""
    if not ids and all_of is None:
        raise InvalidInput("say which proposals are meant", hint=hint)
    if ids and all_of is not None:
        raise InvalidInput(
            f"both ids and --all-of {all_of} were given", hint="Give ids or --all-of, not both."
        )
    done: list[Proposal] = []
    failed: list[tuple[str, MindError]] = []
    with run.existing(ProposalNotFound) as mind:
        listed = () if ids else mind.curation.proposals(limit=MOST_PROPOSALS)
        chosen = ids or [each.id for each in listed if each.kind is all_of]
        for id_ in chosen:
            try:
                done.append(verb(mind.curation, id_))
            except MindError as exc:
                if len(chosen) == 1:
                    raise
                failed.append((id_, exc))
    failures = [{"id": id_, "error": exc} for id_, exc in failed]
    run.reply({"decided": done, "failed": failures}, lambda: _decided_lines(done, failed))
    if failed:
        raise typer.Exit(meaning_of(failed[0][1]).exit_code)


_SHOWN = 5  # memories of one kind of untidiness that are named
_MEANING = {
    Resolution.NEWER: "the first one holds now, the second is outdated",
    Resolution.OLDER: "the second one holds, the first is outdated",
    Resolution.BOTH: "both hold",
    Resolution.MERGE: "the first one is served in place of the second",
}
Texts = Mapping[MemoryId, Memory]


def _look_lines(value: Review, texts: Texts, *, proposed: bool) -> Iterator[RenderableType]:
    how = "by words and meaning" if value.by_meaning else "by words alone: nothing is embedded"
    shown = [each for each in value.proposals if each.id not in value.known]
    if shown:
        yield _proposal_list(shown, texts)
    looked = f"Looked at {memory_count(value.memories)} {how}."
    if proposed:
        yield styled(f"{looked} {many(len(shown), 'proposal')} went into the inbox.")
        if shown:
            yield styled(
                "bearinmind curate show ID, apply ID and dismiss ID decide on them.", QUIET
            )
        return
    yield styled(f"{looked} {many(len(shown), 'proposal')} could be made; nothing was changed.")
    if value.known:
        yield styled(
            f"{many(len(value.known), 'other')} was made before: curate inbox --all.", QUIET
        )
    if shown:
        yield styled("bearinmind curate --propose puts them into the inbox.", QUIET)


def _proposal_list(values: Sequence[Proposal], texts: Texts) -> RenderableType:
    if not values:
        return styled("No proposals.")
    return group(*(group(_head(x), *(_memory(id_, texts) for id_ in x.memories)) for x in values))


def _proposal_card(value: Proposal, texts: Texts, because: Sequence[str]) -> RenderableType:
    said = {name: x for name, x in (value.evidence | value.change).items() if x is not None}
    facts = {k: ", ".join(x) if isinstance(x, list | tuple) else str(x) for k, x in said.items()}
    facts |= {"because": "; ".join(because)} if because else {}
    times = [("made", minute(value.created_at)), (value.state, minute(value.decided_at))]
    memories = [_memory(id_, texts, whole=True) for id_ in value.memories]
    return group(
        _head(value), *memories, fields([*facts.items(), *times]), *_settling(value, texts)
    )


def _decided_lines(
    done: Sequence[Proposal], failed: Sequence[tuple[str, MindError]]
) -> Iterator[RenderableType]:
    for value in done:
        line = styled(f"{value.state.capitalize()} ").append(value.id, ID)
        word = value.undo.get("resolution")
        how = f"{value.kind}, {word}" if word else value.kind
        yield line.append(f"  {how}: ").append_text(styled(value.reason))
    for id_, error in failed:
        line = styled("Not done ", BAD).append_text(styled(id_, ID))
        yield line.append(": ").append_text(styled(error.message))
    if not done and not failed:
        yield styled("There is no such proposal in the inbox.")


def _head(value: Proposal) -> Text:
    head = styled(value.id, ID).append("  ").append(value.kind, STRONG)
    if value.state is not ProposalState.OPEN:
        head.append(f" {value.state}", GOOD if value.state is ProposalState.APPLIED else QUIET)
    return head.append(f"  {value.origin}: ", QUIET).append_text(styled(value.reason))


def _memory(id_: MemoryId, texts: Texts, *, whole: bool = False) -> RenderableType:
    memory = texts.get(id_)
    if memory is None:
        return styled("  ").append(id_, ID).append("  is no longer there", QUIET)
    content = memory.content if whole else one_line(memory.content)
    about = parts(memory.category, *(f"#{tag}" for tag in memory.tags), day(memory.created_at))
    line = styled("  ").append(id_, ID).append("  ").append_text(styled(content))
    return line.append("  ").append_text(about) if whole else line


def _settling(value: Proposal, texts: Texts) -> list[Text]:
    """The commands that settle what a person has to look at, or follow from a decision."""
    if value.undo.get("resolution") == Resolution.NEWER:
        newer, older = value.memories
        if value.state is ProposalState.APPLIED and newer in texts:
            end = f"bearinmind update {older} --valid-to {day(texts[newer].created_at)}"
            return [styled(f"{end}: it expires, and is recalled no more", QUIET)]
    if value.state is not ProposalState.OPEN:
        return []
    if value.kind is ProposalKind.OUTDATE:
        command = f"bearinmind curate apply {value.id} --as"
        return [styled(f"{command} {word}: {means}", QUIET) for word, means in _MEANING.items()]
    if value.kind is not ProposalKind.REVIEW:
        return []
    lines = [styled(f"bearinmind curate dismiss {value.id}: both hold", QUIET)]
    if len(value.memories) > 1:
        newer, older = value.memories[:2]
        serve = f"bearinmind link {newer} {LinkKind.SUPERSEDES} {older}: the newer one holds"
        lines.append(styled(serve, QUIET))
    return [*lines, styled(f"bearinmind curate apply {value.id}: it is settled", QUIET)]


def _untidy(value: Issue) -> RenderableType:
    style = NOTICE if value.count else GOOD
    line = styled(f"{value.count:>6,}  ", style).append(value.name, STRONG)
    if not value.count:
        return line
    named: list[str] = [f"{x.source} {x.kind} {x.target}" for x in value.links] or [*value.memories]
    more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
    return group(
        line.append(f": {value.meaning}"),
        styled("        ").append(", ".join(named[:_SHOWN]) + more, ID),
        styled(f"        {value.remedy}", QUIET),
    )


def _proposal_data(value: Proposal, texts: Texts) -> dict[str, Any]:
    """A proposal; with the contents of its memories where they are given."""
    contents = {id_: texts[id_].content for id_ in value.memories if id_ in texts}
    return {**codec.to_data(value), **({"contents": contents} if contents else {})}
