"""The concept graph of a scope as GraphML or as node-link JSON, written as it is read.

Concepts and, unless they are left out, the memories that mention them are nodes; relations and
mentions are edges. Only names, ids and numbers are kept while it is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar
from xml.sax.saxutils import escape, quoteattr

from bearinmind.concepts import Concept, ConceptName, Relation
from bearinmind.protocols import GraphSearch
from bearinmind.types import Filter, MemoryId

BATCH = 500  # concepts or memories that are looked up at once

Value = str | int | float
Name = TypeVar("Name", bound=str)
#: One line of each of these memories.
Lines = Callable[[Sequence[MemoryId]], Mapping[MemoryId, str]]

# What XML 1.0 has no way to write, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Node(NamedTuple):
    """A concept or a memory."""

    id: str
    facts: Mapping[str, Value]


class Arc(NamedTuple):
    """A relation or a mention."""

    source: str
    target: str
    key: str  #: tells it from others between the same two
    facts: Mapping[str, Value]


#: What is said of nodes and of arcs, and the type that GraphML has for it.
NODE_FACTS = {
    "type": "string",
    "label": "string",
    "kind": "string",
    "memories": "long",
    "subjects": "long",
    "aliases": "string",
}
ARC_FACTS = {
    "type": "string",
    "role": "string",
    "weight": "double",
    "valid_from": "string",
    "valid_to": "string",
    "recorded_at": "string",
    "origin": "string",
    "evidence": "string",
}


def elements(
    search: GraphSearch, filter: Filter, lines: Lines | None = None
) -> Iterator[Node | Arc]:
    """Every node, then every arc between them; without `lines`, memories are left out."""
    concepts: dict[ConceptName, None] = {}
    memories: dict[MemoryId, None] = {}
    for mention in search.all_mentions(filter):
        concepts[mention.concept] = None
        memories[mention.id] = None
    for relation in search.all_relations(filter):
        concepts |= {relation.source: None, relation.target: None}
    for names in _batches([*concepts]):
        known = search.concepts(filter.scope, names)
        yield from (_concept(name, known.get(name)) for name in names)
    if lines is not None:
        yield from _memories(lines, [*memories])
        for mention in search.all_mentions(filter):
            if mention.concept in concepts and mention.id in memories:  # written meanwhile: not
                role = str(mention.role)
                ends = f"memory:{mention.id}", f"concept:{mention.concept}"
                yield Arc(*ends, key=role, facts={"type": "mentions", "role": role})
    for relation in search.all_relations(filter):
        if relation.source in concepts and relation.target in concepts:
            yield _relation(relation)


def _memories(lines: Lines, ids: Sequence[MemoryId]) -> Iterator[Node]:
    for batch in _batches(ids):
        labels = lines(batch)
        for id_ in batch:
            yield Node(f"memory:{id_}", {"type": "memory", "label": labels.get(id_, "")})


def _concept(name: ConceptName, concept: Concept | None) -> Node:
    facts: dict[str, Value] = {"type": "concept", "label": concept.label if concept else name}
    if concept is not None:
        facts |= {
            "kind": str(concept.kind),
            "memories": concept.memories,
            "subjects": concept.subjects,
            "aliases": ", ".join(concept.aliases),
        }
    return Node(f"concept:{name}", facts)


def _batches(names: Sequence[Name]) -> Iterator[Sequence[Name]]:
    return (names[start : start + BATCH] for start in range(0, len(names), BATCH))


def _relation(relation: Relation) -> Arc:
    facts: dict[str, Value | None] = {
        "type": relation.type,
        "weight": relation.weight,
        "valid_from": relation.valid_from.isoformat() if relation.valid_from else None,
        "valid_to": relation.valid_to.isoformat() if relation.valid_to else None,
        "recorded_at": relation.recorded_at.isoformat(),
        "origin": relation.origin,
        "evidence": ", ".join(relation.evidence) or None,
    }
    return Arc(
        source=f"concept:{relation.source}",
        target=f"concept:{relation.target}",
        key=f"relation {relation.number}",
        facts={name: fact for name, fact in facts.items() if fact is not None},
    )


# ---- the two formats ---------------------------------------------------------------------------


def node_link(elements: Iterable[Node | Arc]) -> Iterator[bytes]:
    """One JSON document as networkx reads it, a line for each node and edge."""
    yield b'{"directed": true, "multigraph": true, "graph": {}, "nodes": ['
    within, comma = "nodes", b"\n"
    for element in elements:
        if within == "nodes" and isinstance(element, Arc):
            within, comma = "edges", b"\n"
            yield b'\n], "edges": ['
        ends = {name: end for name, end in element._asdict().items() if name != "facts"}
        record = {**ends, **element.facts}
        yield comma + json.dumps(record, ensure_ascii=False).encode(errors="replace")
        comma = b",\n"
    yield b"\n]}\n" if within == "edges" else b'\n], "edges": []}\n'


def graphml(elements: Iterable[Node | Arc]) -> Iterator[bytes]:
    """GraphML as Gephi, yEd and networkx read it."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for place, facts in (("node", NODE_FACTS), ("edge", ARC_FACTS)):
        for name, type_ in facts.items():
            attributes = f'attr.name="{name}" attr.type="{type_}"'
            yield f'  <key id="{place}-{name}" for="{place}" {attributes}/>\n'.encode()
    yield b'  <graph edgedefault="directed">\n'
    for element in elements:
        yield _graphml_of(element).encode()
    yield b"  </graph>\n</graphml>\n"


def _graphml_of(element: Node | Arc) -> str:
    if isinstance(element, Node):
        place, named = "node", f"id={_quoted(element.id)}"
    else:
        ends = f"source={_quoted(element.source)} target={_quoted(element.target)}"
        is_relation = element.key.startswith("relation ")
        key = element.key if is_relation else f"{element.source} {element.key} {element.target}"
        place, named = "edge", f"{ends} id={_quoted(key)}"
    facts = "".join(
        f'<data key="{place}-{name}">{escape(_NOT_XML.sub("�", str(fact)))}</data>'
        for name, fact in element.facts.items()
    )
    return f"    <{place} {named}>{facts}</{place}>\n"


def _quoted(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
