"""Reads the SQLite file of mcp-memory-service: memories, their graph, and beliefs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bearinmind.importers.files import Source
from bearinmind.importers.model import (
    Entry,
    ForeignLink,
    Format,
    Place,
    Record,
    as_keywords,
    each_readable,
    mapping,
    moment,
    optional,
    text_of,
    words,
)
from bearinmind.types import LinkKind, Provenance

#: By the type of a relation: the link, and whether it begins at the target.
_LINKS = {
    "causes": ForeignLink(LinkKind.CAUSES, ""),
    "fixes": ForeignLink(LinkKind.RESOLVED_BY, "", reverse=True),
}
_RELATED = ForeignLink(LinkKind.SEE_ALSO, "")
_CATEGORIES = {"decision": "decisions", "preference": "preferences", "project": "projects"}
_NO_TAG = "untagged"  # what it writes where there is none
_DEFAULT_STORE = "default"
FIELDS = {
    "content_hash": "source of the provenance, `mcp-memory-service:HASH`",
    "content, tags": "the same",
    "memory_type": "tag; a decision, preference or project also its category",
    "metadata.agent, metadata.session_id, metadata.project": "the provenance",
    "metadata.*": "keywords `name: value`",
    "created_at, updated_at, deleted_at": "the same",
    "store": "project of the provenance, unless it is `default`",
    "confidence": "keyword `confidence: N`, unless it is 1",
    "superseded_by": "link `supersedes`",
    "parent_id": "link `derives-from`",
    "memory_graph: source_hash, target_hash, relationship_type": (
        "links: `causes`, `resolved-by` for fixes, `see-also` for others"
    ),
    "memory_graph: similarity, connection_types, metadata, created_at": (
        "dropped: made by comparing vectors"
    ),
    "beliefs: belief_hash, content, status, metadata": (
        "memories with the tag `belief`, their status as a tag"
    ),
    "beliefs: derived_from, contradicted_by": "links `derives-from` and `see-also`",
    "id, created_at_iso, updated_at_iso, version": "dropped: other columns say the same",
    "last_accessed, embedding_pending": "dropped: about the other program's work",
}


def recognise(source: Source) -> bool:
    """Whether it is a file of mcp-memory-service."""
    return {"content_hash", "content", "memory_type"} <= {*source.columns.get("memories", ())}


def records(source: Source) -> Iterator[Record]:
    """The memories and beliefs, with their links."""
    relations = _relations(source)
    rows = [dict(row) for row in source.rows("service_memories")]
    hashes = {row["id"]: str(row["content_hash"]) for row in rows}
    places = (
        (
            Place(f"{source.name}: memories", int(row["row_number"])),
            row | {"links": relations.get(str(row["content_hash"]), ()), "hashes": hashes},
        )
        for row in rows
    )
    yield from each_readable(places, _memory)
    if "beliefs" in source.columns:
        beliefs = (
            (Place(f"{source.name}: beliefs", int(row["row_number"])), dict(row))
            for row in source.rows("service_beliefs")
        )
        yield from each_readable(beliefs, _belief)


def _relations(source: Source) -> Mapping[str, tuple[ForeignLink, ...]]:
    """The links of the graph by the record that they begin at; of a mutual one the first half."""
    links: dict[str, tuple[ForeignLink, ...]] = {}
    mutual: set[frozenset[str]] = set()
    for row in source.rows("service_graph") if "memory_graph" in source.columns else ():
        begin, end = str(row["source_hash"]), str(row["target_hash"])
        kind = row["relationship_type"] if "relationship_type" in row.keys() else None  # noqa: SIM118  a row is no mapping
        link = _LINKS.get(str(kind), _RELATED)
        if link is _RELATED:
            if frozenset((begin, end)) in mutual:
                continue
            mutual.add(frozenset((begin, end)))
        links[begin] = (*links.get(begin, ()), link._replace(target=_key(end)))
    return links


def _key(content_hash: object) -> str:
    return f"mcp-memory-service:{content_hash}"


def _memory(place: Place, row: Mapping[str, object]) -> Iterator[Record]:
    metadata = dict(mapping(row["metadata"], "metadata"))
    origin = {name: optional(metadata.pop(name, None)) for name in ("agent", "project")}
    session = optional(metadata.pop("session_id", None))
    confidence = row.get("confidence")
    kept = as_keywords([*metadata.items(), ("confidence", confidence if confidence != 1 else None)])
    kind = optional(row["memory_type"])
    store = optional(row.get("store"))
    tags = [tag for tag in words(row["tags"]) if tag != _NO_TAG]
    key = _key(text_of(row["content_hash"], "content_hash"))
    yield Entry(
        key=key,
        place=place,
        content=text_of(row["content"], "content"),
        category=_CATEGORIES.get(kind or "", ""),
        tags=(*tags, *((kind,) if kind else ())),
        keywords=kept.keywords,
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        deleted_at=moment(row.get("deleted_at")),
        provenance=Provenance(
            agent=origin["agent"],
            session=session,
            project=origin["project"] or (store if store != _DEFAULT_STORE else None),
            source=key,
        ),
        links=(*_links_of(row), *_lineage(row)),
        dropped=kept.dropped,
    )


def _links_of(row: Mapping[str, object]) -> tuple[ForeignLink, ...]:
    links = row["links"]
    return links if isinstance(links, tuple) else ()


def _lineage(row: Mapping[str, object]) -> Iterator[ForeignLink]:
    """The links to what replaced a memory and to what it was made of."""
    hashes = row["hashes"]
    known = hashes if isinstance(hashes, dict) else {}
    if newer := row.get("superseded_by"):
        yield ForeignLink(LinkKind.SUPERSEDES, _key(known.get(newer, newer)), reverse=True)
    if parent := row.get("parent_id"):
        yield ForeignLink(LinkKind.DERIVES_FROM, _key(known.get(parent, parent)))


def _belief(place: Place, row: Mapping[str, object]) -> Iterator[Record]:
    kept = as_keywords(
        [*mapping(row["metadata"], "metadata").items(), ("confidence", row["confidence"])]
    )
    key = f"mcp-memory-service:belief:{text_of(row['belief_hash'], 'belief_hash')}"
    yield Entry(
        key=key,
        place=place,
        content=text_of(row["content"], "content"),
        tags=("belief", str(row["status"])),
        keywords=kept.keywords,
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        provenance=Provenance(source=key),
        links=tuple(
            ForeignLink(kind, _key(each))
            for kind, column in (
                (LinkKind.DERIVES_FROM, "derived_from"),
                (LinkKind.SEE_ALSO, "contradicted_by"),
            )
            for each in words(row[column])
        ),
        dropped=kept.dropped,
    )


FORMAT = Format(
    name="mcp-memory-service",
    title="mcp-memory-service: its SQLite file",
    recognise=recognise,
    records=records,
    fields=FIELDS,
    evidence="made by mcp-memory-service 12.2.0",
)
