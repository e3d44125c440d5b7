"""Reads the SQLite file of mcp-memory-service: memories, their graph, and beliefs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import ForeignLink, Place, Record, Row, moment, optional, text_of
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


def recognise(source: Source) -> bool:
    """Whether it is a file of mcp-memory-service."""
    return {"content_hash", "content", "memory_type"} <= {*source.columns.get("memories", ())}


def records(source: Source) -> Iterator[Record]:
    """The memories and beliefs, with their links."""
    relations = _relations(source)
    rows = [*model.table_rows(source, "memories", "service_memories")]
    hashes = {row["id"]: row["content_hash"] for _, row in rows}
    more = (
        (place, {**row, "links": relations.get(row["content_hash"], ()), "hashes": hashes})
        for place, row in rows
    )
    yield from model.each_readable(more, _memory)
    if "beliefs" in source.columns:
        beliefs = model.table_rows(source, "beliefs", "service_beliefs")
        yield from model.each_readable(beliefs, _belief)


def _relations(source: Source) -> Mapping[str, tuple[ForeignLink, ...]]:
    """The links of the graph by the record that they begin at; of a mutual one the first half."""
    links: dict[str, tuple[ForeignLink, ...]] = {}
    mutual: set[frozenset[str]] = set()
    if "memory_graph" not in source.columns:
        return links
    for _, row in model.table_rows(source, "memory_graph", "service_graph"):
        begin, end = row["source_hash"], row["target_hash"]
        link = _LINKS.get(row.get("relationship_type", ""), _RELATED)
        if link is _RELATED and frozenset((begin, end)) in mutual:
            continue
        if link is _RELATED:
            mutual.add(frozenset((begin, end)))
        links[begin] = (*links.get(begin, ()), link._replace(target=_key(end)))
    return links


def _key(content_hash: str) -> str:
    return f"mcp-memory-service:{content_hash}"


def _memory(place: Place, row: Row) -> Iterator[Record]:
    metadata = dict(model.mapping(row["metadata"], "metadata"))
    agent, session, project = (
        optional(metadata.pop(name, None)) for name in ("agent", "session_id", "project")
    )
    confidence = row.get("confidence") if row.get("confidence") != 1 else None
    kind, store = optional(row["memory_type"]), optional(row.get("store"))
    tags = [tag for tag in model.words(row["tags"]) if tag != _NO_TAG]
    key = _key(text_of(row["content_hash"], "content_hash"))
    yield model.Entry(
        key=key,
        place=place,
        content=text_of(row["content"], "content"),
        category=_CATEGORIES.get(kind or "", ""),
        tags=(*tags, *((kind,) if kind else ())),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        deleted_at=moment(row.get("deleted_at")),
        provenance=Provenance(
            agent=agent,
            session=session,
            project=project or (store if store != _DEFAULT_STORE else None),
            source=key,
        ),
        links=(*row["links"], *_lineage(row)),
        more=(*metadata.items(), ("confidence", confidence)),
    )


def _lineage(row: Row) -> Iterator[ForeignLink]:
    """The links to what replaced a memory and to what it was made of."""
    hashes = row["hashes"]  # by number: releases name a memory by either
    if newer := row.get("superseded_by"):
        yield ForeignLink(LinkKind.SUPERSEDES, _key(hashes.get(newer, newer)), reverse=True)
    if parent := row.get("parent_id"):
        yield ForeignLink(LinkKind.DERIVES_FROM, _key(hashes.get(parent, parent)))


def _belief(place: Place, row: Row) -> Iterator[Record]:
    metadata = model.mapping(row["metadata"], "metadata")
    key = f"mcp-memory-service:belief:{text_of(row['belief_hash'], 'belief_hash')}"
    derived = [(LinkKind.DERIVES_FROM, each) for each in model.words(row["derived_from"])]
    contradicted = [(LinkKind.SEE_ALSO, each) for each in model.words(row["contradicted_by"])]
    yield model.Entry(
        key=key,
        place=place,
        content=text_of(row["content"], "content"),
        tags=("belief", str(row["status"])),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        provenance=Provenance(source=key),
        links=tuple(ForeignLink(kind, _key(each)) for kind, each in (*derived, *contradicted)),
        more=(*metadata.items(), ("confidence", row["confidence"])),
    )


FORMAT = model.Format(
    name="mcp-memory-service",
    title="mcp-memory-service: its SQLite file",
    recognise=recognise,
    records=records,
)
