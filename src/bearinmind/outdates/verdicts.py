"""Which memories are outdated, by the links between them: pure functions over links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from bearinmind.types import (
    Decider,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outdated,
    Resolution,
    Trust,
)

MARK = 0.92  #: from this probability on a memory is marked outdated, and grouped
AT_ONCE = 0.09  #: from this one on it is asked which holds, while a memory is stored ...
OFFER = 0.06  #: ... and from this one on later, once both were compared in the background
KEEP = 0.02  #: from this one on a link is kept; below `OFFER` it only helps to order answers

_MOST_ASKED = 240  # characters of a question: the model was trained with short ones
_SEPARATOR = "[SEP]"  # between two texts, in the words of the model

REPLACING = frozenset({LinkKind.OUTDATES, LinkKind.SUPERSEDES})  #: kinds of links

CLAIM = "it is trusted more: a person decides whether it is replaced"  #: why it is offered

_DECIDERS = [*Decider]
_TRUST = [Trust.EXTERNAL, Trust.AGENT, Trust.USER]
_BY_A_PERSON = Judgement(probability=1.0, by=Decider.PERSON)


def with_question(text: str, older: str, newer: str) -> tuple[str, str]:
    """A pair for `ReadPairs`: whether the newer memory answers a question better than the older."""
    return f"{text[:_MOST_ASKED]} {_SEPARATOR} {older}", newer


def judgement_of(link: Link) -> Judgement:
    """Why a link holds; one that was made by hand is a person's."""
    return link.judgement or _BY_A_PERSON


def is_decided(link: Link) -> bool:
    """Whether an agent or a person decided, and nobody needs to be asked again."""
    return judgement_of(link).by in (Decider.AGENT, Decider.PERSON)


def says(link: Link, id: MemoryId) -> Resolution | None:
    """What a link says of the memory at one of its ends, if it says which of the two holds."""
    if link.kind is LinkKind.SUPERSEDES:
        return Resolution.MERGE
    if link.kind is not LinkKind.OUTDATES:
        return None
    if judgement_of(link).probability == 0.0:
        return Resolution.BOTH
    return Resolution.NEWER if link.source == id else Resolution.OLDER


def contradict(one: Link, other: Link) -> bool:
    """Whether two decisions of equals about two memories cannot both hold."""
    judged = judgement_of(one), judgement_of(other)
    newer = [x.source if judgement_of(x).probability else None for x in (one, other)]
    return is_decided(one) and judged[0].by is judged[1].by and newer[0] != newer[1]


def because(evidence: Sequence[str]) -> str:
    """Why it is asked which of two memories holds, in a few words."""
    return evidence[0] if evidence else "it may state the same thing"


def in_words(link: Link) -> str:
    """What stands between the two memories of a link when it is read."""
    probability = judgement_of(link).probability
    if probability >= MARK:
        return link.kind.value
    return "may outdate" if probability else "holds beside"


def least(*trusts: Trust) -> Trust:
    """The lowest of some trust classes."""
    return min(trusts, key=_TRUST.index)


def is_less(one: Trust, other: Trust) -> bool:
    """Whether a trust class is lower than another."""
    return _TRUST.index(one) < _TRUST.index(other)


def is_less_trusted(newer: Memory, older: Memory) -> bool:
    """Whether a memory is of a lower trust class than another, so that it cannot replace it.

    The stores have the same rule in SQL, as `may_replace`.
    """
    return is_less(newer.provenance.trust, older.provenance.trust)


def begins(memory: Memory) -> tuple[datetime, MemoryId]:
    """From when a memory holds, as far as it is known; equal times break on the id."""
    return memory.valid_from or memory.created_at, memory.id


def may_outdate(newer: Memory, older: Memory) -> bool:
    """Whether one memory can outdate another at all, whatever they say.

    Of two that were imported with one date neither is the newer.
    """
    (began, _), (began_earlier, _) = begins(newer), begins(older)
    projects = {newer.provenance.project, older.provenance.project} - {None}
    hidden = any(x.sensitive or x.deleted_at is not None for x in (newer, older))
    return (
        began > began_earlier
        and not hidden
        and len(projects) <= 1
        and not is_less_trusted(newer, older)
    )


def is_trusted(link: Link, memories: Mapping[MemoryId, Memory]) -> bool:
    """Whether the newer memory may replace the older, by its trust or by a person's word.

    Otherwise the link is a claim: it changes nothing until a person decides.
    """
    # Anybody may link with `supersedes`: a person who decides so is named with the link.
    judgement = link.judgement if link.kind is LinkKind.SUPERSEDES else judgement_of(link)
    by_person = judgement is not None and judgement.by is Decider.PERSON
    return by_person or not is_less_trusted(memories[link.source], memories[link.target])


def prevailing_of_pairs(links: Iterable[Link]) -> list[Link]:
    """Of all links between the same two memories, in either direction, the one that prevails."""
    of_pair: dict[frozenset[MemoryId], Link] = {}
    for link in sorted(links, key=_weight):
        of_pair[frozenset((link.source, link.target))] = link
    return [*of_pair.values()]


def prevailing(
    links: Iterable[Link], memories: Mapping[MemoryId, Memory], least: float = MARK
) -> dict[MemoryId, Link]:
    """For each outdated memory the link from its next state; chains are not followed.

    `memories` are those that the reader may see: a link to another one counts for nothing, nor
    does one from a deleted or a sensitive memory. No memory comes to outdate itself: of the links
    that would close a circle the weakest is left out.
    """
    valid = [x for x in links if x.source in memories and x.target in memories]
    counting = [x for x in valid if is_trusted(x, memories) or not _says_outdated(x, least)]
    above: dict[MemoryId, list[Link]] = {}
    for link in sorted(prevailing_of_pairs(counting), key=_weight, reverse=True):
        source = memories[link.source]
        is_served = source.deleted_at is None and not source.sensitive
        if is_served and _says_outdated(link, least) and not _reaches(above, link):
            above.setdefault(link.target, []).append(link)
    return {
        id_: min(each, key=lambda x: (memories[x.source].created_at, x.source))
        for id_, each in above.items()
    }


def outdated(
    links: Iterable[Link], memories: Mapping[MemoryId, Memory], least: float = MARK
) -> dict[MemoryId, Outdated]:
    """For each outdated memory, by which one it is outdated and since when; see `prevailing`."""
    result = {}
    for id_, link in prevailing(links, memories, least).items():
        judgement = judgement_of(link)
        result[id_] = Outdated(
            by=link.source,
            until=memories[link.source].created_at,
            probability=judgement.probability,
            decided_by=judgement.by,
        )
    return result


def _weight(link: Link) -> tuple[object, ...]:
    """What prevails: the later decider, then the later link; equal ones break on the ids."""
    by = _DECIDERS.index(judgement_of(link).by)
    return by, link.created_at, link.kind, link.source, link.target


def _says_outdated(link: Link, least: float) -> bool:
    return judgement_of(link).probability >= least


def _reaches(above: Mapping[MemoryId, list[Link]], link: Link) -> bool:
    """Whether the target of a link already outdates its source, directly or by way of others."""
    frontier, seen = [link.source], {link.source}
    while frontier:
        for newer in above.get(frontier.pop(), ()):
            if newer.source not in seen:
                seen.add(newer.source)
                frontier.append(newer.source)
    return link.target in seen
