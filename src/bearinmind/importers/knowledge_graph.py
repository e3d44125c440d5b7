"""Reads the knowledge graph of the MCP reference memory server: JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bearinmind.errors import InvalidRecord
from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import Entry, ForeignLink, Malformed, Place, Record, Row, text_of
from bearinmind.types import LinkKind, Provenance

_ENTITY, _RELATION = "entity", "relation"


def recognise(source: Source) -> bool:
    """Whether its first line is an entity or a relation."""
    item = source.first_line
    return isinstance(item, dict) and item.get("type") in (_ENTITY, _RELATION)


def records(source: Source) -> Iterator[Record]:
    """The observations and relations; a line that cannot be read is named."""
    for number, line in enumerate(source.text.splitlines(), 1):
        place = Place(source.name, number)
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError as exc:
            yield Malformed(place, f"the line is not JSON: {exc}")
            continue
        if isinstance(item, dict):
            yield from model.each_readable([(place, item)], _read)
        else:
            yield Malformed(place, "the line is not a JSON object")


def _read(place: Place, item: Row) -> Iterator[Record]:
    if item.get("type") == _ENTITY:
        yield from _entity(place, item)
    elif item.get("type") == _RELATION:
        yield _relation(place, item)
    else:
        raise InvalidRecord(f"{item.get('type')!r} is neither an entity nor a relation")


def _entity(place: Place, item: Row) -> Iterator[Record]:
    name = text_of(item.get("name"), "name")
    kind = text_of(item.get("entityType"), "entityType")
    observations = item.get("observations", [])
    if not isinstance(observations, list):
        raise InvalidRecord("observations is not a list")
    texts = [text_of(each, "an observation") for each in observations]
    for number, text in enumerate(texts or [f"{name} is a {kind}."]):
        yield Entry(
            key=f"mcp-memory:{name}/{text}",
            place=place,
            content=text if name.casefold() in text.casefold() else f"{name}: {text}",
            category="people" if kind.casefold() == "person" else "",
            tags=(kind,),
            keywords=(name,),
            provenance=Provenance(source=f"mcp-memory:{name}"[:300]),
            names=(_entity_name(name),) if number == 0 else (),
        )


def _entity_name(name: str) -> str:
    return f"entity {name}"


def _relation(place: Place, item: Row) -> Entry:
    begin, kind, end = (text_of(item.get(name), name) for name in ("from", "relationType", "to"))
    return Entry(
        key=f"mcp-memory:{begin}/{kind}/{end}",
        place=place,
        content=f"{begin} {kind.replace('_', ' ')} {end}.",
        tags=("relation",),
        keywords=(begin, kind, end),
        provenance=Provenance(source=f"mcp-memory:{begin}"[:300]),
        links=tuple(
            ForeignLink(LinkKind.SEE_ALSO, _entity_name(name))
            for name in dict.fromkeys((begin, end))
        ),
    )


FORMAT = model.Format(
    name="mcp-memory",
    title="MCP reference memory server: its knowledge graph as JSON Lines",
    recognise=recognise,
    records=records,
)
