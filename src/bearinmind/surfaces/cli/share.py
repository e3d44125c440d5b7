"""The commands about sharing: who else sees which memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from bearinmind.errors import InvalidShare
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import guarded
from bearinmind.surfaces.cli.session import Session
from bearinmind.types import Right, Share

app = typer.Typer(no_args_is_help=True, help="Let other users see memories, or change them.")

_Reader = Annotated[str, typer.Argument(metavar="USER", help="The name of the other user.")]
_Tag = Annotated[str, typer.Argument(metavar="TAG", help="A tag; memories may get it later.")]
_Write = Annotated[
    bool, typer.Option("--write", help="They may also update, delete and restore it.")
]


@app.command("memory")
@guarded
def share_memory(
    ctx: typer.Context,
    id: options.Id,
    reader: _Reader,
    write: _Write = False,
    as_json: options.Json = False,
) -> None:
    """Let another user see one memory."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as memories:
        share = memories.share(id, reader, _right(write=write))
    _reply(run, share)


@app.command("tag")
@guarded
def share_tag(
    ctx: typer.Context,
    tag: _Tag,
    reader: _Reader,
    write: _Write = False,
    as_json: options.Json = False,
) -> None:
    """Let another user see all memories with a tag, now and from now on."""
    run = Session.of(ctx, as_json=as_json)
    with run.open() as memories:
        share = memories.share_tag(tag, reader, _right(write=write))
    _reply(run, share)


@app.command("end")
@guarded
def end(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(metavar="ID", help="The id of a memory, or with --tag the tag."),
    ],
    reader: _Reader,
    tag: Annotated[bool, typer.Option("--tag", help="End the share of a tag.")] = False,
    as_json: options.Json = False,
) -> None:
    """Take back what was shared; it holds at once."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as memories:
        share = memories.unshare_tag(what, reader) if tag else memories.unshare(what, reader)
    _reply(run, share)


@app.command("list")
@guarded
def list_shares(
    ctx: typer.Context,
    with_me: Annotated[
        bool, typer.Option("--with-me", help="Only what others share with you.")
    ] = False,
    mine: Annotated[bool, typer.Option("--mine", help="Only what you share with others.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show what you share, and what others share with you."""
    run = Session.of(ctx, as_json=as_json)
    if with_me and mine:
        raise InvalidShare("--with-me and --mine leave nothing to show", hint="Give one of them.")
    found = run.find()
    if found is None:
        run.reply_empty({"mine": [], "with_me": []})
        return
    with found as memories:
        own: Sequence[Share] = [] if with_me else memories.my_shares()
        others: Sequence[Share] = [] if mine else memories.shared_with_me()
    run.reply(
        {
            "mine": [lazy.machine_sharing.share(each) for each in own],
            "with_me": [lazy.machine_sharing.share(each) for each in others],
        },
        lambda: [lazy.render_sharing.shares(own, others)],
    )


def _right(*, write: bool) -> Right:
    return Right.WRITE if write else Right.READ


def _reply(run: Session, share: Share) -> None:
    run.reply(
        {"share": lazy.machine_sharing.share(share)}, lambda: [lazy.render_sharing.done(share)]
    )
