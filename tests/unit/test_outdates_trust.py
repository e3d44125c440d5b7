"""Nothing that is trusted less outdates what is trusted more, unless a person says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.outdates.verdicts import judgement_of, outdated, prevailing
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import (
    Decider,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Trust,
    UserId,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORDER = [Trust.EXTERNAL, Trust.AGENT, Trust.USER]  # the least first
NOT_PEOPLE = [Decider.SCORER, Decider.MODEL, Decider.AGENT]
COUNT = 5

trusts = st.lists(st.sampled_from(Trust), min_size=COUNT, max_size=COUNT)
places = st.lists(st.integers(0, COUNT - 1), min_size=2, max_size=2, unique=True)
judgements = st.builds(
    Judgement,
    probability=st.sampled_from([0.0, 0.4, 0.5, 0.9, 1.0]),
    by=st.sampled_from(Decider),
)
#: The places of the newer and the older memory, a judgement, and when it was made.
links = st.lists(
    st.tuples(places, st.none() | judgements, st.integers(0, 9)),
    max_size=12,
    unique_by=lambda link: tuple(link[0]),
)
Drawn = list[tuple[list[int], Judgement | None, int]]


def _memory(number: int, trust: Trust) -> Memory:
    at = NOON + timedelta(days=number)
    return Memory(
        id=MemoryId(f"m{number}"),
        owner=UserId("ada"),
        content=f"walrus {number}",
        category="facts",
        tags=(),
        keywords=(),
        importance=0.5,
        sensitive=False,
        created_at=at,
        updated_at=at,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(trust=trust),
        version=1,
    )


def _link(memories: list[Memory], drawn: tuple[list[int], Judgement | None, int]) -> Link:
    (newer, older), judgement, hours = drawn
    return Link(
        source=memories[newer].id,
        target=memories[older].id,
        kind=LinkKind.OUTDATES,
        created_at=NOON + timedelta(hours=hours),
        judgement=judgement,
    )


def _is_allowed(newer: Memory, older: Memory, by: Decider) -> bool:
    ranks = [ORDER.index(each.provenance.trust) for each in (newer, older)]
    return by is Decider.PERSON or ranks[0] >= ranks[1]


@given(trusts=trusts, drawn=links)
def test_whatever_is_linked_a_less_trusted_memory_outdates_only_by_a_person_s_word(
    trusts: list[Trust], drawn: Drawn
) -> None:
    made = [_memory(number, trust) for number, trust in enumerate(trusts)]
    memories = {memory.id: memory for memory in made}
    known = [_link(made, each) for each in drawn]
    for older, link in prevailing(known, memories).items():
        assert _is_allowed(memories[link.source], memories[older], judgement_of(link).by)
    for older, verdict in outdated(known, memories).items():
        assert _is_allowed(memories[verdict.by], memories[older], verdict.decided_by)


@given(trusts=trusts, drawn=links)
def test_no_distrusted_link_keeps_a_trusted_one_from_counting(
    trusts: list[Trust], drawn: Drawn
) -> None:
    """A store without the links that count for nothing gives the same verdicts."""
    made = [_memory(number, trust) for number, trust in enumerate(trusts)]
    memories = {memory.id: memory for memory in made}
    known = [_link(made, each) for each in drawn]
    counting = [
        link
        for link in known
        if _is_allowed(memories[link.source], memories[link.target], judgement_of(link).by)
        or judgement_of(link).probability < 0.5  # which says that nothing is outdated
    ]
    assert outdated(known, memories) == outdated(counting, memories)


@settings(max_examples=25)
@given(trusts=trusts, drawn=links)
def test_no_recall_marks_a_memory_outdated_by_one_that_is_trusted_less(
    trusts: list[Trust], drawn: Drawn
) -> None:
    clock = FixedClock(NOON)
    chosen = Settings.model_validate({"user": "ada", "embedder": "none"})
    with Mind(TemporaryStore(), chosen, clock=clock) as mind:
        made = []
        for number, trust in enumerate(trusts):
            made.append(mind.store(f"the walrus sings {number}", trust=trust).memory)
            clock.advance(days=1)
        for each in drawn:
            mind.transfer.add_link(replace(_link(made, each)))
        memories = {memory.id: memory for memory in made}
        for group in ("states", "off"):
            for hit in mind.recall("walrus sings", group=group).hits:
                marks = [(hit.memory.id, hit.outdated)] if hit.outdated else []
                marks += [(earlier.memory.id, earlier.outdated) for earlier in hit.earlier]
                for older, verdict in marks:
                    newer = memories[verdict.by]
                    assert _is_allowed(newer, memories[older], verdict.decided_by)
