"""Shares as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from bearinmind.surfaces.render import ID, QUIET, STRONG, data, day, grid
from bearinmind.types import Right, Share

_MAY = {Right.READ: "may read", Right.WRITE: "may read and write"}


def done(value: Share) -> RenderableType:
    """What was just shared, or taken back."""
    line = Text("Shared " if value.ended_at is None else "Ended the share of ")
    line.append_text(_what(value)).append(" with ").append_text(data(value.reader, STRONG))
    return line if value.ended_at else line.append(f", who {_MAY[value.right]}")


def shares(own: Sequence[Share], others: Sequence[Share]) -> RenderableType:
    """What a user shares, and what others share with that user."""
    if not own and not others:
        return Text("Nothing is shared.")
    table = grid("-", "-", "-", "")
    for value in own:
        _row(table, value, Text("with ", QUIET).append_text(data(value.reader, STRONG)))
    for value in others:
        _row(table, value, Text("by ", QUIET).append_text(data(value.owner, STRONG)))
    return table


def _row(table: Table, value: Share, whom: Text) -> None:
    since = Text(f"since {day(value.created_at)}", QUIET)
    table.add_row(whom, _what(value), Text(value.right), since)


def _what(value: Share) -> Text:
    if value.memory is not None:
        return Text(value.memory, ID)
    return data(f"#{value.tag}", ID)
