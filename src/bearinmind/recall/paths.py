"""Ways through the concept graph in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bearinmind.concepts import ConceptName, Role
from bearinmind.types import MemoryId, Step

Labels = Mapping[ConceptName, str]  #: how concepts are written; without a label, as they are named

_DOES = {
    Role.SUBJECT: "is about it",
    Role.NAME: "names it too",
    Role.TAG: "is tagged with it",
    Role.KEYWORD: "has it as a keyword",
}


def in_words(path: Iterable[Step], id_: MemoryId, labels: Labels) -> str:
    """How a way leads to a memory, step by step."""
    return "; ".join(_steps(path, id_, labels))


def _steps(path: Iterable[Step], id_: MemoryId, labels: Labels) -> Iterator[str]:
    for source, concept, role, target in path:
        name, does = label(concept, labels), _DOES[Role(role)]
        reached = "this memory" if target == id_ else target
        if source is None:
            yield f'the query names "{name}", {reached} {does.removesuffix(" too")}'
        else:
            whence = "this memory" if source == id_ else source
            yield f'via "{name}": {whence} mentions it, {reached} {does}'


def over(path: Iterable[Step], labels: Labels) -> str:
    """The concepts that a way goes over."""
    return ", ".join(dict.fromkeys(label(step.concept, labels) for step in path))


def concepts(ways: Iterable[Iterable[Step]]) -> set[ConceptName]:
    """Every concept that some ways go over."""
    return {ConceptName(step.concept) for way in ways for step in way}


def label(concept: str, labels: Labels) -> str:
    """A concept as it is written."""
    return labels.get(ConceptName(concept), concept)
