"""What is true now: decisions about memories that may be states of one thing, and its history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from bearinmind.errors import InvalidLink, InvalidProvenance, MemoryNotFound, NothingToResolve
from bearinmind.outdates.verdicts import (
    MARK,
    OFFER,
    Finder,
    Offers,
    because,
    is_bridged,
    is_decided,
    is_less,
    is_trusted,
    judgement_of,
    prevailing,
    prevailing_of_pairs,
    says,
)
from bearinmind.proposals import Conflict
from bearinmind.protocols import Readable, Store
from bearinmind.recall import history, owned_ids, shared
from bearinmind.recall.groups import Preferences
from bearinmind.recall.pipeline import LARGEST_LIMIT, Recall, check_number
from bearinmind.recall.second_look import read_states
from bearinmind.remember.pipeline import Remember
from bearinmind.remember.resolve import Resolved
from bearinmind.text import ids
from bearinmind.types import (
    Decider,
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outdated,
    Query,
    Resolution,
    Scope,
    Trust,
    Verdict,
    choose,
)

HITS = 10  #: memories whose chains are followed for the history of a thing
_NEAR = 0.5  # of the best score: what is further off is about something else
_PAIR = 2
_RECENT = 20  # memories of a session about which something may have been found since


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Which memories of one user hold now, and which are outdated."""

    store: Store
    scope: Scope
    clock: Callable[[], datetime]
    remember: Remember
    recall: Recall
    offers: Offers

    def resolve(self, id: str, resolution: str, other: str | Iterable[str], trust: str) -> Resolved:
        """Decide about a memory and others, or about the two memories of a proposal."""
        chosen = choose(Resolution, resolution, InvalidLink)
        by = self._decider(trust)
        named = [other] if isinstance(other, str) else [*other]
        memory, others = self._named(id, [self._own(each) for each in named])
        others = others or self._may_replace(memory, chosen)
        if not others:
            raise NothingToResolve(f"no memory that {memory.id} may replace waits for a decision")
        return self.remember.resolve(self.scope, memory, others, chosen, by)

    def link(self, source: str, kind: str, target: str, trust: str) -> Link:
        """Link two memories."""
        chosen = choose(LinkKind, kind, InvalidLink)
        by = self._decider(trust)
        ends = self._own(source), self._own(target)
        link = self.remember.link(self.scope, ends[0], chosen, ends[1], by)
        if chosen is LinkKind.SUPERSEDES and not is_trusted(link, {x.id: x for x in ends}):
            self._propose(ends[0], [ends[1]])
        return link

    def _decider(self, trust: str) -> Decider:
        is_person = choose(Trust, trust, InvalidProvenance) is Trust.USER
        return Decider.PERSON if is_person else Decider.AGENT

    def _propose(self, newer: Memory, older: Sequence[Memory]) -> None:
        """Put claims into the inbox: a person decides about them."""
        from bearinmind.curate.candidates import proposal  # noqa: PLC0415  only writers
        from bearinmind.curate.contradictions import claim  # noqa: PLC0415  only writers

        claims = [proposal(claim(newer, each), self.clock()) for each in older]
        self.store.propose(self.scope, claims)

    def propose_claims(self, newer: Memory, replaced: Sequence[Memory], trust: Trust) -> None:
        """Put into the inbox which of these memories a less trusted one says to replace."""
        claims = [x for x in replaced if is_less(trust, x.provenance.trust) and x.id != newer.id]
        if claims:
            self._propose(newer, claims)

    def outdated(
        self, memories: Sequence[Memory], as_of: datetime | None
    ) -> dict[MemoryId, Outdated]:
        """Which of these memories are outdated, and by which one that the user can see."""
        filter = Filter(scope=self.scope, now=as_of or self.clock(), as_of=as_of)
        keys = {
            owned_ids.as_seen_by(self.scope, each).id: name
            for name, each in history.by_name(self.scope, memories).items()
        }
        verdicts = history.verdicts_above(self._view(filter), filter, [*keys])
        return {
            name: replace(verdicts[key], by=owned_ids.bare(verdicts[key].by))
            for key, name in keys.items()
            if key in verdicts
        }

    def conflicts(self, links: Sequence[Link], as_of: datetime | None) -> Sequence[Conflict]:
        """The undecided conflicts among links `outdates`, of live memories with each other.

        A memory that is marked as outdated by the other, or by way of memories between, is no
        conflict. One that a less trusted memory says to be outdated is one.
        """
        links = prevailing_of_pairs(links)
        ends = [*{id_ for link in links for id_ in (link.source, link.target)}]
        present = self.store.get_many(self.scope, ends, as_of)
        asked = [link for link in links if _is_open(link, present)]
        steps = self._steps([link.target for link in asked], as_of) if asked else {}
        return [
            Conflict(
                newer=link.source,
                older=link.target,
                probability=judgement_of(link).probability,
                because=because(judgement_of(link).evidence),
            )
            for link in asked
            if not is_bridged(steps, link.source, link.target)
        ]

    def _steps(self, ids: Sequence[MemoryId], as_of: datetime | None) -> dict[MemoryId, Link]:
        """What outdates each of these memories, and what that, up their chains."""
        links = self.store.newer(self.scope, ids, as_of, [LinkKind.OUTDATES])
        ends = [*{id_ for link in links for id_ in (link.source, link.target)}]
        return prevailing(links, self.store.get_many(self.scope, ends, as_of))

    def history(self, query: Query, limit: int) -> history.ThingHistory:
        """The states of what the best hits are about; of each hit at least half as good.

        Where a recall says that nothing relevant is stored there is no history.
        """
        check_number("limit", limit, LARGEST_LIMIT)
        answer = shared.recalled(self.recall, self.store, query)
        hits = () if answer.verdict is Verdict.NOTHING else answer.hits
        best = [hit.memory for hit in hits if hit.score >= _NEAR * hits[0].score]
        near = [owned_ids.as_seen_by(self.scope, memory) for memory in best]
        view = self._view(query.filter)
        prefer = partial(self._preferred, query.text)
        chains = history.thing_history(view, query.filter, query.text, near, limit, prefer)
        return owned_ids.bare_history(chains)

    def _preferred(self, thing: str, pairs: Sequence[tuple[Memory, Memory]]) -> Preferences:
        """What a model that reads both says of each pair; nothing where there is none."""
        read_pairs = self.recall.pair_reader()
        return read_states(read_pairs, thing, pairs, {})[0] if read_pairs else {}

    def _named(self, id: str, others: Sequence[Memory]) -> tuple[Memory, Sequence[Memory]]:
        """The memory of an id with others, or the memories that a proposal names."""
        try:
            memory = self._own(id)
        except MemoryNotFound:
            proposal = self.store.proposal(self.scope, ids.normalise(id))
            if others or proposal is None or len(proposal.memories) != _PAIR:
                raise
            memory, other = map(self._own, proposal.memories)
            return memory, [other]
        return memory, others

    def _may_replace(self, memory: Memory, resolution: Resolution) -> Sequence[Memory]:
        """The earlier memories that a memory may replace and that nobody has decided on.

        Else those about which the same was decided before: to say it twice is no error.
        """
        links = self.store.links(self.scope, [memory.id])
        decided = {
            link.target if link.source == memory.id else link.source: says(link, memory.id)
            for link in prevailing_of_pairs(x for x in links if says(x, memory.id))
            if is_decided(link)
        }
        at_once = Finder(self.store).offers(self.scope, memory, self.clock())
        offers = {x.memory.id: x.memory for x in (*self.offers.inferred([memory]), *at_once)}
        same = [id_ for id_, word in decided.items() if word is resolution]
        undecided = [each for id_, each in offers.items() if id_ not in decided]
        return undecided or [*self.store.get_many(self.scope, same).values()]

    def _own(self, id: str) -> Memory:
        return history.find(self.store, self.scope, id)

    def _view(self, filter: Filter) -> Readable:
        return shared.visible_to(self.store, self.store, filter) or self.store


def _is_open(link: Link, memories: Mapping[MemoryId, Memory]) -> bool:
    """Whether nobody has decided between two live memories, and none is marked outdated by it."""
    ends = [memories.get(link.source), memories.get(link.target)]
    if not all(each and each.deleted_at is None and not each.sensitive for each in ends):
        return False
    probability = judgement_of(link).probability
    is_marked = probability >= MARK and is_trusted(link, memories)
    return probability >= OFFER and not is_marked and not is_decided(link)
