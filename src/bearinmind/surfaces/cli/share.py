"""The commands about sharing: who else sees which memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.errors import InvalidShare
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.terminal import ID, QUIET, STRONG, day, grid, styled
from bearinmind.types import Right, Share

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

app = typer.Typer(no_args_is_help=True, help="Let other users see memories, or change them.")
_Reader = Annotated[str, typer.Argument(metavar="USER", help="The name of the other user.")]
_Tag = Annotated[str, typer.Argument(metavar="TAG", help="A tag; memories may get it later.")]
_Write = Annotated[
    bool, typer.Option("--write", help="They may also update, delete and restore it.")
]


@app.command("memory")
def share_memory(run: Session, id: options.Id, reader: _Reader, write: _Write = False) -> None:
    """Let another user see one memory."""
    with run.existing() as mind:
        share = mind.share(id, reader, _right(write=write))
    _reply(run, share)


@app.command("tag")
def share_tag(run: Session, tag: _Tag, reader: _Reader, write: _Write = False) -> None:
    """Let another user see all memories with a tag, now and from now on."""
    with run.open() as mind:
        share = mind.share_tag(tag, reader, _right(write=write))
    _reply(run, share)


@app.command("end")
def end(
    run: Session,
    what: Annotated[
        str, typer.Argument(metavar="ID", help="The id of a memory, or with --tag the tag.")
    ],
    reader: _Reader,
    tag: Annotated[bool, typer.Option("--tag", help="End the share of a tag.")] = False,
) -> None:
    """Take back what was shared; it holds at once."""
    with run.existing() as mind:
        share = mind.unshare_tag(what, reader) if tag else mind.unshare(what, reader)
    _reply(run, share)


@app.command("list")
def list_shares(
    run: Session,
    with_me: Annotated[
        bool, typer.Option("--with-me", help="Only what others share with you.")
    ] = False,
    mine: Annotated[bool, typer.Option("--mine", help="Only what you share with others.")] = False,
) -> None:
    """Show what you share, and what others share with you."""
    if with_me and mine:
        raise InvalidShare("--with-me and --mine leave nothing to show", hint="Give one of them.")
    with run.reading({"mine": [], "with_me": []}) as mind:
        own: Sequence[Share] = [] if with_me else mind.my_shares()
        others: Sequence[Share] = [] if mine else mind.shared_with_me()
    run.reply({"mine": own, "with_me": others}, lambda: [_share_table(own, others)])


def _right(*, write: bool) -> Right:
    return Right.WRITE if write else Right.READ


def _reply(run: Session, share: Share) -> None:
    run.reply({"share": share}, lambda: [_done_line(share)])


_MAY = {Right.READ: "may read", Right.WRITE: "may read and write"}


def _done_line(value: Share) -> RenderableType:
    """What was just shared, or taken back."""
    line = styled("Shared " if value.ended_at is None else "Ended the share of ")
    line.append_text(_what(value)).append(" with ").append_text(styled(value.reader, STRONG))
    return line if value.ended_at else line.append(f", who {_MAY[value.right]}")


def _share_table(own: Sequence[Share], others: Sequence[Share]) -> RenderableType:
    """What a user shares, and what others share with that user."""
    if not own and not others:
        return styled("Nothing is shared.")
    table = grid("-", "-", "-", "")
    for value in own:
        _row(table, value, styled("with ", QUIET).append_text(styled(value.reader, STRONG)))
    for value in others:
        _row(table, value, styled("by ", QUIET).append_text(styled(value.owner, STRONG)))
    return table


def _row(table: Table, value: Share, whom: Text) -> None:
    since = styled(f"since {day(value.created_at)}", QUIET)
    table.add_row(whom, _what(value), styled(value.right), since)


def _what(value: Share) -> Text:
    if value.memory is not None:
        return styled(value.memory, ID)
    return styled(f"#{value.tag}", ID)
