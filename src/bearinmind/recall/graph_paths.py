"""How the concept graph leads to a memory, in words, or why it does not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from bearinmind.concepts import ConceptName, Mentioned, Role
from bearinmind.recall.graph_leg import GraphLeg
from bearinmind.trace import Answer, LegReport
from bearinmind.types import Filter, Memory, MemoryId, Step

Labels = Mapping[ConceptName, str]  #: how concepts are written; one without a label by its name
_SHOWN = 3  # concepts of a memory that are named

_DOES = {
    Role.SUBJECT: "is about it",
    Role.NAME: "names it too",
    Role.TAG: "is tagged with it",
    Role.KEYWORD: "has it as a keyword",
}


def in_words(path: Iterable[Step], id_: MemoryId, labels: Labels) -> str:
    """How a path leads to a memory, step by step."""
    steps = []
    for source, concept, role, target in path:
        name, does = label(concept, labels), _DOES[Role(role)]
        reached = "this memory" if target == id_ else target
        if source is None:
            steps.append(f'the query names "{name}", {reached} {does.removesuffix(" too")}')
        else:
            start = "this memory" if source == id_ else source
            steps.append(f'via "{name}": {start} mentions it, {reached} {does}')
    return "; ".join(steps)


def over(path: Iterable[Step], labels: Labels) -> str:
    """The concepts of a path."""
    return ", ".join(dict.fromkeys(label(step.concept, labels) for step in path))


def concepts(paths: Iterable[Iterable[Step]]) -> set[ConceptName]:
    """Every concept of some paths."""
    return {ConceptName(step.concept) for path in paths for step in path}


def label(concept: str, labels: Labels) -> str:
    """A concept as it is written."""
    return labels.get(ConceptName(concept), concept)


def notes(
    leg: GraphLeg, filter: Filter, memory: Memory, answer: Answer, report: LegReport
) -> Iterator[str]:
    """How the graph leads to a memory, or why it does not."""
    connection = _Connection(leg, filter, memory, report)
    path = answer.trace.paths.get(memory.id, ())
    if path:
        yield in_words(path, memory.id, connection.labels(concepts([path])))
        yield f"the surest to start from has {report.detail['surest']:.2f}"
    else:
        yield connection.why_none(found=any(x.id == memory.id for x in answer.trace.fused))


class _Connection:
    """The connection between a memory and the seeds of the graph leg."""

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
        known = self._search.concepts(self._filter.scope, names)
        return {name: concept.label for name, concept in known.items()}

    def why_none(self, *, found: bool) -> str:
        """Why no path leads to the memory, which another leg may have found."""
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
                text = f'the query names "{label(each.concept, labels)}", '
                if not self._spread.specificity(each.memories):
                    return text + self._too_common(each)
                if each.role is not Role.SUBJECT:
                    return f"{text}which leads to the memories about it, and this one is not"
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
            text = ", ".join(f'"{label(each.concept, labels)}"' for each in rarest)
            return f"shares no concept with the {len(others)} it starts from; it mentions {text}"
        best = min(shared, key=lambda each: (each.memories, each.role is Role.SUBJECT, each.id))
        text = f'shares "{label(best.concept, labels)}" with {best.id}, '
        if not self._spread.specificity(best.memories):
            return text + self._too_common(best)
        if best.role is Role.SUBJECT:
            return f"{text}which is about it, and leads on only by what else it mentions"
        if found and self._spread.below:
            return f"{text}which lifts nothing above {self._spread.below:.0%} of its own score"
        return f"{text}but other ways were stronger"

    def _too_common(self, each: Mentioned) -> str:
        return (
            f"which {each.memories:,} memories mention: "
            f"from {self._spread.too_common} on a concept leads nowhere"
        )
