"""The same memories and the same questions: a file and a server give the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings, store_name
from bearinmind.store.factory import open_store
from bearinmind.surfaces.cli.demo import script
from bearinmind.testing import FixedClock, counting_ids
from bearinmind.trace import Answer
from bearinmind.types import Link, MemoryId, State
from bearinmind_bench import corpus
from bearinmind_bench.evaluation import ONLY_USER, load
from bearinmind_bench.product import settings_for

if TYPE_CHECKING:
    from support.postgres_server import Databases

DEMO = script()
ASKED = (
    *(question.text for question in DEMO.questions),
    "what do I drink in the morning?",
    "who owns the service",
    "cache",
    "how do we deploy on a friday",
    "nothing of this kind was ever remembered",
)
NOW = FixedClock()()
TEAM = load(Path(__file__).parents[2] / "benchmarks" / "data" / "agent-store")
# How far memories lie from a query is estimated: from codes in a file, from a sample on a server.
_CLOSE = 0.01
_BEST = 5  # hits that must be the same, whatever happens far behind them

Pair = tuple[Mind, Mind]


@pytest.fixture(scope="module")
def pair(postgres: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The memories of the demo in a file and on a server, embedded and read for the graph."""
    url = postgres.fresh()
    file = tmp_path_factory.mktemp("stores") / "memories.db"
    with ExitStack() as opened:
        first, second = (opened.enter_context(filled(place)) for place in (str(file), url))
        yield first, second
    postgres.drop(url)


def filled(place: str) -> Mind:
    """A store with the memories of the demo, by a real model."""
    clock = FixedClock()
    settings = Settings.model_validate({"store": place, "worker": "off"})
    memory = Mind(open_store(store_name(place)), settings, clock=clock, new_id=counting_ids())
    ids: dict[str, MemoryId] = {}
    for item in DEMO.memories:
        ids[item.name] = memory.store(
            item.content,
            category=item.category,
            tags=item.tags.split(),
            importance=item.importance,
            created_at=clock() - timedelta(days=item.days_ago),
            trust=item.trust,
        ).memory.id
    for each in DEMO.links:
        made = clock() - timedelta(days=each.days_ago)
        source, target = ids[each.source], ids[each.target]
        memory.transfer.add_link(
            Link(source=source, target=target, kind=each.kind, created_at=made)
        )
    assert memory.work.wait().waiting == 0
    return memory


@pytest.fixture(scope="module")
def larger_pair(
    postgres: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Mind, Mind]]:
    """A thousand memories of a team, by an embedder that takes no time."""
    url = postgres.fresh()
    file = tmp_path_factory.mktemp("stores") / "larger.db"
    with ExitStack() as opened:
        first, second = (opened.enter_context(imported(place)) for place in (str(file), url))
        yield first, second
    postgres.drop(url)


def imported(place: str) -> Mind:
    stored = corpus.fill(open_store(store_name(place)), TEAM, lambda _more: None)
    if "://" in place:  # as the server itself does within a minute: it plans badly before
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("ANALYZE")
    settings = {"embedder": "hash", "extractor": "none", "worker": "off"}
    memory = Mind(stored.store, settings_for(ONLY_USER, stored.bounds, settings))
    assert memory.work.wait().waiting == 0
    return memory


def places(answer: Answer, leg: str) -> dict[MemoryId, int]:
    """By memory: where a leg placed it."""
    fused = answer.trace.fused
    return {each.id: each.placings[leg].rank for each in fused if leg in each.placings}


def shape(answer: Answer) -> object:
    """What a trace says of how the answer was found."""
    trace = answer.trace
    return (
        [(leg.leg, leg.found, leg.error, leg.partial, {*leg.detail}) for leg in trace.legs],
        {*(judged.id for judged in trace.judged)},
        (trace.fusion, trace.adjustments, trace.selection),
    )


def assert_same(file: Answer, server: Answer) -> None:
    """Both legs place every memory alike, and all that is made of it has the same form."""
    for leg in ("lexical", "dense"):
        assert places(server, leg) == places(file, leg)
    assert shape(server) == shape(file)
    assert [hit.memory for hit in server.hits[:1]] == [hit.memory for hit in file.hits[:1]]


def both(pair: Pair, verb: Callable[[Mind], Answer]) -> tuple[Answer, ...]:
    return tuple(map(verb, pair))


@pytest.mark.parametrize("text", ASKED)
def test_an_answer_is_the_same_in_a_file_and_on_a_server(pair: Pair, text: str) -> None:
    file, server = both(pair, lambda memory: memory.recall(text))
    assert_same(file, server)


@pytest.mark.parametrize(
    "fields",
    [
        {"categories": ["preferences"]},
        {"created_from": NOW - timedelta(days=30)},
        {"as_of": NOW - timedelta(days=60)},
        {"states": [State.LIVE, State.SUPERSEDED]},
        {"limit": 3},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_filters_mean_the_same_in_a_file_and_on_a_server(
    pair: Pair, fields: dict[str, Any]
) -> None:
    for text in ASKED[:4]:
        assert_same(*both(pair, lambda memory, text=text: memory.recall(text, **fields)))  # type: ignore[misc]


@pytest.mark.long(seconds=20)
def test_of_many_memories_the_same_are_given_back_in_the_same_order(larger_pair: Pair) -> None:
    same = []
    asked = TEAM.queries[::20]
    for query in asked:
        file, server = both(larger_pair, lambda memory, text=query.text: memory.recall(text))  # type: ignore[misc]
        ours, theirs = ([hit.memory.id for hit in answer.hits] for answer in (file, server))
        assert theirs[:_BEST] == ours[:_BEST]
        same.append(theirs == ours)
        for one, other in zip(server.hits[:_BEST], file.hits, strict=False):
            assert one.score == pytest.approx(other.score, abs=_CLOSE)
    # At the end of a leg's pool equal scores come in another order, so others may drop out of it.
    assert sum(same) >= 0.9 * len(asked)


def test_why_not_says_the_same_in_a_file_and_on_a_server(pair: Pair) -> None:
    text = ASKED[0]
    for missing in pair[0].list(limit=5):
        file, server = (memory.why_not(text, missing.id) for memory in pair)
        assert (server.rank is None) == (file.rank is None)
        assert {each.leg: each.rank for each in server.positions if each.leg != "graph"} == {
            each.leg: each.rank for each in file.positions if each.leg != "graph"
        }


def test_both_hold_the_same_and_are_sound(pair: Pair) -> None:
    file, server = pair
    assert server.stats() == file.stats()
    assert server.graph.counts() == file.graph.counts()
    assert not [finding for memory in pair for finding in memory.check() if not finding.good]
