"""Reads mem0: the JSON that `get_all` and its export give, and its SQLite history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from bearinmind.errors import InvalidRecord
from bearinmind.importers.files import Source, json_items
from bearinmind.importers.model import (
    Entry,
    Format,
    Malformed,
    Place,
    Record,
    Skipped,
    Version,
    as_keywords,
    each_readable,
    mapping,
    moment,
    optional,
    text_of,
    words,
)
from bearinmind.types import Provenance, Trust

_ADD, _DELETE = "ADD", "DELETE"
#: Fields of an export that have a place of their own, or none.
_PLACED = frozenset(
    (
        *("id", "memory", "hash", "metadata", "created_at", "updated_at", "user_id", "agent_id"),
        *("app_id", "run_id", "actor_id", "role", "categories", "expiration_date", "score"),
    )
)
FIELDS = {
    "id": "source of the provenance, `mem0:ID`",
    "memory": "content",
    "metadata.*": "keywords `name: value`",
    "categories": "tags",
    "created_at, updated_at": "the same",
    "expiration_date": "valid_to",
    "user_id": "tag `user:NAME`",
    "agent_id": "agent of the provenance",
    "actor_id": "agent where there is no agent_id, else the keyword `actor_id: NAME`",
    "run_id": "session of the provenance",
    "app_id": "project of the provenance",
    "role": "trust: `user` for what a user said, else `agent`",
    "any other field": "keywords `name: value`",
    "hash, score": "dropped: made from the content and from a search",
    "relations": "skipped, and named: no memory holds them",
    "history: memory_id, new_memory, event": "one version of the memory for each event",
    "history: created_at, updated_at, actor_id, role": "as above",
    "history: id, old_memory, is_deleted": "dropped: the version before says the same",
    "messages (table)": "dropped: the last lines of chats, which mem0 has read already",
}


def recognise(source: Source) -> bool:
    """Whether it is an export or a history of mem0."""
    if {"memory_id", "old_memory", "new_memory", "event"} <= {*source.columns.get("history", ())}:
        return True
    item = source.first_item
    return isinstance(item, dict) and "memory" in item


def records(source: Source) -> Iterator[Record]:
    """The memories of an export or a history."""
    if source.is_sqlite:
        yield from _history(source)
        return
    for line, item in json_items(source.text):
        place = Place(source.name, line)
        if isinstance(item, InvalidRecord):
            yield Malformed(place, item.message)
        elif isinstance(item, dict):
            yield from each_readable([(place, item)], _exported)
        else:
            yield Malformed(place, "the record is not a JSON object")
    document = source.document
    for relation in document.get("relations") or () if isinstance(document, dict) else ():
        yield Skipped(Place(source.name, 0), f"a relation of the graph of mem0: {relation}")


def _exported(place: Place, item: Mapping[str, object]) -> Iterator[Record]:
    metadata = mapping(item.get("metadata"), "metadata")
    others = {name: value for name, value in item.items() if name not in _PLACED}
    if item.get("agent_id") and item.get("actor_id"):
        others["actor_id"] = item["actor_id"]
    kept = as_keywords([*metadata.items(), *others.items()])
    key = f"mem0:{text_of(item.get('id'), 'id')}"
    user = optional(item.get("user_id"))
    yield Entry(
        key=key,
        place=place,
        content=text_of(item.get("memory"), "memory"),
        tags=(*words(item.get("categories")), *((f"user:{user}",) if user else ())),
        keywords=kept.keywords,
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
        dropped=kept.dropped,
    )


def _trust(role: object) -> Trust:
    return Trust.USER if role == "user" else Trust.AGENT


def _history(source: Source) -> Iterator[Record]:
    """Each memory with its versions; the table has a row for every event."""
    file = f"{source.name}: history"
    rows = [dict(row) for row in source.rows("mem0_history")]
    events = sorted(rows, key=lambda row: (str(row["memory_id"]), row["row_number"]))
    for _, lives in groupby(events, key=lambda row: str(row["memory_id"])):
        life = [*lives]
        place = Place(file, int(life[-1]["row_number"]))
        yield from each_readable([(place, {"events": life})], _with_versions)


def _with_versions(place: Place, row: Mapping[str, object]) -> Iterator[Record]:
    events = row["events"]
    if not isinstance(events, list) or events[0].get("event") != _ADD:
        raise InvalidRecord("the history of the memory does not begin with ADD")
    states = [event for event in events if event["event"] != _DELETE]
    last = events[-1]
    times = [moment(event["updated_at"] or event["created_at"]) for event in events]
    versions = [
        Version(content=text_of(event["new_memory"], "new_memory"), updated_at=time)
        for event, time in zip(states, times, strict=False)
    ]
    is_deleted = last["event"] == _DELETE
    key = f"mem0:{text_of(events[0]['memory_id'], 'memory_id')}"
    yield Entry(
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


FORMAT = Format(
    name="mem0",
    title="mem0: export, or history in SQLite",
    recognise=recognise,
    records=records,
    fields=FIELDS,
    evidence="made by mem0ai 2.2.1",
)
