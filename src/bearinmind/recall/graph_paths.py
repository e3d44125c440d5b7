"""What the graph leg says of a memory: the way that leads to it, or why none does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from bearinmind.concepts import ConceptName, Mentioned, Role
from bearinmind.recall.graph_leg import GraphLeg
from bearinmind.trace import Answer, LegReport
from bearinmind.types import Filter, Memory, MemoryId, Step

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


_SHOWN = 3  # concepts of a memory that are named


def notes(
    leg: GraphLeg, filter: Filter, memory: Memory, answer: Answer, report: LegReport
) -> Iterator[str]:
    """How the graph leads to a memory, or what is in the way."""
    connection = _Connection(leg, filter, memory, report)
    path = answer.trace.paths.get(memory.id, ())
    if path:
        yield in_words(path, memory.id, connection.labels(concepts([path])))
        yield f"the surest to start from has {report.detail['surest']:.2f}"
    else:
        yield connection.why_none(found=any(x.id == memory.id for x in answer.trace.fused))


class _Connection:
    """Between a memory and where the graph leg starts."""

    def __init__(self, leg: GraphLeg, filter: Filter, memory: Memory, report: LegReport) -> None:
        self._search, self._spread = leg.search, leg.spread
        self._filter = filter
        self._memory = memory
        self._report = report
        named, seeds = report.detail.get("named"), report.detail.get("seeds")
        self._named: set[ConceptName] = {*named} if isinstance(named, list) else set()
        self._seeds: list[MemoryId] = [*seeds] if isinstance(seeds, list) else []

    def labels(self, names: Collection[ConceptName]) -> Mapping[ConceptName, str]:
        """How concepts are written."""
        found = self._search.concepts(self._filter.scope, names)
        return {name: concept.label for name, concept in found.items()}

    def why_none(self, *, found: bool) -> str:
        """Why no way leads to the memory, which another leg may have found."""
        if self._memory.sensitive:
            return "sensitive memories are never read for the graph"
        own = self._search.mentions_in(self._filter, [self._memory.id])
        if not own:
            unread = self._report.partial is not None
            return "not read for the graph yet" if unread else "it mentions no concept"
        labels = self.labels({each.concept for each in own})
        return self._by_query(own, labels) or self._by_seeds(own, labels, found=found)

    def _by_query(self, own: list[Mentioned], labels: Mapping[ConceptName, str]) -> str:
        """What keeps a concept that the query names from leading to the memory."""
        for each in own:
            if each.concept in self._named:
                told = f'the query names "{label(each.concept, labels)}", '
                if not self._spread.specificity(each.memories):
                    return told + self._too_common(each)
                if each.role is not Role.SUBJECT:
                    return f"{told}which leads to the memories about it, and this one is not"
        return ""

    def _by_seeds(
        self, own: list[Mentioned], labels: Mapping[ConceptName, str], *, found: bool
    ) -> str:
        """What keeps the memories that the leg starts from from leading to this one."""
        others = [id_ for id_ in self._seeds if id_ != self._memory.id]
        mine = {each.concept for each in own}
        shared = [x for x in self._search.mentions_in(self._filter, others) if x.concept in mine]
        if not shared:
            rarest = sorted(own, key=lambda each: (each.memories, each.concept))[:_SHOWN]
            told = ", ".join(f'"{label(each.concept, labels)}"' for each in rarest)
            return f"shares no concept with the {len(others)} it starts from; it mentions {told}"
        best = min(shared, key=lambda each: (each.memories, each.role is Role.SUBJECT, each.id))
        told = f'shares "{label(best.concept, labels)}" with {best.id}, '
        if not self._spread.specificity(best.memories):
            return told + self._too_common(best)
        if best.role is Role.SUBJECT:
            return f"{told}which is about it, and leads on only by what else it mentions"
        if found and self._spread.below:
            return f"{told}which lifts nothing above {self._spread.below:.0%} of where it stands"
        return f"{told}but other ways were stronger"

    def _too_common(self, each: Mentioned) -> str:
        return (
            f"which {each.memories:,} memories mention: "
            f"from {self._spread.too_common} on a concept leads nowhere"
        )
