"""Reads the databases of MemPalace: its drawers, which Chroma keeps, and its knowledge graph."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import ForeignLink, Place, Record, Row, moment, optional, text_of
from bearinmind.types import LinkKind, Provenance, Trust

_FILES = ("chroma.sqlite3", "knowledge_graph.sqlite3")
_COLLECTION = "mempalace_drawers"
_TEXT = "chroma:document"
_REGISTRY = "_registry"  # the room in which it keeps which files it has read
_PARENTS = ("parent_drawer_id", "parent_entry_id")
_WRITTEN = ("authored_at", "timestamp", "content_date")  # when a text was written, not filed
#: Fields of a drawer that have a place of their own, or none: those are about MemPalace's work.
_PLACED = frozenset(
    (
        *(
            "id",
            "pieces",
            _TEXT,
            "wing",
            "room",
            "topic",
            "agent",
            "added_by",
            "session_id",
            "role",
        ),
        *("filed_at", "last_modified", "date", "entities", "chunk_index", "chunk_total"),
        *("id_recipe", "normalize_version", "convo_chunker_version", "content_hash"),
        *("source_mtime", "source_dir_ino", "content_date_source", *_PARENTS, *_WRITTEN),
    )
)
_UNKNOWN = "unknown"  # the type of an entity that was only ever named
_DAY = len("2025-01-01")


def _databases(source: Source) -> list[Source]:
    """The file itself; of a folder, the databases in it and in its folder `palace`."""
    if not source.is_folder:
        return [source]
    folders = (source.path, source.path / "palace")
    paths = [folder / name for folder in folders for name in _FILES]
    return [Source(path) for path in paths if path.is_file()]


def _has_drawers(source: Source) -> bool:
    return {"collections", "segments", "embeddings", "embedding_metadata"} <= source.columns.keys()


def _has_graph(source: Source) -> bool:
    columns = {*source.columns.get("triples", ())}
    return "entities" in source.columns and {"subject", "predicate", "source_closet"} <= columns


def recognise(source: Source) -> bool:
    """Whether it is a palace, or one of its databases."""
    return any(
        _has_graph(each)
        or (
            _has_drawers(each)
            and _COLLECTION in {row["name"] for row in each.rows("chroma_collections")}
        )
        for each in _databases(source)
    )


def records(source: Source) -> Iterator[Record]:
    """The drawers, and the facts and known entities of the graph."""
    databases = _databases(source)
    for database in filter(_has_drawers, databases):
        yield from model.each_readable(_drawers(database), _drawer)
    for database in filter(_has_graph, databases):
        facts = model.table_rows(database, "triples", "mempalace_triples")
        yield from model.each_readable(facts, _fact)
        entities = model.table_rows(database, "entities", "mempalace_entities")
        yield from model.each_readable(entities, _entity)
    if not any(_has_drawers(each) or _has_graph(each) for each in databases):
        yield model.Malformed(Place(source.name, 1), "it has neither drawers nor a knowledge graph")


def _drawers(source: Source) -> model.Rows:
    """The drawers; the pieces of a long one are put together."""
    drawers: dict[str, list[tuple[Place, Row]]] = {}
    for place, row in model.table_rows(source, "drawers", "mempalace_drawers"):
        fields = {**model.mapping(row["fields"], "metadata"), "id": row["id"]}
        id_ = next((fields[name] for name in _PARENTS if fields.get(name)), row["id"])
        drawers.setdefault(str(id_), []).append((place, fields))
    for id_, pieces in drawers.items():
        pieces.sort(key=lambda piece: _order(piece[1].get("chunk_index")))
        place, first = pieces[0]
        texts = [piece.get(_TEXT) for _, piece in pieces]
        text = None if None in texts else "".join(map(str, texts))
        names = [_key(piece["id"]) for _, piece in pieces]
        yield place, {**first, "id": id_, _TEXT: text, "pieces": names}


def _order(index: object) -> int:
    return index if isinstance(index, int) else 0


def _key(id_: object) -> str:
    return f"mempalace:{id_}"


def _drawer(place: Place, row: Row) -> Iterator[Record]:
    if row.get("room") == _REGISTRY or row.get("is_sentinel"):
        yield model.Skipped(place, "a note that a file was read, and no drawer")
        return
    filed = _local(row.get("filed_at"))
    written = next((row[name] for name in _WRITTEN if row.get(name)), None)
    others = [(name, value) for name, value in row.items() if name not in _PLACED]
    kept = model.as_keywords(others)
    named = str(row.get("entities") or "").split(";")
    yield model.Entry(
        key=_key(row["id"]),
        place=place,
        content=text_of(row[_TEXT], "the text"),
        tags=tuple(str(row[name]) for name in ("wing", "room", "topic") if row.get(name)),
        keywords=(*filter(None, map(str.strip, named)), *kept.keywords),
        created_at=_local(written) or filed,
        updated_at=_local(row.get("last_modified")) or filed,
        provenance=Provenance(
            agent=optional(row.get("agent") or row.get("added_by")),
            session=optional(row.get("session_id")),
            source=_key(row["id"]),
            trust=Trust.USER if row.get("role") == "user" else Trust.AGENT,
        ),
        names=tuple(row["pieces"]),
        dropped=kept.dropped,
    )


def _local(value: object) -> datetime | None:
    """A time; MemPalace writes the clock of its machine, without a zone."""
    time = moment(value)
    return time.astimezone() if time is not None and time.tzinfo is None else time


def _fact(place: Place, row: Row) -> Iterator[Record]:
    names = [text_of(row[end], end) for end in ("subject_name", "object_name")]
    relation = text_of(row["predicate"], "predicate")
    confidence = row["confidence"] if row["confidence"] != 1 else None
    more = ("source_file", "source_closet", "adapter_name")
    kept = model.as_keywords([("confidence", confidence), *((x, row.get(x)) for x in more)])
    drawer = row.get("source_drawer_id")
    key = _key(text_of(row["id"], "id"))
    yield model.Entry(
        key=key,
        place=place,
        content=f"{names[0]} {relation.replace('_', ' ')} {names[1]}.",
        tags=("relation",),
        keywords=(names[0], relation, names[1], *kept.keywords),
        created_at=moment(row["extracted_at"]),
        valid_from=moment(row["valid_from"]),
        valid_to=_end(row["valid_to"]),
        provenance=Provenance(source=key),
        links=(ForeignLink(LinkKind.DERIVES_FROM, _key(drawer)),) if drawer else (),
        dropped=kept.dropped,
    )


def _end(value: object) -> datetime | None:
    """When a fact stops to hold; a day is meant with all of it."""
    end = moment(value)
    is_day = end is not None and len(str(value)) == _DAY
    return end + timedelta(days=1) if end is not None and is_day else end


def _entity(place: Place, row: Row) -> Iterator[Record]:
    properties = model.mapping(row["properties"], "properties")
    kind, name = optional(row["type"]) or _UNKNOWN, text_of(row["name"], "name")
    if kind == _UNKNOWN and not properties:
        return  # its facts say as much
    kept = model.as_keywords(properties.items())
    yield model.Entry(
        key=_key(f"entity:{row['id']}"),
        place=place,
        content=f"{name} is a {kind}.",
        category="people" if kind == "person" else "",
        tags=(kind,),
        keywords=(name, *kept.keywords),
        created_at=moment(row["created_at"]),
        provenance=Provenance(source=_key(f"entity:{row['id']}")),
        dropped=kept.dropped,
    )


FORMAT = model.Format(
    name="mempalace",
    title="MemPalace: its folder, or one of its SQLite files",
    recognise=recognise,
    records=records,
)
