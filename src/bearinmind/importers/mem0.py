"""Reads mem0: the JSON that `get_all` and its export give, and its SQLite history."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from bearinmind.errors import InvalidRecord
from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import Place, Record, Row, moment, optional, text_of, words
from bearinmind.types import Provenance, Trust

_ADD, _DELETE = "ADD", "DELETE"
#: Fields of an export that have a place of their own, or none.
_PLACED = frozenset(
    (
        *("id", "memory", "hash", "metadata", "created_at", "updated_at", "user_id", "agent_id"),
        *("app_id", "run_id", "actor_id", "role", "categories", "expiration_date", "score"),
    )
)


def recognise(source: Source) -> bool:
    """Whether it is an export or a history of mem0."""
    if {"memory_id", "old_memory", "new_memory", "event"} <= {*source.columns.get("history", ())}:
        return True
    item = source.first_item
    return isinstance(item, dict) and "memory" in item


def records(source: Source) -> Iterator[Record]:
    """The memories of an export or a history."""
    if source.is_sqlite:
        return model.each_readable(_lives(source), _with_versions)
    return model.json_records(source, _exported)


def _exported(place: Place, item: Row) -> Iterator[Record]:
    others = {name: value for name, value in item.items() if name not in _PLACED}
    if item.get("agent_id") and item.get("actor_id"):
        others["actor_id"] = item["actor_id"]
    metadata = model.mapping(item.get("metadata"), "metadata")
    key = f"mem0:{text_of(item.get('id'), 'id')}"
    user = optional(item.get("user_id"))
    yield model.Entry(
        key=key,
        place=place,
        content=text_of(item.get("memory"), "memory"),
        tags=(*words(item.get("categories")), *((f"user:{user}",) if user else ())),
        created_at=moment(item.get("created_at")),
        updated_at=moment(item.get("updated_at")),
        valid_to=moment(item.get("expiration_date")),
        provenance=Provenance(
            agent=optional(item.get("agent_id") or item.get("actor_id")),
            session=optional(item.get("run_id")),
            project=optional(item.get("app_id")),
            source=key,
            trust=_trust(item.get("role")),
        ),
        more=(*metadata.items(), *others.items()),
    )


def _trust(role: object) -> Trust:
    return Trust.USER if role == "user" else Trust.AGENT


def _lives(source: Source) -> model.Rows:
    """The events of each memory; the table has a row for every event."""
    rows = [*model.table_rows(source, "history", "mem0_history")]
    rows.sort(key=lambda each: (str(each[1]["memory_id"]), each[0].line))
    for _, events in groupby(rows, key=lambda each: str(each[1]["memory_id"])):
        life = [*events]
        yield life[-1][0], {"events": [row for _, row in life]}


def _with_versions(place: Place, row: Row) -> Iterator[Record]:
    events = row["events"]
    if events[0]["event"] != _ADD:
        raise InvalidRecord("the history of the memory does not begin with ADD")
    times = [moment(event["updated_at"] or event["created_at"]) for event in events]
    versions = [
        model.Version(content=text_of(event["new_memory"], "new_memory"), updated_at=time)
        for event, time in zip(events, times, strict=True)
        if event["event"] != _DELETE
    ]
    last = events[-1]
    is_deleted = last["event"] == _DELETE
    key = f"mem0:{text_of(last['memory_id'], 'memory_id')}"
    yield model.Entry(
        key=key,
        place=place,
        content=versions[-1].content,
        created_at=moment(events[0]["created_at"]),
        updated_at=times[-1],
        deleted_at=times[-1] if is_deleted else None,
        earlier=tuple(versions if is_deleted else versions[:-1]),
        provenance=Provenance(
            agent=optional(last["actor_id"]), source=key, trust=_trust(last["role"])
        ),
    )


FORMAT = model.Format(
    name="mem0", title="mem0: export, or history in SQLite", recognise=recognise, records=records
)
