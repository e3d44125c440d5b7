"""The background worker reads memories for the graph: what it links, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.graph.rules import Rules
from bearinmind.protocols import Job
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Memory, Scope, UserId
from bearinmind.work import entity_linking
from support.extractors import TitleExtractor
from support.worker_store import ADA, ReadingPlace

Make = Callable[..., Memory]


@pytest.fixture
def place(clock: FixedClock) -> Iterator[ReadingPlace]:
    store = TemporaryStore()
    yield ReadingPlace(store, clock)
    store.close()


def test_what_memories_mention_is_kept(place: ReadingPlace, make: Make) -> None:
    place.keep(make("Sluice: written by Ilse Navrat"))

    assert place.reader(TitleExtractor()).once().by_kind == {"extract": 1}
    assert place.edges() == {
        ("Sluice: written by Ilse Navrat", "subject", "sluice"),
        ("Sluice: written by Ilse Navrat", "name", "ilse navrat"),
    }
    assert place.counts() == {}


@pytest.mark.parametrize("batch", [1, 200])
@pytest.mark.parametrize("subject_first", [True, False])
def test_a_name_in_lower_case_is_linked_whichever_memory_came_first(
    place: ReadingPlace, make: Make, batch: int, subject_first: bool
) -> None:
    about, naming = "Orders Cache: runs on Valkey", "we flushed the orders cache twice"
    for content in (about, naming) if subject_first else (naming, about):
        place.keep(make(content))
        if batch == 1:
            place.reader(TitleExtractor(batch=1)).once()
    place.reader(TitleExtractor()).once()

    assert place.names(naming) == {"orders cache"}


def test_a_name_within_a_longer_one_is_linked_to_the_longer_one_alone(
    place: ReadingPlace, make: Make
) -> None:
    place.keep(make("New York: a city"), make("it opened in new york"))
    place.reader(TitleExtractor()).once()
    place.keep(make("York: a smaller city"), make("from york to new york"))
    place.reader(TitleExtractor()).once()

    assert place.names("it opened in new york") == {"new york"}
    assert place.names("from york to new york") == {"york", "new york"}


def test_a_very_common_word_is_linked_to_nothing(
    place: ReadingPlace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_linking, "COMMON", 3)
    place.keep(*[make(f"the server number {n} is up") for n in range(4)])
    place.keep(make("Server: what all run on"), make("Sluice: runs on a server"))
    place.reader(TitleExtractor()).once()

    assert place.names("the server number 1 is up") == set()
    assert place.names("Sluice: runs on a server") == set()


def test_the_older_memories_that_get_a_name_are_bounded(
    place: ReadingPlace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_linking, "MOST_OLDER", 2)
    place.keep(*[make(f"sluice failed in week {n}") for n in range(5)])
    place.reader(TitleExtractor()).once()
    place.keep(make("Sluice: a proxy"))
    place.reader(TitleExtractor()).once()

    linked = [content for content, role, _ in place.edges() if role == "name"]
    assert 0 < len(linked) <= 2


def test_nobody_is_linked_to_what_another_user_knows(place: ReadingPlace, make: Make) -> None:
    eve = Scope(user=UserId("eve"))
    place.keep(make("Sluice: a proxy"))
    place.store.put(eve, make("my sluice is broken", owner=eve.user))
    place.reader(TitleExtractor()).once()

    assert place.edges(eve) == set()
    place.store.put(eve, make("Sluice: my own", owner=eve.user))
    place.reader(TitleExtractor()).once()
    assert ("my sluice is broken", "name", "sluice") in place.edges(eve)
    assert len(place.edges()) == 1


def test_what_an_earlier_version_was_about_makes_no_name_known(
    place: ReadingPlace, make: Make
) -> None:
    first = make("Sluice: a proxy")
    place.keep(first, make("my sluice is broken"))
    place.store.use_extractor("titles")
    later = replace(first, content="Weir: a proxy", version=2, updated_at=place.clock())
    place.store.replace(ADA, later)
    place.reader(TitleExtractor()).once()

    assert place.names("my sluice is broken") == set()


# ---- who is given what -------------------------------------------------------------------------


def test_sensitive_and_deleted_memories_reach_no_extractor(place: ReadingPlace, make: Make) -> None:
    now = place.clock()
    place.keep(
        make("Sluice: fine"),
        make("Secret: [sensitive: password; 12 characters]", sensitive=True),
        make("Gone: deleted", deleted_at=now),
    )
    extractor = TitleExtractor()
    place.reader(extractor).once()

    assert extractor.seen == ["Sluice: fine"]


def test_even_a_careless_store_lets_nothing_sensitive_out(
    place: ReadingPlace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.keep(make("Sluice: plain"))
    extractor = TitleExtractor()
    worker = place.reader(extractor)
    claim = place.store.claim

    def careless(kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        jobs = claim(kinds, limit, now, until)
        return [job._replace(memory=replace(job.memory, sensitive=True)) for job in jobs]

    monkeypatch.setattr(place.store, "claim", careless)

    assert worker.once()[:3] == (0, 0, 1)
    assert extractor.seen == []


def test_without_an_extractor_nothing_more_is_read_and_what_was_found_stays(
    place: ReadingPlace, make: Make
) -> None:
    place.keep(make("Sluice: a proxy"))
    place.reader(TitleExtractor()).once()
    before = place.edges()
    place.reader(None).once()
    place.keep(make("Weir: another"))

    assert place.reader(None).once().finished == 0
    assert (place.edges(), place.counts()) == (before, {})
    assert place.reader(TitleExtractor()).once().finished == 1


def test_what_was_stored_before_there_was_an_extractor_is_read_too(
    place: ReadingPlace, make: Make
) -> None:
    place.keep(*[make(f"Thing {n}: useful") for n in range(7)])
    extractor = TitleExtractor(batch=3)

    assert place.reader(extractor).once().finished == 7
    assert extractor.batches == [3, 3, 1]


# ---- another extractor -------------------------------------------------------------------------


def test_another_extractor_reads_again_while_the_old_edges_serve(
    place: ReadingPlace, make: Make
) -> None:
    place.keep(*[make(f"Thing {n}: useful") for n in range(4)])
    place.reader(TitleExtractor("old")).once()
    before = place.edges()
    served: list[set[tuple[str, str, str]]] = []
    new = TitleExtractor("new", lambda _: served.append(place.edges()), batch=2)
    place.reader(new).once()

    assert served == [before, before]
    assert len(new.seen) == 4
    assert place.store.extractor() == "new"


def test_jobs_of_another_process_s_extractor_are_left_to_it(
    place: ReadingPlace, make: Make, clock: FixedClock
) -> None:
    old = TitleExtractor("old")
    worker = place.reader(old)
    worker.begin()
    place.reader(TitleExtractor("new")).begin()
    place.keep(make("Sluice: a proxy"))

    assert worker.once().postponed == 1
    assert old.seen == []
    clock.advance(seconds=61)
    assert place.reader(TitleExtractor("new")).once().finished == 1


def test_the_shipped_rules_link_a_memory_to_what_it_names(place: ReadingPlace, make: Make) -> None:
    naming = "The staging proxy is sluice, on host db-stage-3."
    place.keep(make(naming), make("Sluice: a proxy by Ilse Navrat"), make("db-stage-3: in rack 7"))
    place.reader(Rules()).once()

    assert {"sluice", "db-stage-3"} <= place.names(naming)
