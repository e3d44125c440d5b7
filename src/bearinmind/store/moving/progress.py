"""How far a move is, as the store that is moved into says itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import NamedTuple

from bearinmind import errors
from bearinmind.store.database import Parameters, Row, Transaction
from bearinmind.store.moving.ends import End, Snapshot
from bearinmind.store.moving.tables import TABLES

Counts = Mapping[str, int]  #: rows by table


class Description(NamedTuple):
    """What tells a store from what it was before, as far as counting can."""

    rows: Counts
    text: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Description:
        """The description of a store."""
        facts = {name: [rows, str(mark)] for name, rows, mark in snapshot.read("moving_facts")}
        described = {"release": version("bearinmind"), "tables": facts}
        counts = {name: rows for name, (rows, _) in facts.items()}
        return cls(counts, json.dumps(described, sort_keys=True))

    def differs_from(self, before: str) -> str:
        """In what, in words."""
        was, now = json.loads(before), json.loads(self.text)
        if was["release"] != now["release"]:
            return f"it was begun by Bear in Mind {was['release']}, this is {now['release']}"
        changed = [name for name, facts in now["tables"].items() if facts != was["tables"][name]]
        return f"other {', '.join(changed)}"


class Progress(NamedTuple):
    """How far a move is."""

    moved: int  #: rows
    stage: str  #: the table that was written last
    after: Parameters  #: the key of its last row

    def noted(
        self, transaction: Transaction, target: End, rows: int, stage: str, after: Parameters
    ) -> Progress:
        """The progress with so many more rows; nobody else writes until the transaction ends.

        Raises:
            StoreBusy: somebody else has written meanwhile.
        """
        noted = transaction.change(
            "note_progress",
            {
                "rows": rows,
                "stage": stage,
                "after": json.dumps(dict(after)),
                "moved": self.moved,
                "before": self.stage,
            },
        )
        if not noted:
            raise errors.StoreBusy(
                f"another process moves into {target.place}",
                hint="Let it finish, or stop it and run the command again.",
            )
        return Progress(self.moved + rows, stage, after)


def is_unfinished(target: End) -> bool:
    """Whether a move into a store was begun and not ended."""
    return bool(target.is_there() and target.database.read("is_unfinished")[0][0])


def unfinished(target: End, described: Description) -> Progress | None:
    """How far an unfinished move from this very source is; None when none was begun.

    Raises:
        StoreChanged: it began with another source, or with another state of it.
    """
    if not is_unfinished(target):
        return None
    [[before, moved, stage, after]] = target.database.read("progress")
    if before != described.text:
        raise errors.StoreChanged(
            f"{target.place} holds an unfinished move from a store that was not what this one is"
            f" now: {described.differs_from(before)}"
        )
    return Progress(moved, stage, json.loads(after))


def begin(target: End, described: Description) -> Progress:
    """Make an empty store one that is being moved into.

    Raises:
        StoreNotEmpty: it is not empty.
    """
    first = TABLES[0]
    with target.database.writing(alone=True) as transaction:
        refuse_unless_empty(target, transaction.rows("holds_anything"))
        for statement in (*target.steps.beginning, "begin_move"):
            transaction.change(statement)
        place = {"stage": first.name, "after": json.dumps(dict(first.beginning))}
        transaction.change("begin_progress", {"source": described.text, **place})
    return Progress(0, first.name, first.beginning)


def refuse_unless_empty(target: End, holds_anything: list[Row]) -> None:
    """Raise if there is anything, as `holds_anything` says.

    Raises:
        StoreNotEmpty: there is.
    """
    if holds_anything[0][0]:
        raise errors.StoreNotEmpty(f"{target.place} is not empty")


def end(target: End) -> None:
    """Make it a store like any other."""
    with target.database.writing(alone=True) as transaction:
        if transaction.rows("is_unfinished")[0][0]:  # else somebody who went on with it, too, did
            for statement in ("end_move", *target.steps.ending):
                transaction.change(statement)
