"""Memories that cannot both hold: the same sentence, with another value in one place.

What was inferred from links is of the same kind. Somebody decides which of them holds: a text does
not say it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations, groupby
from typing import NamedTuple

from bearinmind.changes import SyncConflict
from bearinmind.curate.candidates import (
    CLAIM,
    CONTRADICTION,
    DISAGREEMENT,
    Candidate,
    Finding,
    proposal,
)
from bearinmind.curate.differences import Difference, Kind, Tokens, compare_read
from bearinmind.curate.duplicates import NearPair
from bearinmind.outdates.verdicts import (
    OFFER,
    is_decided,
    is_less_trusted,
    is_trusted,
    judgement_of,
)
from bearinmind.proposals import ProposalKind
from bearinmind.protocols import Store
from bearinmind.types import Decider, Link, LinkKind, Memory, MemoryId, Scope

#: Whatever stands in the place of these is a value of the same thing.
_VALUES = frozenset({Kind.NUMBER, Kind.DATE, Kind.NAME, Kind.VALUE})
#: These reverse a sentence, wherever they stand.
_REVERSALS = frozenset({Kind.NEGATION, Kind.OPPOSITE, Kind.STRENGTH})
_LEAST_FRAME = 2  # words that both must have in common
_LEAST_SHARED = 0.6  # of the words of two memories that are near in meaning
_MOST_ALIKE = 20  # memories with one frame: more are a list, such as a birthday of each colleague
#: A value stands behind one of these; what stands before it says of what it is the value.
_VERB = re.compile(
    r"\b(?:is|are|am|be|was|were|has|have|had|uses?|runs?|listens?|lives?|goes|go|must|should|may|can|"
    r"will|starts?|begins?|ends?|expires?|costs?|takes?|keeps?|prefers?|likes?|wants?|owns?|needs?|"
    r"requires?|allows?|sends?|reads?|writes?|points?|stored|kept|set|called|named|run|moved|pinned|"
    r"built|deployed)\b|[:=]",
    re.IGNORECASE,
)


class Contradiction(NamedTuple):
    """Two memories, and the one thing in which they differ."""

    older: Candidate
    newer: Candidate
    difference: Difference
    cosine: float | None = None


def contradictions(
    candidates: Iterable[Candidate], near: Iterable[NearPair], new: Collection[MemoryId]
) -> Iterator[Contradiction]:
    """Every such pair of which at least one memory is among the new ones, once."""
    seen: set[frozenset[MemoryId]] = set()
    pairs = [NearPair(one, other, -1.0) for one, other in _same_frame(candidates)]
    for one, other, cosine in [*near, *pairs]:
        ids = frozenset({one.memory.id, other.memory.id})
        if ids in seen or ids.isdisjoint(new):
            continue
        seen.add(ids)
        difference = contradicts(one.tokens, other.tokens, one.memory.content)
        if difference and _share_project_and_time(one, other):
            older, newer = sorted(
                (one, other), key=lambda each: (each.memory.created_at, each.memory.id)
            )
            if older is not one:
                difference = difference._replace(one=difference.other, other=difference.one)
            yield Contradiction(older, newer, difference, None if cosine < 0 else cosine)


def outdate(contradiction: Contradiction) -> Finding:
    """The proposal that the newer of two memories holds, of which only one can hold.

    A memory that is trusted less outdates none: somebody should look at it.
    """
    newer, older = contradiction.newer.memory, contradiction.older.memory
    return Finding(
        kind=ProposalKind.REVIEW if is_less_trusted(newer, older) else ProposalKind.OUTDATE,
        origin=CONTRADICTION,
        memories=(newer, older),
        reason=f"only one of them can hold: one {contradiction.difference.kind} differs",
        evidence={"differs_in": contradiction.difference.kind.value}
        | ({} if contradiction.cosine is None else {"cosine": round(contradiction.cosine, 4)}),
    )


def claim(newer: Memory, older: Memory) -> Finding:
    """The proposal to decide about a memory that is to replace one which is trusted more."""
    return Finding(
        kind=ProposalKind.OUTDATE,
        origin=CLAIM,
        memories=(newer, older),
        reason=f"{newer.id} ({newer.provenance.trust}) was to replace {older.id} "
        f"({older.provenance.trust}), which is trusted more",
    )


def claims(links: Iterable[Link], candidates: Mapping[MemoryId, Candidate]) -> Iterator[Finding]:
    """The proposals that follow from memories which are to supersede more trusted ones."""
    for link in links:
        ends = [candidates.get(end) for end in (link.source, link.target)]
        if link.kind is not LinkKind.SUPERSEDES or not all(ends):
            continue
        newer, older = (each.memory for each in ends if each)
        if not is_trusted(link, {newer.id: newer, older.id: older}):
            yield claim(newer, older)


def propose_claims(store: Store, scope: Scope, ids: Sequence[MemoryId], now: datetime) -> None:
    """Put what these memories claim into the inbox: a person decides about it."""
    links = store.links(scope, ids)
    memories = store.get_many(scope, [*{end for x in links for end in (x.source, x.target)}])
    present = {id_: Candidate(x, {}) for id_, x in memories.items() if x.deleted_at is None}
    if found := [proposal(each, now) for each in claims(links, present)]:
        store.propose(scope, found)


def propose_disagreements(store: Store, scope: Scope, conflicts: Iterable[SyncConflict]) -> None:
    """Put what was decided otherwise on two machines into the inbox, on every machine alike."""
    for conflict in conflicts:
        newer, _, older = map(MemoryId, conflict.subject.parts)
        memories = store.get_many(scope, [newer, older])
        if len(memories) == len(conflict.pair):
            finding = Finding(
                kind=ProposalKind.OUTDATE,
                origin=DISAGREEMENT,
                memories=(memories[newer], memories[older]),
                reason=f"decided on two machines, neither knowing of the other: {conflict.detail}",
                change={"decided_at": conflict.at.isoformat()},
            )
            store.propose(scope, [proposal(finding, conflict.at)])


def undecided(
    judged: Iterable[Link], candidates: Mapping[MemoryId, Candidate]
) -> Iterator[Finding]:
    """The proposals that follow from links which were inferred, and which nobody decided."""
    for link in judged:
        judgement = judgement_of(link)
        newer, older = candidates.get(link.source), candidates.get(link.target)
        if is_decided(link) or judgement.probability < OFFER or not (newer and older):
            continue
        if is_less_trusted(newer.memory, older.memory):
            continue
        finding = Finding(
            kind=ProposalKind.OUTDATE,
            origin=CONTRADICTION,
            memories=(newer.memory, older.memory),
            reason="",
        )
        yield with_judgement(finding, judgement.probability, judgement.by)


def with_judgement(finding: Finding, probability: float, by: Decider) -> Finding:
    """A finding with the judgement behind it, without its words: a memory may become sensitive."""
    newer, older = finding.memories
    return replace(
        finding,
        reason=f"{newer.id} may state what holds now of what {older.id} states: "
        f"{probability:.0%} by the {by}",
        evidence={**finding.evidence, "probability": round(probability, 3), "judged_by": by.value},
    )


def contradicts(one: Tokens, other: Tokens, text: str) -> Difference | None:
    """The one difference of two texts that cannot both hold; None when they can.

    `text` is what `one` was read from.
    """
    comparison = compare_read(one, other)
    if len(comparison.differences) != 1 or comparison.shared < _LEAST_SHARED:
        return None
    [difference] = comparison.differences
    if difference.kind in _REVERSALS:
        return difference
    if difference.kind not in _VALUES or not (difference.one and difference.other):
        return None
    place = text.find(difference.one)
    return difference if _VERB.search(text[: max(place, 0)]) else None


def _share_project_and_time(one: Candidate, other: Candidate) -> bool:
    first, second = one.memory, other.memory
    is_over = [
        earlier.valid_to is not None
        and later.valid_from is not None
        and earlier.valid_to <= later.valid_from
        for earlier, later in ((first, second), (second, first))
    ]
    return first.provenance.project == second.provenance.project and not any(is_over)


def _same_frame(candidates: Iterable[Candidate]) -> Iterator[tuple[Candidate, Candidate]]:
    """Pairs that are equal but for one place."""
    by_frame: defaultdict[int, list[Candidate]] = defaultdict(list)
    for each in candidates:
        for frame in dict.fromkeys(_frames(each.tokens)):  # in order, whatever the hashes
            by_frame[frame].append(each)
    for group in by_frame.values():
        if 1 < len(group) <= _MOST_ALIKE:
            yield from combinations(group, 2)


def _frames(tokens: Tokens) -> Iterator[int]:
    """A hash of the text without each value or reversal in turn, and of the whole text.

    The whole text counts because another text may add no more than a "not" to it.
    """
    plain = [token.plain for token in tokens]
    if len(plain) >= _LEAST_FRAME:
        yield hash(("", *plain))
    kinds = [token.kind for token in tokens]
    yield from _without_each(kinds, plain)
    # The same values as one: "Jenkins" is a name, "GitHub Actions" a value and a name.
    yield from _without_each([Kind.VALUE if x in _VALUES else x for x in kinds], plain)


def _without_each(kinds: Sequence[Kind], plain: Sequence[str]) -> Iterator[int]:
    """A hash of the text without each run of tokens of one kind, where that is a value."""
    place = 0
    for kind, group in groupby(kinds):
        count = len([*group])
        rest = [*plain[:place], *plain[place + count :]]
        if len(rest) >= _LEAST_FRAME:
            if kind in _VALUES:
                yield hash(("value", place, *rest))
            elif kind in _REVERSALS:
                yield hash(("", *rest))
                yield hash(("turn", place, *rest))
        place += count
