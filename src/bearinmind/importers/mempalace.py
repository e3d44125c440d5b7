"""Reads the databases of MemPalace: its drawers, which Chroma keeps, and its knowledge graph."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import ForeignLink, Place, Record, Row, moment, optional, text_of
from bearinmind.types import LinkKind, Provenance, Trust

_FILES = ("chroma.sqlite3", "knowledge_graph.sqlite3")
_TEXT = "chroma:document"
_PARENTS = ("parent_drawer_id", "parent_entry_id")
_WRITTEN = ("authored_at", "timestamp", "content_date")  # when a text was written, not filed
#: Fields of a drawer that have a place of their own, or none: those are about MemPalace's work.
_PLACED = {
    *("id", "pieces", _TEXT, "wing", "room", "topic", "agent", "added_by", "session_id", "role"),
    *("filed_at", "last_modified", "date", *_WRITTEN, "content_date_source", "source_mtime"),
    *("entities", "chunk_index", "chunk_total", *_PARENTS, "content_hash", "source_dir_ino"),
    *("id_recipe", "normalize_version", "convo_chunker_version"),
}


def _databases(source: Source) -> list[Source]:
    """The file itself; of a folder, the databases in it and in its folder `palace`."""
    folders = (source.path, source.path / "palace")
    paths = [folder / name for folder in folders for name in _FILES]
    return [Source(path) for path in paths if path.is_file()] if source.is_folder else [source]


def _has_drawers(source: Source) -> bool:
    return {"collections", "segments", "embeddings", "embedding_metadata"} <= source.columns.keys()


def _has_graph(source: Source) -> bool:
    columns = {*source.columns.get("triples", ())}
    return "entities" in source.columns and {"predicate", "source_closet"} <= columns


def recognise(source: Source) -> bool:
    """Whether it is a palace, or one of its databases."""
    return any(
        _has_graph(each) or (_has_drawers(each) and each.rows("mempalace_collection"))
        for each in _databases(source)
    )


def records(source: Source) -> Iterator[Record]:
    """The drawers, and the facts and known entities of the graph."""
    drawers, graphs = ([*filter(has, _databases(source))] for has in (_has_drawers, _has_graph))
    if not drawers and not graphs:
        yield model.Malformed(Place(source.name, 1), "it has neither drawers nor a knowledge graph")
    for database in drawers:
        yield from model.each_readable(_drawers(database), _drawer)
    for database in graphs:
        for table, read in (("triples", _fact), ("entities", _entity)):
            rows = model.table_rows(database, table, f"mempalace_{table}")
            yield from model.each_readable(rows, read)


def _drawers(source: Source) -> model.Rows:
    """The drawers; the pieces of a long one are put together."""
    drawers: dict[str, list[tuple[Place, Row]]] = {}
    for place, row in model.table_rows(source, "drawers", "mempalace_drawers"):
        fields = {**model.mapping(row["fields"], "metadata"), "id": row["id"]}
        id_ = next((fields[name] for name in _PARENTS if fields.get(name)), row["id"])
        drawers.setdefault(str(id_), []).append((place, fields))
    for id_, pieces in drawers.items():
        place, first = pieces[0]
        texts = [piece.get(_TEXT) for _, piece in pieces]
        text = None if None in texts else "".join(map(str, texts))
        names = tuple(_key(piece["id"]) for _, piece in pieces)
        yield place, {**first, "id": id_, _TEXT: text, "pieces": names}


def _key(id_: object) -> str:
    return f"mempalace:{id_}"


def _drawer(place: Place, row: Row) -> Iterator[Record]:
    if row.get("room") == "_registry" or row.get("is_sentinel"):
        yield model.Skipped(place, "a note that a file was read, and no drawer")
        return
    filed = row.get("filed_at")
    yield model.Entry(
        key=_key(row["id"]),
        place=place,
        content=text_of(row[_TEXT], "the text"),
        tags=tuple(str(row[name]) for name in ("wing", "room", "topic") if row.get(name)),
        keywords=tuple(filter(None, str(row.get("entities") or "").split(";"))),
        created_at=_local(next((row[name] for name in _WRITTEN if row.get(name)), filed)),
        updated_at=_local(row.get("last_modified") or filed),
        provenance=Provenance(
            agent=optional(row.get("agent") or row.get("added_by")),
            session=optional(row.get("session_id")),
            source=_key(row["id"]),
            trust=Trust.USER if row.get("role") == "user" else Trust.AGENT,
        ),
        names=row["pieces"],
        more=[(name, row[name]) for name in row if name not in _PLACED],
    )


def _local(value: object) -> datetime | None:
    """A time; MemPalace writes the clock of its machine, without a zone."""
    time = moment(value)
    return time.astimezone() if time is not None and time.tzinfo is None else time


def _fact(place: Place, row: Row) -> Iterator[Record]:
    subject, relation, object_ = (
        text_of(row[name], name) for name in ("subject_name", "predicate", "object_name")
    )
    more = ("source_file", "source_closet", "adapter_name")
    confidence = row["confidence"] if row["confidence"] != 1 else None
    drawer, end = row.get("source_drawer_id"), moment(row["valid_to"])
    if end is not None and "T" not in row["valid_to"]:
        end += timedelta(days=1)  # a day is meant with all of it
    yield model.Entry(
        key=_key(row["id"]),
        place=place,
        content=f"{subject} {relation.replace('_', ' ')} {object_}.",
        tags=("relation",),
        keywords=(subject, relation, object_),
        created_at=moment(row["extracted_at"]),
        valid_from=moment(row["valid_from"]),
        valid_to=end,
        provenance=Provenance(source=_key(row["id"])),
        links=(ForeignLink(LinkKind.DERIVES_FROM, _key(drawer)),) if drawer else (),
        more=(("confidence", confidence), *((x, row.get(x)) for x in more)),
    )


def _entity(place: Place, row: Row) -> Iterator[Record]:
    properties = model.mapping(row["properties"], "properties")
    kind, name = optional(row["type"]) or "unknown", text_of(row["name"], "name")
    if kind != "unknown" or properties:  # of any other the facts say as much
        yield model.Entry(
            key=_key(f"entity:{row['id']}"),
            place=place,
            content=f"{name} is a {kind}.",
            category="people" if kind == "person" else "",
            tags=(kind,),
            keywords=(name,),
            created_at=moment(row["created_at"]),
            provenance=Provenance(source=_key(f"entity:{row['id']}")),
            more=properties.items(),
        )


FORMAT = model.Format(
    name="mempalace",
    title="MemPalace: its folder, or one of its SQLite files",
    recognise=recognise,
    records=records,
)
