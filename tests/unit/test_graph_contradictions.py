"""Relations that cannot both hold, and what is proposed about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from bearinmind.concepts import ConceptName, Relation
from bearinmind.graph.contradictions import Contradiction, End, Retract, contradictions
from bearinmind.types import Decider, Judgement, Link, LinkKind, MemoryId

NUMBERS = count(1)
FUNCTIONAL = frozenset({"runs on"})


def day(number: int, month: int = 3) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


def relation(target: str, **fields: Any) -> Relation:
    plain: dict[str, Any] = {
        "number": next(NUMBERS),
        "source": ConceptName("orders"),
        "type": "runs on",
        "weight": 1.0,
        "valid_from": None,
        "valid_to": None,
        "recorded_at": day(1),
        "retracted_at": None,
        "origin": "rules-1",
        "evidence": (),
    }
    return Relation(target=ConceptName(target), **(plain | fields))


def judged(probability: float, by: Decider = Decider.SCORER) -> Judgement:
    return Judgement(probability=probability, by=by)


@dataclass(frozen=True)
class Past:
    """Which memories superseded or outdate which, and when each was written."""

    links: Iterable[tuple[str, str]] = ()
    outdates: Iterable[tuple[str, str, Judgement | None]] = ()
    times: Mapping[str, datetime] = field(default_factory=dict)

    def newer(self, ids: Collection[MemoryId]) -> list[Link]:
        assert ids
        supersedes = [(LinkKind.SUPERSEDES, *ends, None) for ends in self.links]
        outdates = [(LinkKind.OUTDATES, *link) for link in self.outdates]
        return [
            Link(
                source=MemoryId(newer),
                target=MemoryId(older),
                kind=kind,
                created_at=day(1),
                judgement=judgement,
            )
            for kind, newer, older, judgement in (*supersedes, *outdates)
        ]

    def written(self, ids: Collection[MemoryId]) -> dict[MemoryId, datetime]:
        return {id_: self.times[id_] for id_ in ids if id_ in self.times}


def found(*relations: Relation, **known: Any) -> list[Contradiction]:
    past = Past(**known)
    return contradictions(relations, FUNCTIONAL, past.newer, past.written)


def test_two_targets_at_one_time_contradict_and_the_older_is_to_end_when_the_newer_began() -> None:
    newer = relation("db-2", recorded_at=day(9))
    older = relation("db-1", recorded_at=day(2))

    [contradiction] = found(newer, older)

    assert (contradiction.older, contradiction.newer) == (older, newer)
    assert contradiction.proposal == End(number=older.number, valid_to=day(9))


def test_when_it_held_comes_before_when_it_was_known() -> None:
    learned_late = relation("db-1", recorded_at=day(9), valid_from=day(1, month=1))
    later = relation("db-2", recorded_at=day(2), valid_from=day(1, month=2))

    [contradiction] = found(learned_late, later)

    assert contradiction.older == learned_late
    assert contradiction.proposal == End(number=learned_late.number, valid_to=day(1, month=2))


def test_what_was_imported_later_is_as_old_as_the_memory_that_says_so() -> None:
    imported = relation("db-1", recorded_at=day(9), evidence=("spring",))
    extracted = relation("db-2", recorded_at=day(5))

    [contradiction] = found(imported, extracted, times={"spring": day(2)})

    assert contradiction.older == imported


def test_what_was_superseded_is_the_older_whenever_it_was_written() -> None:
    corrected = relation("db-1", recorded_at=day(9), evidence=("old",))
    standing = relation("db-2", recorded_at=day(2), evidence=("new",))

    [contradiction] = found(corrected, standing, links=[("mid", "old"), ("new", "mid")])

    assert contradiction.older == corrected


def test_one_that_began_after_what_replaced_it_never_held() -> None:
    corrected = relation("db-1", valid_from=day(9), evidence=("old",))
    standing = relation("db-2", valid_from=day(2), evidence=("new",))

    [contradiction] = found(corrected, standing, links=[("new", "old")])

    assert contradiction.proposal == Retract(number=corrected.number)


def test_a_chain_is_settled_link_by_link() -> None:
    chain = [relation(f"db-{n}", recorded_at=day(n)) for n in (1, 2, 3)]

    pairs = [(each.older, each.newer) for each in found(*reversed(chain))]

    assert pairs == [(chain[0], chain[1]), (chain[1], chain[2])]


def test_times_that_do_not_overlap_are_history_and_no_contradiction() -> None:
    assert not found(
        relation("db-1", valid_to=day(5)), relation("db-2", valid_from=day(5), recorded_at=day(6))
    )


def test_what_was_ended_when_the_newer_was_written_contradicts_it_no_more() -> None:
    newer = relation("db-2", recorded_at=day(9))

    assert found(relation("db-1", recorded_at=day(2)), newer)
    assert not found(relation("db-1", recorded_at=day(2), valid_to=day(9)), newer)


def test_the_same_target_another_type_or_another_source_do_not_contradict() -> None:
    assert not found(relation("db-1"), relation("db-1", recorded_at=day(4)))
    assert not found(relation("db-1", type="uses"), relation("db-2", type="uses"))
    assert not found(relation("db-1"), relation("db-2", source=ConceptName("billing")))


def test_what_an_outdated_memory_alone_states_is_to_end_whatever_its_type() -> None:
    redis = relation("redis", type="uses", recorded_at=day(2), evidence=("old",))
    kept = relation("kafka", type="uses", recorded_at=day(2), evidence=("old", "new"))
    valkey = relation("valkey", type="uses", recorded_at=day(9), evidence=("new",))

    [contradiction] = found(redis, kept, valkey, outdates=[("new", "old", judged(0.95))])

    assert (contradiction.older, contradiction.newer) == (redis, valkey)
    assert contradiction.proposal == End(number=redis.number, valid_to=day(9))


def test_a_doubtful_judgement_or_one_that_somebody_refuted_ends_nothing() -> None:
    redis = relation("redis", type="uses", evidence=("old",))
    valkey = relation("valkey", type="uses", evidence=("new",))
    refuted = ("old", "new", judged(0.0, Decider.PERSON))

    assert not found(redis, valkey, outdates=[("new", "old", judged(0.49))])
    assert not found(redis, valkey, outdates=[("new", "old", judged(0.95)), refuted])


def test_what_somebody_decided_to_hold_beside_another_does_not_contradict_it() -> None:
    one = relation("db-1", recorded_at=day(2), evidence=("old",))
    other = relation("db-2", recorded_at=day(9), evidence=("new",))

    assert len(found(one, other, outdates=[("new", "old", judged(0.1))])) == 1
    assert not found(one, other, outdates=[("new", "old", judged(0.0, Decider.AGENT))])


def test_what_arrived_late_is_ended_by_what_outdates_it() -> None:
    late = relation("db-1", recorded_at=day(9), evidence=("late",))
    standing = relation("db-2", recorded_at=day(2), evidence=("standing",))

    [contradiction] = found(late, standing, outdates=[("standing", "late", None)])

    assert contradiction.older == late
