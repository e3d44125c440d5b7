"""What is true now: decisions about memories that may be states of one thing, and its history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from bearinmind.errors import InvalidLink, InvalidProvenance, MemoryNotFound, NothingToResolve
from bearinmind.outdates.verdicts import (
    CLAIM,
    MARK,
    MOST_OFFERED,
    OFFER,
    Finder,
    because,
    is_decided,
    is_less,
    is_less_trusted,
    is_trusted,
    judgement_of,
    prevailing_of_pairs,
    says,
)
from bearinmind.proposals import Conflict
from bearinmind.protocols import Page, Readable, Store
from bearinmind.recall import history, owned_ids, shared
from bearinmind.recall.groups import Preferences
from bearinmind.recall.pipeline import LARGEST_LIMIT, Recall, check_number
from bearinmind.recall.second_look import read_states
from bearinmind.remember.pipeline import Remember
from bearinmind.remember.resolve import Resolved
from bearinmind.text import ids
from bearinmind.trace import OnDemand
from bearinmind.types import (
    AlreadyKnown,
    Decider,
    Filter,
    Link,
    LinkKind,
    MayReplace,
    Memory,
    MemoryId,
    Outcome,
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
    #: Pairs that this process has asked about.
    asked: set[tuple[MemoryId, MemoryId]] = field(default_factory=set)

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

    def with_offers(self, outcome: Outcome, replaced: Sequence[Memory], trust: Trust) -> Outcome:
        """The outcome of a store with what the new memory may replace, if nobody said it already.

        It is looked for when it is first read: an acknowledgement does not wait for it. What is
        trusted more than the new memory is not replaced: a person decides in the inbox.
        """
        memory = outcome.memory
        claims = [
            old for old in replaced if is_less(trust, old.provenance.trust) and old.id != memory.id
        ]
        if claims:
            self._propose(memory, claims)
        if isinstance(outcome, AlreadyKnown) or memory.sensitive or memory.deleted_at is not None:
            return outcome
        return replace(outcome, may_replace=OnDemand(lambda: self._offers(memory, replaced)))

    def _offers(self, memory: Memory, replaced: Sequence[Memory]) -> Sequence[MayReplace]:
        """What a memory may replace, and what was found since about others of its session."""
        now, session = self.clock(), memory.provenance.session
        offers = [
            MayReplace(memory=old, newer=memory.id, probability=OFFER, because=CLAIM)
            for old in replaced
            if is_less_trusted(memory, old)
        ]
        if not replaced:
            found = Finder(self.store).offers(self.scope, memory, now)
            offers += [x for x in found if x.memory.content != memory.content]
        earlier = [memory]
        if session is not None:
            filter = Filter(scope=self.scope, now=now, session=session)
            earlier = self.store.browse(filter, Page(limit=_RECENT))
        known = {(offer.newer, offer.memory.id) for offer in offers} | self.asked
        offers += [x for x in self._inferred(earlier) if (x.newer, x.memory.id) not in known]
        self.asked.update((offer.newer, offer.memory.id) for offer in offers[:MOST_OFFERED])
        return offers[:MOST_OFFERED]

    def _inferred(self, memories: Sequence[Memory]) -> Iterator[MayReplace]:
        """What the background work found that these memories may replace, the likeliest first."""
        own = {each.id for each in memories}
        links = self.store.links(self.scope, [*own])
        asked = [
            (link, judgement)
            for link in prevailing_of_pairs(x for x in links if x.kind is LinkKind.OUTDATES)
            if link.source in own and not is_decided(link)
            if (judgement := judgement_of(link)).probability >= OFFER
        ]
        held = self.store.get_many(self.scope, [link.target for link, _ in asked]) if asked else {}
        for link, judgement in sorted(asked, key=lambda each: -each[1].probability):
            older = held.get(link.target)
            if older and older.deleted_at is None and not older.sensitive:
                yield MayReplace(
                    memory=older,
                    newer=link.source,
                    probability=judgement.probability,
                    because=because(judgement.evidence),
                )

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

    def conflicts(self, memories: Iterable[Memory], as_of: datetime | None) -> Sequence[Conflict]:
        """The undecided conflicts of these memories with each other or with other live ones.

        A memory that is marked as outdated is no conflict. One that a less trusted memory says to
        be outdated is one.
        """
        named = [each.id for each in memories if each.owner == self.scope.user]
        links = self.store.links(self.scope, named, as_of) if named else []
        links = [x for x in links if x.kind is LinkKind.OUTDATES]
        if not links:  # as of most memories
            return []
        links = prevailing_of_pairs(links)
        ends = [*{id_ for link in links for id_ in (link.source, link.target)}]
        present = self.store.get_many(self.scope, ends, as_of)
        return [
            Conflict(
                newer=link.source,
                older=link.target,
                probability=judgement_of(link).probability,
                because=because(judgement_of(link).evidence),
            )
            for link in links
            if _is_open(link, present)
        ]

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
        offers = {x.memory.id: x.memory for x in (*self._inferred([memory]), *at_once)}
        same = [id_ for id_, word in decided.items() if word is resolution]
        undecided = [each for id_, each in offers.items() if id_ not in decided]
        return undecided or [*self.store.get_many(self.scope, same).values()]

    def _own(self, id: str) -> Memory:
        return history.find(self.store, self.scope, id)

    def _view(self, filter: Filter) -> Readable:
        return shared.visible_to(self.store, self.store, filter) or self.store


def _is_open(link: Link, memories: Mapping[MemoryId, Memory]) -> bool:
    """Whether nobody has decided between two live memories, and neither is marked as outdated."""
    ends = [memories.get(link.source), memories.get(link.target)]
    if not all(each and each.deleted_at is None and not each.sensitive for each in ends):
        return False
    probability = judgement_of(link).probability
    is_marked = probability >= MARK and is_trusted(link, memories)
    return probability >= OFFER and not is_marked and not is_decided(link)
