"""Relations hold for a time and are believed for another, as their evidence comes and goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind.concepts import Extraction, Relation
from bearinmind.protocols import Store
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, MemoryId, Scope
from support.extractors import HOUR, Make, Read, after, deleted, states

Keep = Callable[..., Memory]
GANNET, HERON = name_of("gannet"), name_of("heron")
RUNS = "Gannet | Heron | Gannet > runs on > Heron"
STATED = states("Gannet", "runs on", "Heron")


@pytest.fixture
def believed(store: Store, everything: Filter) -> Callable[..., list[Relation]]:
    """What is believed about Gannet, now or at a moment."""

    def ask(as_of: datetime | None = None) -> list[Relation]:
        return store.relations(replace(everything, as_of=as_of), [GANNET], 99)

    return ask


Believed = Callable[..., list[Relation]]


def said(relations: list[Relation]) -> list[tuple[str, str, str]]:
    return [(each.source, each.type, each.target) for each in relations]


def span(relation: Relation, noon: datetime) -> tuple[float, float | None]:
    """From when and until when it was believed, in hours after noon."""
    until = relation.retracted_at
    return (relation.recorded_at - noon) / HOUR, None if until is None else (until - noon) / HOUR


def test_a_statement_is_a_relation_with_its_evidence(
    store: Store, keep: Keep, believed: Believed, noon: datetime, everything: Filter
) -> None:
    memory = keep(RUNS)
    [relation] = believed()
    assert relation == Relation(
        number=relation.number,
        source=GANNET,
        type="runs on",
        target=HERON,
        weight=1.0,
        valid_from=None,
        valid_to=None,
        recorded_at=noon,
        retracted_at=None,
        origin="plain",
        evidence=(memory.id,),
    )
    assert store.relations(everything, [HERON], 9) == [*store.all_relations(everything)]
    assert store.relations(everything, [HERON], 9) == [relation]
    assert store.relations(everything, [name_of("dunlin")], 9) == []


def test_a_relation_that_is_stated_again_gains_evidence(
    store: Store, scope: Scope, keep: Keep, believed: Believed, noon: datetime
) -> None:
    late = keep(RUNS, created_at=noon + HOUR)
    early = keep(f"{RUNS}, Gannet > knows > Ilse", created_at=noon)
    [runs] = [x for x in believed() if x.type == "runs on"]
    assert runs.evidence == (late.id, early.id)
    assert span(runs, noon) == (0, None), "since the first that said so was written"
    store.purge(scope, [early.id])
    [runs] = believed()
    assert (runs.evidence, span(runs, noon)) == ((late.id,), (1, None))


def test_only_admitted_evidence_is_named_and_without_any_nothing_is_seen(
    store: Store, keep: Keep, everything: Filter
) -> None:
    keep(RUNS)
    person = keep(f"Ilse | | {RUNS.split('|')[2]}", category="people")
    people = replace(everything, categories=frozenset({"people"}))
    [relation] = store.relations(people, [GANNET], 9)
    assert relation.evidence == (person.id,)
    decisions = replace(everything, categories=frozenset({"decisions"}))
    assert store.relations(decisions, [GANNET], 9) == []
    assert [*store.all_relations(decisions)] == []


def test_the_heaviest_come_first_and_no_more_than_asked_for(
    store: Store, scope: Scope, everything: Filter, noon: datetime, believed: Believed
) -> None:
    given = [(states("Gannet", f"type {n}", "Heron", weight=n / 9), ()) for n in (3, 9, 1, 20)]
    assert store.add_statements(scope, given, noon, "import") == 4
    assert [(x.type, x.weight) for x in believed()] == [
        ("type 9", 1.0),
        ("type 20", 1.0),
        ("type 3", 3 / 9),
        ("type 1", 1 / 9),
    ]
    assert len(store.relations(everything, [GANNET, HERON], 2)) == 2


@pytest.mark.parametrize("nothing", ["Gannet > is > GANNET", "Gannet > > Heron", "! > is > Heron"])
def test_what_relates_nothing_is_no_relation(keep: Keep, believed: Believed, nothing: str) -> None:
    keep(f"Gannet | Heron | {nothing}")
    assert believed() == []


# ---- evidence that goes ------------------------------------------------------------------------


def test_a_version_that_says_otherwise_ends_the_belief_when_it_is_written(
    store: Store, scope: Scope, keep: Keep, read: Read, believed: Believed, noon: datetime
) -> None:
    memory = keep(RUNS)
    store.replace(scope, after(memory, content="Gannet | Dunlin | Gannet > runs on > Dunlin"))
    assert believed() == [], "before the new version is read"
    read()
    assert said(believed()) == [("gannet", "runs on", "dunlin")]
    [then] = believed(noon)
    assert (then.target, then.evidence, span(then, noon)) == (HERON, (memory.id,), (0, 1))


def test_a_belief_goes_on_while_other_evidence_does(
    store: Store, scope: Scope, keep: Keep, believed: Believed
) -> None:
    one, two = keep(RUNS), keep(f"Ilse | | {RUNS.split('|')[2]}")
    store.replace(scope, deleted(one))
    [relation] = believed()
    assert (relation.evidence, relation.retracted_at) == ((two.id,), None)
    store.replace(scope, deleted(two))
    assert believed() == []


@pytest.mark.parametrize("content", [RUNS, f"{RUNS}, Gannet > knows > Ilse"])
def test_a_version_that_says_so_again_goes_on_without_a_gap(
    store: Store,
    scope: Scope,
    keep: Keep,
    read: Read,
    believed: Believed,
    noon: datetime,
    content: str,
) -> None:
    memory = keep(RUNS)
    store.replace(scope, after(memory, content=content))
    read()
    [runs] = [x for x in believed() if x.type == "runs on"]
    assert (span(runs, noon), runs.evidence) == ((0, None), (memory.id,))


def test_what_a_restored_memory_says_is_believed_again_but_not_in_between(
    store: Store, scope: Scope, keep: Keep, believed: Believed, noon: datetime
) -> None:
    memory = keep(RUNS)
    gone = deleted(memory)
    store.replace(scope, gone)
    store.replace(scope, after(gone, deleted_at=None))
    assert len(believed()) == len(believed(noon)) == 1
    assert believed(noon + 1.5 * HOUR) == []


def test_an_extractor_that_reads_otherwise_ends_the_belief_at_that_moment(
    store: Store, scope: Scope, keep: Keep, believed: Believed, noon: datetime
) -> None:
    memory = keep(RUNS)
    store.use_extractor("other")
    jobs = store.claim(["extract"], 9, noon + 60 * HOUR, noon + 61 * HOUR)
    store.finish_extraction(jobs, [Extraction()], noon + 60 * HOUR)
    assert believed() == []
    [then] = believed(noon + 59 * HOUR)
    assert (span(then, noon), then.evidence) == ((0, 60), (memory.id,))
    assert believed(noon + 60 * HOUR) == []


def test_a_memory_that_is_read_otherwise_is_no_longer_evidence_beside_another(
    store: Store, scope: Scope, keep: Keep, everything: Filter, believed: Believed, noon: datetime
) -> None:
    other = keep(RUNS)
    person = keep(f"Ilse | | {RUNS.split('|')[2]}", category="people")
    store.use_extractor("other")
    jobs = store.claim(["extract"], 9, noon + 60 * HOUR, noon + 61 * HOUR)
    found = [Extraction((), (STATED,)), Extraction()]
    store.finish_extraction(jobs, found, noon + 60 * HOUR)
    assert [relation.evidence for relation in believed()] == [(other.id,)]
    people = replace(everything, categories=frozenset({"people"}))
    assert store.relations(people, [GANNET], 9) == []
    assert [x.evidence for x in believed(noon)] == [(other.id, person.id)]


def test_with_its_last_evidence_a_purged_memory_takes_the_relation_along(
    store: Store, scope: Scope, keep: Keep, read: Read, believed: Believed, noon: datetime
) -> None:
    memory = keep(RUNS)
    store.replace(scope, after(memory, content="Dunlin"))
    read()
    store.purge(scope, [memory.id])
    assert believed() == believed(noon) == []
    assert store.concepts(scope, [GANNET, HERON]) == {}


# ---- relations that somebody gives -------------------------------------------------------------


def test_a_given_relation_without_evidence_is_admitted_by_its_scope(
    store: Store, scope: Scope, everything: Filter, believed: Believed, noon: datetime
) -> None:
    span_ = {"valid_from": noon - HOUR, "valid_to": noon + HOUR}
    given = [(states("Gannet", "runs on", "Heron", weight=0.4, **span_), ())]
    assert store.add_statements(scope, given, noon, "import") == 1
    assert store.add_statements(scope, given, noon + HOUR, "import") == 0
    [relation] = store.relations(replace(everything, categories=frozenset({"x"})), [GANNET], 9)
    assert (relation.origin, relation.evidence, relation.weight) == ("import", (), 0.4)
    assert (relation.valid_from, relation.valid_to) == (noon - HOUR, noon + HOUR)
    assert believed(noon - timedelta(seconds=1)) == []


def test_given_evidence_counts_from_when_it_was_given(
    store: Store, scope: Scope, keep: Keep, believed: Believed, noon: datetime
) -> None:
    memory = keep("Dunlin")
    assert store.add_statements(scope, [(STATED, [memory.id])], noon + 5 * HOUR, "import") == 1
    [relation] = believed()
    assert (span(relation, noon), relation.evidence) == ((5, None), (memory.id,))
    assert believed(noon + 4 * HOUR) == []
    later = keep("Puffin")
    assert store.add_statements(scope, [(STATED, [later.id])], noon + 7 * HOUR, "import") == 0
    assert [x.evidence for x in believed(noon + 6 * HOUR)] == [(memory.id,)]
    assert [x.evidence for x in believed()] == [(memory.id, later.id)]


def test_a_relation_whose_evidence_may_not_be_read_is_not_kept(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    hidden = make("hidden", sensitive=True)
    store.put(scope, hidden)
    given = [(STATED, [hidden.id, MemoryId("none")])]
    assert store.add_statements(scope, given, noon, "import") == 0
    assert store.concepts(scope, [GANNET, HERON]) == {}


def test_reading_anew_does_not_end_what_was_given(
    store: Store, scope: Scope, keep: Keep, read: Read, believed: Believed, noon: datetime
) -> None:
    memory = keep("Dunlin")
    store.add_statements(scope, [(STATED, [memory.id])], noon + HOUR, "import")
    store.use_extractor("plain", again=True)
    read()
    assert said(believed()) == [("gannet", "runs on", "heron")]


def test_what_was_given_first_and_then_read_was_said_all_along(
    store: Store, scope: Scope, make: Make, read: Read, believed: Believed, noon: datetime
) -> None:
    memory, other = make(RUNS), make("other")
    store.put(scope, memory)
    store.put(scope, other)
    store.add_statements(scope, [(STATED, [memory.id, other.id])], noon + 5 * HOUR, "import")
    assert (read(), len(believed(noon))) == (2, 1)
    store.purge(scope, [other.id])
    assert span(believed()[0], noon) == (0, None)


# ---- decisions ---------------------------------------------------------------------------------


def test_a_retracted_relation_stays_so_while_the_same_memories_say_so(
    store: Store, scope: Scope, keep: Keep, read: Read, believed: Believed, noon: datetime
) -> None:
    memory = keep(RUNS)
    [relation] = believed()
    at = noon + 5 * HOUR
    assert store.retract(scope, relation.number, at) is True
    assert store.retract(scope, relation.number, at) is False
    assert store.retract(scope, 999, at) is False
    store.use_extractor("plain", again=True)
    read()
    store.replace(scope, replace(after(memory, importance=0.9), updated_at=noon + 6 * HOUR))
    assert believed() == []
    assert span(believed(noon)[0], noon) == (0, 5)


def test_what_is_said_anew_after_a_retraction_is_believed_anew(
    store: Store, scope: Scope, keep: Keep, believed: Believed, noon: datetime
) -> None:
    keep(RUNS)
    [old] = believed()
    store.retract(scope, old.number, noon + 5 * HOUR)
    keep(f"Ilse | | {RUNS.split('|')[2]}", created_at=noon + 6 * HOUR)
    [new] = believed()
    assert (new.number != old.number, span(new, noon)) == (True, (6, None))


@pytest.mark.parametrize("founded", [True, False])
def test_a_relation_that_has_ended_is_kept_anew_with_its_end(
    store: Store, scope: Scope, keep: Keep, believed: Believed, noon: datetime, founded: bool
) -> None:
    memory = keep(RUNS if founded else "Dunlin")
    if not founded:
        store.add_statements(scope, [(STATED, ())], noon, "import")
    [before] = believed()
    ended, at = noon + 2 * HOUR, noon + 5 * HOUR
    assert store.end_relation(scope, before.number, ended, at) is True
    assert store.end_relation(scope, before.number, ended, at) is False
    [now] = believed()
    assert now.evidence == ((memory.id,) if founded else ())
    assert (now.valid_to, span(now, noon), now.origin) == (ended, (5, None), before.origin)
    assert believed(noon + 4 * HOUR) == [replace(before, retracted_at=at)]
    assert all(finding.good for finding in store.check())


def test_an_end_that_was_recorded_outlives_reading_and_versions_that_say_the_same(
    store: Store, scope: Scope, keep: Keep, read: Read, believed: Believed, noon: datetime
) -> None:
    memory = keep(RUNS)
    store.end_relation(scope, believed()[0].number, noon + HOUR, noon + 5 * HOUR)
    store.use_extractor("plain", again=True)
    read()
    store.replace(scope, replace(after(memory, importance=0.9), updated_at=noon + 6 * HOUR))
    assert [x.valid_to for x in believed()] == [noon + HOUR]
