"""Every version that may be read is read by the extractor in use, once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from bearinmind.concepts import Extraction
from bearinmind.protocols import GraphCounts, History, Job, Store, WorkCount, WorkState
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, Scope, Space, UserId
from support.extractors import HOUR, Make, Read, after, deleted, extraction_of, mention

Keep = Callable[..., Memory]
Claim = Callable[[], list[Job]]
GANNET = name_of("gannet")


@pytest.fixture
def claim(store: Store, noon: datetime) -> Claim:
    """Claims everything that is to be read, for an hour."""
    return lambda: store.claim(["extract"], 99, noon, noon + HOUR)


def told(jobs: list[Job]) -> list[tuple[str, int]]:
    return [(job.memory.content, job.memory.version) for job in jobs]


def finish(store: Store, jobs: list[Job], at: datetime) -> None:
    store.finish_extraction(jobs, [extraction_of(job.memory) for job in jobs], at)


# ---- what is queued ----------------------------------------------------------------------------


def test_without_an_extractor_nothing_is_to_be_read(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    store.put(scope, make("Gannet"))
    assert (store.extractor(), claim()) == ("", [])
    assert store.graph_counts(scope) == GraphCounts(0, 0, 0, 0, 0)


def test_a_memory_is_to_be_read_by_the_extractor_in_use(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    assert store.use_extractor("plain") == 0
    memory = make("Gannet")
    store.put(scope, memory)
    assert store.extractor() == "plain"
    [job] = claim()
    assert job == Job(job.number, "extract", "plain", scope.user, memory, 0)


def test_jobs_of_another_kind_are_left_alone(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    store.use_extractor("plain")
    store.put(scope, make("Gannet"))
    assert store.claim(["embed"], 9, noon, noon + HOUR) == []
    assert store.next_due(noon, ["embed"]) is None
    assert store.next_due(noon, ["embed", "extract"]) == store.next_due(noon) == noon
    assert store.revive("embed") == 0
    assert store.work_counts(noon) == [
        WorkCount("compare", "", WorkState.WAITING, 1, None),
        WorkCount("extract", "plain", WorkState.WAITING, 1, None),
    ]


@pytest.mark.parametrize("first", ["memories", "extractor"])
def test_what_is_deleted_or_sensitive_is_never_read(
    store: Store, scope: Scope, make: Make, claim: Claim, first: str
) -> None:
    if first == "extractor":
        store.use_extractor("plain")
    told_, hidden, gone = make("told"), make("hidden", sensitive=True), make("gone")
    for memory in (told_, hidden, gone):
        store.put(scope, memory)
    store.replace(scope, after(told_, content="told again"))
    store.replace(scope, deleted(gone))
    assert store.use_extractor("plain") == 3
    assert sorted(told(claim())) == [("gone", 1), ("told", 1), ("told again", 2)]


def test_a_history_is_read_version_by_version(
    store: Store, scope: Scope, make: Make, read: Read, everything: Filter
) -> None:
    one = make("One")
    two = after(one, content="Two")
    store.put_many(scope, [History(versions=(one, two, deleted(two)))])
    assert read() == 2
    assert [*store.all_mentions(everything)] == []
    assert store.graph_counts(scope) == GraphCounts(2, 0, 0, 0, 0)


def test_a_memory_that_is_refused_is_not_read(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    store.use_extractor("plain")
    store.put(scope, make("the same"))
    store.put(scope, make("the same"))
    assert len(claim()) == 1


def test_new_memories_are_read_before_those_that_were_there_and_those_before_past_versions(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    old = make("old")
    store.put_many(scope, [History(versions=(old, after(old, content="newer")))])
    store.use_extractor("plain")
    store.put(scope, make("new"))
    assert told(claim()) == [("new", 1), ("newer", 2), ("old", 1)]


def test_a_purged_memory_is_not_read(store: Store, scope: Scope, make: Make, claim: Claim) -> None:
    store.use_extractor("plain")
    memory = make("Gannet")
    store.put(scope, memory)
    store.purge(scope, [memory.id])
    assert claim() == []


# ---- what becomes of it ------------------------------------------------------------------------


def test_memories_of_several_users_are_read_at_once(
    store: Store, make: Make, read: Read, scope: Scope, everything: Filter
) -> None:
    eve = Scope(user=UserId("eve"))
    store.put(scope, make("Gannet | Heron | Gannet > knows > Heron"))
    store.put(eve, make("Gannet | Dunlin | Gannet > knows > Dunlin", owner=eve.user))
    assert read() == 2
    for each, other in ((scope, "heron"), (eve, "dunlin")):
        assert [hub.name for hub in store.hubs(each, 9)] == sorted(["gannet", other])
        assert store.graph_counts(each) == GraphCounts(2, 2, 1, 0, 0)


def test_reading_is_kept_once_whoever_else_does_it(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.use_extractor("plain")
    store.put(scope, make("Gannet"))
    jobs = claim()
    finish(store, jobs, noon)
    store.finish_extraction(jobs, [Extraction((mention("Heron"),))], noon + HOUR)
    assert [hub.name for hub in store.hubs(scope, 9)] == ["gannet"]
    assert all(finding.good for finding in store.check())


def test_a_job_of_another_kind_is_not_finished_by_reading(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    store.use_extractor("plain")
    store.use_space(Space(model="made-up", revision="1", dimensions=2))
    store.put(scope, make("Gannet"))
    jobs = store.claim(["embed"], 9, noon, noon)
    finish(store, [job._replace(kind="extract", target="plain") for job in jobs], noon)
    finish(store, jobs, noon)
    assert store.concepts(scope, [GANNET]) == {}
    assert [(x.kind, x.jobs) for x in store.work_counts(noon)] == [
        ("compare", 1),
        ("embed", 1),
        ("extract", 1),
    ]


def test_what_was_read_in_a_purged_memory_is_not_kept(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.use_extractor("plain")
    memory = make("Gannet")
    store.put(scope, memory)
    jobs = claim()
    store.purge(scope, [memory.id])
    finish(store, jobs, noon)
    assert store.concepts(scope, [GANNET]) == {}


def test_what_was_read_in_a_version_that_is_now_past_is_kept_as_past(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime, everything: Filter
) -> None:
    store.use_extractor("plain")
    memory = make("Gannet | Heron | Gannet > knows > Heron")
    store.put(scope, memory)
    jobs = claim()
    store.replace(scope, after(memory, content="Dunlin"))
    finish(store, jobs, noon + 9 * HOUR)
    assert store.graph_counts(scope) == GraphCounts(2, 0, 0, 0, 1)
    assert store.mentioning(everything, [GANNET], 9) == []


# ---- another extractor -------------------------------------------------------------------------


def test_using_the_same_extractor_again_changes_nothing(
    store: Store, scope: Scope, keep: Keep, make: Make
) -> None:
    keep("Gannet")
    store.put(scope, make("Heron"))
    assert store.use_extractor("plain") == 1


def test_another_extractor_reads_everything_while_what_was_found_goes_on_serving(
    store: Store, scope: Scope, keep: Keep, everything: Filter, noon: datetime, claim: Claim
) -> None:
    memory = keep("Gannet")
    assert store.use_extractor("other") == 1
    assert [x.concept for x in store.mentions_in(everything, [memory.id])] == ["gannet"]
    [job] = claim()
    assert job.target == "other"
    store.finish_extraction([job], [Extraction((mention("Heron"),))], noon + HOUR)
    assert [x.concept for x in store.mentions_in(everything, [memory.id])] == ["heron"]
    assert store.concepts(scope, [GANNET]) == {}


def test_jobs_of_an_extractor_that_is_out_of_use_are_gone(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.use_extractor("plain")
    store.put(scope, make("Gannet"))
    late = claim()
    store.use_extractor("other")
    finish(store, late, noon)
    assert store.graph_counts(scope) == GraphCounts(0, 0, 0, 0, 1)
    store.use_extractor("plain")
    finish(store, late, noon)
    assert store.graph_counts(scope) == GraphCounts(0, 0, 0, 0, 1)


def test_a_version_that_says_the_same_keeps_what_another_extractor_found_until_it_is_read(
    store: Store, scope: Scope, keep: Keep, claim: Claim
) -> None:
    memory = keep("Gannet")
    store.use_extractor("other")
    store.replace(scope, after(memory, importance=0.9))
    assert store.concepts(scope, [GANNET])[GANNET].memories == 1
    assert sorted(told(claim())) == [("Gannet", 1), ("Gannet", 2)]


def test_without_an_extractor_what_was_found_stays_and_is_taken_over(
    store: Store, scope: Scope, keep: Keep, make: Make, claim: Claim
) -> None:
    memory = keep("Gannet")
    assert store.use_extractor("") == 0
    assert store.extractor() == ""
    store.put(scope, make("Heron"))
    store.replace(scope, after(memory, importance=0.9))
    assert claim() == []
    assert [hub.name for hub in store.hubs(scope, 9)] == ["gannet"]
    assert store.use_extractor("plain") == 1, "only what it has not read"


def test_everything_is_read_again_when_that_is_asked_for(
    store: Store, scope: Scope, keep: Keep, make: Make, read: Read
) -> None:
    keep("Gannet")
    keep("Heron")
    store.put(scope, make("Dunlin"))
    assert store.use_extractor("plain", again=True) == 3
    assert read() == 3
    assert store.use_extractor("plain") == 0
