"""The commands of curation: what could be tidied up, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.app import Mind
from bearinmind.app.requests import MOST_PROPOSALS
from bearinmind.errors import InvalidInput, MindError, ProposalNotFound
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import exit_code, guarded
from bearinmind.surfaces.cli.session import Session
from bearinmind.types import Memory, MemoryId

if TYPE_CHECKING:
    from bearinmind.surfaces.machine import Data

app = typer.Typer(
    invoke_without_command=True,
    help="Find duplicates, contradictions and what is out of date.",
)

_Since = Annotated[
    str | None,
    typer.Option("--since", help="Only what was written since: 2026-11-15, 12h, 3d, 2w."),
]
_ProposalId = Annotated[
    str,
    typer.Argument(metavar="ID", help="The id of a proposal, or any unambiguous beginning."),
]
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
@guarded
def curate(
    ctx: typer.Context,
    propose: Annotated[
        bool, typer.Option("--propose", help="Put what is new into the inbox; still no change.")
    ] = False,
    since: _Since = None,
    ask: Annotated[
        bool,
        typer.Option("--ask", help="Ask the model of `llm_url` about doubtful pairs: it costs."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show what could be tidied up; nothing is changed.

    Near-duplicates, contradictions, what is out of date, and categories that are spelled in two
    ways. With --propose it goes into the inbox, where each is applied or dismissed.

    Example: bearinmind curate --propose
    """
    if ctx.invoked_subcommand is not None:
        return
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"memories": 0, "proposals": []})
        return
    moment = options.filter_fields(since=since).get("created_from")
    with found as memories:
        look = memories.curation.review(propose=propose, since=moment, ask=ask)
        texts = _named(memories, look.proposals)
    if look.trouble:
        run.note(f"the model was not asked about everything: {look.trouble}")
    run.reply(
        lazy.machine_curate.look(look, texts, proposed=propose),
        lambda: lazy.render_curate.look(look, texts, proposed=propose),
    )


@app.command("inbox")
@guarded
def inbox(
    ctx: typer.Context,
    every: Annotated[
        bool, typer.Option("--all", help="Also those that were decided, last first.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show the proposals that wait for a decision.

    Example: bearinmind curate inbox
    """
    _list(ctx, [*ProposalState] if every else [ProposalState.OPEN], as_json=as_json)


@app.command("log")
@guarded
def log(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show what was decided, the last first: applied, dismissed or undone.

    Example: bearinmind curate log
    """
    _list(ctx, _DECIDED, as_json=as_json)


@app.command("show")
@guarded
def show(ctx: typer.Context, id: _ProposalId, as_json: options.Json = False) -> None:
    """Show one proposal with the memories that it is about.

    Example: bearinmind curate show k7f2
    """
    run = Session.of(ctx, as_json=as_json)
    with _existing(run) as memories:
        proposal = memories.curation.proposal(id)
        texts = _named(memories, [proposal])
    run.reply(
        lazy.machine_curate.proposal(proposal, texts),
        lambda: [lazy.render_curate.whole(proposal, texts)],
    )


@app.command("apply")
@guarded
def apply(
    ctx: typer.Context,
    ids: _ProposalIds = None,
    all_of: _AllOf = None,
    as_json: options.Json = False,
) -> None:
    """Do what proposals say; it can be undone.

    What would hide the last retrievable copy of a fact is refused.

    Example: bearinmind curate apply k7f2
    """
    if all_of is ProposalKind.REVIEW:
        raise InvalidInput(
            "reviews cannot be applied all at once: each is for somebody to look at",
            hint="Name them one by one, or dismiss them.",
        )
    _decide(ctx, ids, all_of, lambda memories: memories.curation.apply, as_json=as_json)


@app.command("dismiss")
@guarded
def dismiss(
    ctx: typer.Context,
    ids: _ProposalIds = None,
    all_of: _AllOf = None,
    as_json: options.Json = False,
) -> None:
    """Decide against proposals; they are not made again.

    Example: bearinmind curate dismiss k7f2
    """
    _decide(ctx, ids, all_of, lambda memories: memories.curation.dismiss, as_json=as_json)


@app.command("undo")
@guarded
def undo(ctx: typer.Context, ids: _ProposalIds = None, as_json: options.Json = False) -> None:
    """Take back what applied proposals did.

    Example: bearinmind curate undo k7f2
    """
    _decide(ctx, ids, None, lambda memories: memories.curation.undo, as_json=as_json)


@app.command("report")
@guarded
def report(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show what is untidy: twins, fragments, dangling links, orphans, what is too long.

    Example: bearinmind curate report
    """
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"memories": 0, "links": 0, "found": []})
        return
    with found as memories:
        answer = memories.curation.hygiene()
    run.reply(lazy.machine_curate.report(answer), lambda: [lazy.render_curate.report(answer)])


def _list(ctx: typer.Context, states: Sequence[ProposalState], *, as_json: bool) -> None:
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"proposals": []})
        return
    with found as memories:
        proposals = memories.curation.proposals(states, limit=MOST_PROPOSALS)
        texts = _named(memories, proposals)
    run.reply(
        {"proposals": [lazy.machine_curate.proposal(each, texts) for each in proposals]},
        lambda: [lazy.render_curate.proposals(proposals, texts)],
    )


def _decide(
    ctx: typer.Context,
    ids: list[str] | None,
    all_of: ProposalKind | None,
    verb: Callable[[Mind], Callable[[str], Proposal]],
    *,
    as_json: bool,
) -> None:
    """Decide on each of some proposals; the first that fails is told by the exit code."""
    run = Session.of(ctx, as_json=as_json)
    if bool(ids) == (all_of is not None):
        raise InvalidInput("say which proposals are meant", hint="Give ids, or --all-of KIND.")
    done: list[Proposal] = []
    failed: list[tuple[str, MindError]] = []
    with _existing(run) as memories:
        listed = () if ids else memories.curation.proposals(limit=MOST_PROPOSALS)
        chosen = ids or [each.id for each in listed if each.kind is all_of]
        for id_ in chosen:
            try:
                done.append(verb(memories)(id_))
            except MindError as exc:
                if len(chosen) == 1:
                    raise
                failed.append((id_, exc))
    data: Data = {
        "decided": [lazy.machine_curate.proposal(each, {}) for each in done],
        "failed": [{"id": id_, **lazy.machine.error(exc)} for id_, exc in failed],
    }
    run.reply(data, lambda: lazy.render_curate.decided(done, failed))
    if failed:
        raise typer.Exit(exit_code(failed[0][1]))


def _named(memories: Mind, proposals: Sequence[Proposal]) -> dict[MemoryId, Memory]:
    """The memories that proposals are about."""
    named = {id_ for proposal in proposals for id_ in proposal.memories}
    return dict(memories.graph.memories(named)) if named else {}


def _existing(run: Session) -> Mind:
    found = run.find()
    if found is None:
        raise ProposalNotFound(f"nothing is stored yet in {str(run.place)!r}")
    return found
