"""A worker with several kinds of work: none holds up another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from bearinmind.errors import EmbedderFailure, ExtractorFailure, InvalidSetting
from bearinmind.graph.extractors import ConfiguredExtractor
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Embedder, Extractor, WorkState
from bearinmind.testing import FixedClock
from bearinmind.types import Memory
from bearinmind.work import worker as loop
from bearinmind.work.handlers import Embedding, Extracting
from bearinmind.work.status import EMBED, EXTRACT
from bearinmind.work.worker import Handler, Worker
from support.embedders import TroubledEmbedder, WordEmbedder
from support.extractors import TitleExtractor
from support.worker_store import Workplace

Make = Callable[..., Memory]


@pytest.fixture
def place(clock: FixedClock) -> Workplace:
    return Workplace(clock)


def worker(place: Workplace, embedders: Embedders, extractor: Extractor, batch: int = 9) -> Worker:
    handlers: dict[str, Handler] = {
        EMBED: Embedding(store=place.store, embedders=embedders, clock=place.clock, batch=batch),
        EXTRACT: Extracting(
            store=place.store,
            extractor=ConfiguredExtractor(lambda: extractor),
            clock=place.clock,
        ),
    }
    return Worker(place.store, handlers, clock=place.clock)


def among(embedder: Embedder | None) -> Embedders:
    return Embedders.among(embedder)


def test_both_kinds_are_done_and_counted_apart(place: Workplace, make: Make) -> None:
    place.keep(make("Sluice: a proxy"), make("Weir: another"))

    done = worker(place, among(WordEmbedder()), TitleExtractor()).once()

    assert (done.finished, done.by_kind) == (4, {EMBED: 2, EXTRACT: 2})
    assert place.counts() == {}


def test_a_model_that_reads_nothing_costs_no_memory_even_if_a_hidden_one_comes_first(
    place: Workplace, make: Make
) -> None:
    def reads_nothing(memories: Sequence[Memory]) -> None:
        if any(not memory.sensitive for memory in memories):
            raise ExtractorFailure("it cannot", permanent=True)

    place.keep(make("the code is 1234", sensitive=True), make("Sluice: a proxy"))
    place.reader(TitleExtractor(trouble=reads_nothing)).once()

    assert WorkState.DEAD not in place.counts()


def test_a_long_row_of_slow_jobs_holds_up_no_other_kind(
    place: Workplace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "TURN", 0.0)
    place.keep(*[make(f"Thing {n}: here") for n in range(4)])
    order: list[str] = []
    embedder = TroubledEmbedder(lambda _: order.append(EMBED))
    extractor = TitleExtractor(trouble=lambda _: order.append(EXTRACT), batch=1)

    worker(place, among(embedder), extractor, batch=1).once()

    assert sorted(order[:2]) == [EMBED, EXTRACT]
    assert sorted(order) == [EMBED] * 4 + [EXTRACT] * 4


def test_a_kind_that_rests_lets_the_other_go_on_and_is_waited_for(
    place: Workplace, make: Make, clock: FixedClock
) -> None:
    def spent(_: Sequence[Memory]) -> None:
        raise ExtractorFailure("the tokens of today are spent", retry_after=3_600, untried=True)

    place.keep(*[make(f"Thing {n}: here") for n in range(4)])
    extractor = TitleExtractor(trouble=spent, batch=1)
    working = worker(place, among(WordEmbedder()), extractor)
    began = time.monotonic()
    done = working.finish()  # ends, though three jobs that nobody tried are due

    assert done.by_kind == {EMBED: 4}
    assert time.monotonic() - began < 30
    assert extractor.seen == []
    extractor.trouble = lambda _: None
    clock.advance(seconds=601)
    assert working.once().by_kind == {EXTRACT: 3}


def test_jobs_that_nobody_here_can_do_are_not_waited_for(place: Workplace, make: Make) -> None:
    place.keep(make("Sluice: a proxy"))
    place.store.use_space(WordEmbedder().space)

    done = worker(place, among(None), TitleExtractor()).finish()

    assert done.by_kind == {EXTRACT: 1}


def test_a_kind_that_cannot_begin_is_told_after_the_others_are_done(
    place: Workplace, make: Make
) -> None:
    def missing() -> Embedder:
        raise InvalidSetting("it needs a key")

    def away() -> Embedder:
        raise EmbedderFailure("the server is away")

    for number, failure in enumerate((missing, away)):
        place.keep(make(f"Thing {number}: here"))
        extractor = TitleExtractor()
        working = worker(place, Embedders(failure, WordEmbedder), extractor)  # type: ignore[arg-type]

        with pytest.raises((InvalidSetting, EmbedderFailure)):
            working.once()
        assert extractor.seen == [f"Thing {number}: here"]
        with pytest.raises((InvalidSetting, EmbedderFailure)):
            working.begin()
