"""The relations of a store and the versions that say so.

Everything here runs inside a transaction of the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bearinmind.concepts import ConceptName, Statement
from bearinmind.store import rows
from bearinmind.store.database import Owned


class Source(NamedTuple):
    """Where a statement comes from, and for how long it is made."""

    origin: str
    since: int
    until: int = rows.NOT_YET
    row: int | None = None  #: the version that says so; None when it stands by itself
    given: bool = False  #: by somebody, rather than read in the version


class Stated(NamedTuple):
    """What became of a statement."""

    relation: int
    is_new: bool


def relates_two(statement: Statement) -> bool:
    """Whether it relates one concept to another by something."""
    source, target = statement.source.name, statement.target.name
    return bool(source and target and statement.type) and source != target


def state(
    transaction: Owned,
    statement: Statement,
    numbers: Mapping[ConceptName, int],
    source: Source,
) -> Stated:
    """Keep what is stated between concepts that are known under these numbers."""
    said = {
        "source": numbers[statement.source.name],
        "type": statement.type,
        "target": numbers[statement.target.name],
        "weight": min(max(statement.weight, 0.0), 1.0),
        "valid_from": rows.from_time(statement.valid_from),
        "valid_to": rows.from_time(statement.valid_to),
    }
    return _keep(transaction, said, source)


def _keep(transaction: Owned, said: Mapping[str, Any], source: Source) -> Stated:
    """A relation that was stated before gains evidence; else it is new."""
    relation = {**said, **source._asdict(), "founded": source.row is not None}
    before = transaction.row("stated_before", relation)
    if before is None:
        [unused] = transaction.numbers(1)
        [[number]] = transaction.rows("insert_relation", {**relation, "number": unused})
    else:
        number, decided = before
        if not decided:
            transaction.change("extend_relation", {**relation, "number": number})
    if source.row is not None:
        transaction.change("keep_evidence", {**relation, "number": number})
    return Stated(number, before is None)


def take_over(transaction: Owned, row: int, before: int) -> None:
    """Let a version say what another one does, from when it was written."""
    transaction.change("copy_evidence", {"row": row, "before": before})
    transaction.change("extend_relations_of", {"row": row})


def end_others(transaction: Owned, stated: Mapping[int, Sequence[int]], at: int) -> set[int]:
    """From a moment on versions state these relations alone; which others they stated before."""
    each = [{"row": row, "stated": [*numbers], "at": at} for row, numbers in stated.items()]
    ended = transaction.rows_of_each("end_evidence", each)
    return {number for found in ended for [number] in found}


def settle(transaction: Owned, relations: Iterable[int]) -> None:
    """Let these relations be believed as long as their evidence says so."""
    numbers = sorted(relations)
    transaction.change("settle_relations", {"relations": numbers})


def forget_rows(transaction: Owned, of: Sequence[int]) -> set[int]:
    """Remove what these versions are evidence for; the ends of the relations that go with it."""
    versions = {"rows": [*of]}
    touched = {number for [number] in transaction.rows("relations_of_rows", versions)}
    if not touched:
        return set()
    transaction.change("forget_evidence", versions)
    candidates = {"relations": sorted(touched)}
    unfounded = transaction.rows("ends_of_unfounded", candidates)
    gone = {number for number, _, _ in unfounded}
    transaction.change("remove_relations", {"relations": sorted(gone)})
    settle(transaction, touched - gone)
    return {end for _, *ends in unfounded for end in ends}


def retract(transaction: Owned, number: int, at: int) -> bool:
    """Stop believing a relation on purpose; False when it is not believed."""
    return transaction.change("retract_relation", {"number": number, "at": at}) == 1


def keep_ended(transaction: Owned, number: int, valid_to: int, at: int) -> None:
    """Keep a relation anew that holds until a moment, with the evidence that it has now."""
    names = ("source", "type", "target", "weight", "valid_from", "origin", "founded")
    [found] = transaction.rows("relation", {"number": number})
    said = {**dict(zip(names, found, strict=True)), "valid_to": valid_to}
    source = Source(origin=said["origin"], since=at, given=True)
    if not said["founded"]:
        _keep(transaction, said, source)
    for [row] in transaction.rows("present_evidence", {"number": number}):
        _keep(transaction, said, source._replace(row=row))
