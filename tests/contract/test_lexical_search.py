from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind.protocols import Store
from bearinmind.text import analysis
from bearinmind.types import Filter, Memory, MemoryId, Provenance, Scope
from support.bm25 import scorer, weights

HOUR = timedelta(hours=1)
Make = Callable[..., Memory]
WORDS = [f"z{letter}" for letter in "abcdefghijklmn"]  # none of them a function word


@pytest.fixture
def filter_(scope: Scope, noon: datetime) -> Filter:
    return Filter(scope=scope, now=noon)


def found(
    store: Store, filter: Filter, *terms: str, every: bool = False, limit: int = 99
) -> list[MemoryId]:
    matches = store.lexical_matches(filter, terms, every=every, limit=limit)
    return [match.id for match in matches]


def test_statistics_of_nothing_are_zero(store: Store, scope: Scope) -> None:
    assert store.lexical_statistics(scope, ["x"]) == (0, 0.0, {"x": 0})
    assert store.lexical_statistics(scope, []).frequency == {}


def test_statistics_count_memories_not_occurrences(store: Store, scope: Scope, make: Make) -> None:
    store.put(scope, make("walrus walrus seal"))
    store.put(scope, make("seal", keywords=("walrus",), tags=("otter",)))
    facts = store.lexical_statistics(scope, ["walrus", "seal", "otter", "whale"])
    assert facts.total == 2
    assert facts.frequency == {"walrus": 2, "seal": 2, "otter": 1, "whale": 0}
    assert facts.average_length == 3.0


def test_statistics_follow_what_is_written(store: Store, scope: Scope, make: Make) -> None:
    memory = make("walrus")
    assert store.lexical_statistics(scope, ["walrus"]).frequency == {"walrus": 0}
    store.put(scope, memory)
    assert store.lexical_statistics(scope, ["walrus"]).frequency == {"walrus": 1}
    store.purge(scope, [memory.id])
    store.put(scope, make("seal"))
    assert store.lexical_statistics(scope, ["seal"]).frequency == {"seal": 1}


def test_a_match_carries_the_memory_and_its_index_entry(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    memory = make("The parseConfig of it", keywords=("setup file",), tags=("b",), category="people")
    store.put(scope, memory)
    [match] = store.lexical_matches(filter_, ["parseconfig"], every=True, limit=5)
    assert match[:-1] == (memory.id, memory.content, *analysis.entry(memory))
    assert match.load() == memory


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "about the walrus"),
        ("keywords", ("big walrus",)),
        ("tags", ("walrus",)),
        ("category", "walrus"),
    ],
)
def test_every_field_is_searched(
    store: Store, scope: Scope, make: Make, filter_: Filter, field: str, value: object
) -> None:
    memory = make(**{"content": "nothing", field: value})
    store.put(scope, memory)
    store.put(scope, make("another"))
    assert found(store, filter_, "walrus") == [memory.id]


def test_function_words_are_searched_when_asked_for(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    memory = make("what is it")
    store.put(scope, memory)
    store.put(scope, make("walrus"))
    assert found(store, filter_, "what") == [memory.id]


def test_content_counts_more_than_keywords_and_those_more_than_category(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    category = make("seal otter", category="walrus")
    keywords = make("seal otter", id="000000000001", keywords=("walrus",), category="x")
    content = make("walrus seal otter", category="x")
    for memory in (category, replace(keywords, content="otter seal"), content):
        store.put(scope, memory)
    for n in range(9):
        store.put(scope, make(f"whale {n}"))
    assert found(store, filter_, "walrus") == [content.id, keywords.id, category.id]


def test_every_asks_for_all_terms_and_any_for_one(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    both, first, second = make("walrus seal"), make("walrus"), make("seal")
    for memory in (both, first, second, make("otter")):
        store.put(scope, memory)
    assert found(store, filter_, "walrus", "seal", every=True) == [both.id]
    assert {*found(store, filter_, "walrus", "seal")} == {both.id, first.id, second.id}
    assert found(store, filter_, "walrus", "whale", every=True) == []
    assert found(store, filter_, "whale") == []


def test_terms_of_different_fields_count_together(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    memory = make("walrus", tags=("arctic",))
    store.put(scope, memory)
    assert found(store, filter_, "walrus", "arctic", every=True) == [memory.id]


def test_the_best_are_kept_when_there_are_too_many(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    for n in range(30):
        store.put(scope, make(f"walrus {'seal ' * (n % 7)}{n}"))
    whole = found(store, filter_, "walrus")
    assert len(whole) == 30
    for limit in (1, 5, 29):
        assert found(store, filter_, "walrus", limit=limit) == whole[:limit]


def test_equal_scores_are_ordered_by_writing(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    memories = [make(f"walrus {n}", id=f"{9 - n:012}") for n in range(9)]
    for memory in memories:
        store.put(scope, memory)
    assert found(store, filter_, "walrus") == [memory.id for memory in memories]


def test_a_filter_is_honoured_before_the_limit(
    store: Store, scope: Scope, make: Make, filter_: Filter
) -> None:
    for n in range(60):
        store.put(scope, make(f"walrus {n}"))
    wanted = make("walrus and a long tail of other words", provenance=Provenance(session="s"))
    store.put(scope, wanted)
    assert found(store, replace(filter_, session="s"), "walrus", limit=1) == [wanted.id]


@pytest.mark.parametrize("field", ["session", "project", "agent"])
def test_a_blank_condition_is_a_condition(
    store: Store, scope: Scope, make: Make, filter_: Filter, field: str
) -> None:
    store.put(scope, make("walrus"))
    assert found(store, replace(filter_, **{field: ""}), "walrus") == []  # type: ignore[arg-type]


def test_deleted_memories_are_found_only_as_of_before(
    store: Store, scope: Scope, make: Make, filter_: Filter, noon: datetime
) -> None:
    memory = make("walrus")
    store.put(scope, memory)
    gone = replace(memory, version=2, updated_at=noon + HOUR, deleted_at=noon + HOUR)
    store.replace(scope, gone)
    assert found(store, filter_, "walrus") == []
    assert found(store, replace(filter_, as_of=noon), "walrus") == [memory.id]
    assert found(store, replace(filter_, as_of=noon - HOUR), "walrus") == []
    store.replace(scope, replace(memory, version=3, updated_at=noon + 2 * HOUR))
    assert found(store, filter_, "walrus") == [memory.id]


def test_each_version_is_found_by_its_own_words_in_its_own_time(
    store: Store, scope: Scope, make: Make, filter_: Filter, noon: datetime
) -> None:
    first = make("walrus")
    second = replace(first, content="seal", version=2, updated_at=noon + HOUR)
    store.put(scope, first)
    store.replace(scope, second)
    then = replace(filter_, as_of=noon)
    assert found(store, filter_, "seal") == found(store, then, "walrus") == [first.id]
    assert found(store, filter_, "walrus") == found(store, then, "seal") == []
    [match] = store.lexical_matches(then, ["walrus"], every=True, limit=1)
    assert match.load() == first


def _corpus(make: Make, noon: datetime, seed: int) -> list[Memory]:
    """Memories of few words, so that many scores are equal or nearly so."""
    chance = random.Random(seed)
    memories = []
    for n in range(150):
        chosen = chance.choices(WORDS, weights=range(14, 0, -1), k=chance.randint(1, 12))
        memories.append(
            make(
                f"{' '.join(chosen)} n{n}",
                tags=tuple(dict.fromkeys(chance.choices(WORDS, k=chance.randint(0, 3)))),
                keywords=tuple(chance.choices(WORDS, k=chance.randint(0, 3))),
                category=chance.choice(["facts", "people", WORDS[0]]),
                created_at=noon + timedelta(minutes=n),
            )
        )
    return memories


def _matches(
    written: list[Memory], filter: Filter, terms: list[str], *, every: bool
) -> list[Memory]:
    """What matches best by BM25 over all versions; of equals what was written first."""
    then = [x for x in written if filter.as_of is None or x.updated_at <= filter.as_of]
    present = {memory.id: memory for memory in then}
    admitted = [x for x in written if x is present.get(x.id)]
    meant = [x for x in admitted if not filter.categories or x.category in filter.categories]
    wanted = all if every else any
    found = [x for x in meant if wanted(term in weights(x) for term in terms)]
    score = scorer(written, terms)
    return sorted(found, key=lambda memory: -score(memory))


@pytest.mark.parametrize("seed", range(4))
def test_all_stores_rank_alike(
    stores: dict[str, Store], scope: Scope, make: Make, noon: datetime, seed: int
) -> None:
    """One user's memories: of several, a file counts the words of all, others of each."""
    chance, written = random.Random(seed), list[Memory]()
    for n, memory in enumerate(_corpus(make, noon, seed)):
        later = replace(
            memory,
            content=f"{memory.content} {WORDS[0]}",
            version=2,
            updated_at=noon + 9 * HOUR,
        )
        written += [memory, later] if n % 5 == 0 else [memory]
        for each in stores.values():
            each.put(scope, memory)
            if n % 5 == 0:
                each.replace(scope, later)
    for _ in range(60):
        terms = chance.sample(WORDS, k=chance.randint(1, 5))
        filter_ = Filter(
            scope=scope,
            now=noon,
            as_of=chance.choice([None, noon + HOUR]),
            categories=chance.choice([frozenset(), frozenset({"people"})]),
        )
        every = chance.random() < 0.4
        # Once they match as many as are wanted, a store may go by the rarest terms alone.
        limit = chance.choice([3, 20, 200] if every else [150, 200])
        answers = {
            name: each.lexical_matches(filter_, terms, every=every, limit=limit)
            for name, each in stores.items()
        }
        told = [[(*match[:-1], match.load()) for match in answer] for answer in answers.values()]
        assert all(each == told[0] for each in told), (terms, filter_)
        matches = [x.id for x in _matches(written, filter_, terms, every=every)]
        assert [match.id for match in answers["sqlite"]] == matches[:limit]
        facts = [each.lexical_statistics(scope, terms) for each in stores.values()]
        assert all(fact == facts[0] for fact in facts)
