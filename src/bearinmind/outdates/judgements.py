"""Which of several judgements about two memories prevails, and which of them count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from bearinmind.types import Decider, Judgement, Link, LinkKind, Memory, MemoryId, Trust

Pair = frozenset[MemoryId]

SURE: Final = 0.5  #: the probability from which on a memory counts as outdated
OFFER: Final = 0.3  #: the probability from which on somebody is asked
PEOPLE: Final = frozenset({Decider.AGENT, Decider.PERSON})  #: what they decided is not asked again

_DECIDERS = (*Decider,)
_TRUST = (Trust.EXTERNAL, Trust.AGENT, Trust.USER)  # the least first
_SAID = Judgement(probability=1.0, by=Decider.PERSON)


def judgement_of(link: Link) -> Judgement:
    """The judgement of an `outdates` link; somebody who makes one by hand is sure."""
    return link.judgement or _SAID


def prevailing(links: Iterable[Link]) -> dict[Pair, Link]:
    """Of each pair of memories the `outdates` link whose judgement prevails."""
    outdates = [link for link in links if link.kind is LinkKind.OUTDATES]
    ranked = sorted(outdates, key=lambda x: (_DECIDERS.index(judgement_of(x).by), x.created_at))
    return {frozenset({link.source, link.target}): link for link in ranked}


def counts(link: Link, memories: Mapping[MemoryId, Memory]) -> bool:
    """Whether trust lets a link count: one from a less trusted memory only if a person made it."""
    if link.kind is not LinkKind.OUTDATES or judgement_of(link).by is Decider.PERSON:
        return True
    newer, older = memories.get(link.source), memories.get(link.target)
    return newer is None or older is None or not is_less_trusted(newer, older)


def is_less_trusted(one: Memory, other: Memory) -> bool:
    """Whether the trust class of a memory is lower than that of another."""
    return _TRUST.index(one.provenance.trust) < _TRUST.index(other.provenance.trust)
