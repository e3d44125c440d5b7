"""Reading for the graph in trouble: refused memories, merges, killed and crowded workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import pytest

from bearinmind.concepts import ConceptName, Extraction, Mention, Merge
from bearinmind.errors import ExtractorFailure
from bearinmind.graph.extractors import CombinedExtractor
from bearinmind.protocols import WorkState
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.text.names import name_of
from bearinmind.types import Memory, Scope
from bearinmind.work.status import EXTRACT
from bearinmind.work.worker import MOST_ATTEMPTS, Worker
from support.extractors import TitleExtractor
from support.worker_store import ADA, ReadingPlace

Make = Callable[..., Memory]


@pytest.fixture
def place(clock: FixedClock) -> Iterator[ReadingPlace]:
    store = TemporaryStore()
    yield ReadingPlace(store, clock)
    store.close()


# ---- failures ----------------------------------------------------------------------------------


def refusing(word: str) -> Callable[[Sequence[Memory]], None]:
    def trouble(memories: Sequence[Memory]) -> None:
        if any(word in memory.content for memory in memories):
            raise ExtractorFailure("the text is refused", permanent=True)

    return trouble


def test_one_refused_memory_is_given_up_and_the_others_are_read(
    place: ReadingPlace, make: Make
) -> None:
    place.keep(*[make(f"Thing {n}: fine") for n in range(9)], make("Bad: poison"))

    done = place.reader(TitleExtractor(trouble=refusing("poison"))).once()

    assert (done.finished, done.given_up, done.postponed) == (9, 1, 0)
    assert place.counts() == {WorkState.DEAD: 1}
    assert place.store.revive(EXTRACT) == 1
    assert place.reader(TitleExtractor()).once().finished == 1
    assert ("Bad: poison", "subject", "bad") in place.edges()


def test_no_memory_is_blamed_for_an_extractor_that_refuses_everything(
    place: ReadingPlace, make: Make
) -> None:
    place.keep(*[make(f"Thing {n}: fine") for n in range(5)])

    done = place.reader(TitleExtractor(trouble=refusing(""))).once()

    assert (done.postponed, done.given_up) == (5, 0)


def test_a_failure_of_any_kind_is_the_dead_letter_of_its_memory(
    place: ReadingPlace, make: Make
) -> None:
    def crash(memories: Sequence[Memory]) -> None:
        if any("odd" in memory.content for memory in memories):
            raise ZeroDivisionError("by nought")

    place.keep(make("Odd: odd"), make("Even: fine"))

    assert place.reader(TitleExtractor(trouble=crash)).once()[:3] == (1, 0, 1)
    [count] = place.jobs()
    assert count.last_error == "ZeroDivisionError: by nought"


def test_an_answer_that_is_not_for_every_memory_is_not_kept(
    place: ReadingPlace, make: Make
) -> None:
    class Short(TitleExtractor):
        def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:
            return super().__call__(memories)[1:]

    place.keep(make("Sluice: a proxy"))
    done = place.reader(Short()).once()

    assert done.finished == 0
    assert "answered 0 of 1 memories" in str(done.last_error)


def test_a_spent_budget_costs_no_attempt_however_long_it_lasts(
    place: ReadingPlace, make: Make, clock: FixedClock
) -> None:
    def spent(_: Sequence[Memory]) -> None:
        raise ExtractorFailure("the tokens of today are spent", retry_after=30_000, untried=True)

    place.keep(*[make(f"Thing {n}: fine") for n in range(3)])
    extractor = TitleExtractor(trouble=spent, leaves_machine=True)
    for _ in range(MOST_ATTEMPTS + 2):
        done = place.reader(extractor).once()
        assert (done.given_up, done.last_error) == (0, "the tokens of today are spent")
        clock.advance(hours=10)
    extractor.trouble = lambda _: None

    assert place.reader(extractor).once().finished == 3


# ---- merges ------------------------------------------------------------------------------------


def test_what_a_memory_says_is_the_same_is_merged(place: ReadingPlace, make: Make) -> None:
    place.keep(make("Pipelines: Continuous Integration (CI) runs them"))
    place.reader(TitleExtractor()).once()

    [merge] = place.store.merges(ADA)
    assert (merge.alias, merge.into, merge.reason) == ("ci", "continuous integration", "said so")
    place.keep(make("Again: Continuous Integration (CI) is slow"))
    place.reader(TitleExtractor()).once()
    assert len(place.store.merges(ADA)) == 1


def test_a_merge_that_was_undone_is_not_made_again(place: ReadingPlace, make: Make) -> None:
    place.keep(make("Pipelines: Continuous Integration (CI) runs them"))
    place.reader(TitleExtractor()).once()
    place.store.unmerge(ADA, name_of("CI"), place.clock())
    place.keep(make("Again: Continuous Integration (CI) is slow"))
    place.reader(TitleExtractor()).once()

    assert place.store.merges(ADA) == []


def test_certain_merges_of_new_names_are_made(
    place: ReadingPlace, make: Make, noon: datetime
) -> None:
    asked: list[list[str]] = []

    def certain(new: Sequence[Mention], scope: Scope) -> list[Merge]:
        asked.append(sorted(mention.name for mention in new))
        known = place.store.concepts(scope, [name_of("Sluice")])
        plural = ConceptName("sluices")
        if any(mention.name == plural for mention in new) and known:
            into = name_of("Sluice")
            return [Merge(alias=plural, into=into, reason="plural", score=1.0, merged_at=noon)]
        return []

    place.keep(make("Sluice: a proxy"))
    place.reader(TitleExtractor(), certain=certain).once()
    place.keep(make("Plants: have Sluices"))
    place.reader(TitleExtractor(), certain=certain).once()

    assert asked == [["sluice"], ["plants", "sluices"]]
    assert [merge.alias for merge in place.store.merges(ADA)] == ["sluices"]
    assert ("Plants: have Sluices", "name", "sluice") in place.edges()


# ---- crashes and crowds ------------------------------------------------------------------------


def test_what_a_killed_worker_had_half_done_is_done_by_the_next(
    place: ReadingPlace, make: Make, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies at the last moment: new names are known, but nothing is kept and nothing finished."""

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    place.keep(make("my sluice is broken"))
    place.reader(TitleExtractor()).once()
    place.keep(make("Sluice: Continuous Integration (CI) tests it"))
    for dies_at in ("add_mentions", "merge", "finish_extraction"):
        with monkeypatch.context() as patched:
            patched.setattr(place.store, dies_at, die)
            with pytest.raises(Killed):
                place.reader(TitleExtractor()).once()
        clock.advance(minutes=2)
    place.reader(TitleExtractor()).once()

    assert place.names("my sluice is broken") == {"sluice"}
    assert [merge.alias for merge in place.store.merges(ADA)] == ["ci"]
    assert place.counts() == {}


@pytest.mark.parametrize("moment", ["finish_extraction", "known_names", "add_mentions"])
@pytest.mark.parametrize("subject_first", [True, False])
def test_two_workers_with_one_of_two_memories_each_link_them(
    place: ReadingPlace, make: Make, moment: str, subject_first: bool
) -> None:
    about, naming = "Sluice: a proxy", "my sluice is broken"
    place.keep(*map(make, (about, naming) if subject_first else (naming, about)))
    _in_between(place, moment, place.reader(TitleExtractor(batch=1)))
    place.reader(TitleExtractor(batch=1)).once()

    assert place.names(naming) == {"sluice"}
    assert place.counts() == {}


def _in_between(place: ReadingPlace, method: str, other: Worker) -> None:
    """Let another worker do all of its work when one is about to call a method of the store."""
    real = getattr(place.store, method)

    def interrupted(*args: object) -> object:
        setattr(place.store, method, real)
        other.once()
        return real(*args)

    setattr(place.store, method, interrupted)


def test_what_one_extractor_read_serves_while_another_cannot_read(
    place: ReadingPlace, make: Make
) -> None:
    def away(_memories: Sequence[Memory]) -> None:
        raise ExtractorFailure("the server is away")

    place.keep(make("Gannet: draws labels"))
    both = CombinedExtractor(TitleExtractor(), TitleExtractor(trouble=away))

    done = place.reader(both).once()

    assert (done.finished, done.postponed) == (0, 1)
    assert ("Gannet: draws labels", "subject", "gannet") in place.edges()
