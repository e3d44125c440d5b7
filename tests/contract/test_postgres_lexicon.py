"""What words cost and tell in a Postgres store that many users share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any, NamedTuple

import pytest

from bearinmind.protocols import History
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.store.database import NOTHING, Parameters, Row
from bearinmind.store.postgres.lexicon import Lexicon, mark
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Filter, Memory, MemoryId, Provenance, Query, Scope, UserId

Make = Callable[..., Memory]
EVE = Scope(user=UserId("eve"))


class Asked(NamedTuple):
    """A statement that was read."""

    statement: str
    parameters: Parameters


class ListeningPool(Pool):
    """Remembers what it was asked to read."""

    def __init__(self, url: str) -> None:
        super().__init__(url, connections=1)
        self.asked: list[Asked] = []

    def read(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        """Read as a pool does."""
        self.asked.append(Asked(statement, parameters))
        return super().read(statement, parameters)

    def plan(self, asked: Asked) -> Iterator[dict[str, Any]]:
        """Every step by which the server does what was asked, with how many rows it found."""
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {SQL[asked.statement]}"
        [[[answer]]] = self.alone(explain, asked.parameters)
        waiting = [answer["Plan"]]
        while waiting:
            step = waiting.pop()
            waiting.extend(step.get("Plans", ()))
            yield step


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(url, connections=2)
    yield made
    made.close()


@pytest.fixture
def pool(url: str) -> Iterator[ListeningPool]:
    made = ListeningPool(url)
    yield made
    made.close()


@pytest.fixture
def keep(store: PostgresStore, make: Make) -> Callable[..., list[MemoryId]]:
    """Stores memories of these contents for a scope."""

    def keep_all(scope: Scope, contents: Sequence[str], **fields: object) -> list[MemoryId]:
        memories = [make(content, owner=scope.user, **fields) for content in contents]
        store.put_many(scope, [History(versions=(memory,)) for memory in memories])
        return [memory.id for memory in memories]

    return keep_all


Keep = Callable[..., list[MemoryId]]


def test_statistics_are_those_of_the_owner_alone(
    store: PostgresStore, keep: Keep, scope: Scope
) -> None:
    keep(scope, ["walrus seal", "seal"])
    before = store.lexical_statistics(scope, ["walrus", "seal", "otter"])
    keep(EVE, [f"walrus otter {n}" for n in range(30)])
    assert store.lexical_statistics(scope, ["walrus", "seal", "otter"]) == before
    assert before == (2, 1.5, {"walrus": 1, "seal": 2, "otter": 0})


def test_owners_with_the_same_mark_do_not_find_each_other(
    store: PostgresStore, keep: Keep, noon: datetime
) -> None:
    one, other = (Scope(user=user) for user in _of_one_mark())
    [own] = keep(one, ["walrus"])
    keep(other, ["walrus", "walrus seal"])
    for every in (True, False):
        matches = store.lexical_matches(
            Filter(scope=one, now=noon), ["walrus"], every=every, limit=9
        )
        assert [match.id for match in matches] == [own]
    assert store.lexical_statistics(one, ["walrus", "seal"]).frequency == {"walrus": 1, "seal": 0}


def _of_one_mark() -> tuple[UserId, UserId]:
    known: dict[str, UserId] = {}
    for number in count():
        user = UserId(f"user {number}")
        twin = known.setdefault(mark(user), user)
        if twin != user:
            return twin, user
    raise AssertionError


@pytest.mark.skipif(
    bool(os.environ.get("CITUS_URL")), reason="Citus shows no plan of what its workers do"
)
def test_what_others_hold_is_not_even_looked_at(
    store: PostgresStore, keep: Keep, pool: ListeningPool, scope: Scope, noon: datetime
) -> None:
    contents = [f"walrus {'seal ' * (n % 5 == 0)}number {n} of the harbour" for n in range(20)]
    for user in (*(UserId(f"user {number}") for number in range(99)), scope.user):
        keep(Scope(user=user), contents)
    pool.alone("ANALYZE")
    lexicon = Lexicon(pool)
    here = Filter(scope=scope, now=noon)
    assert lexicon.statistics(scope, ["walrus", "seal"]).frequency == {"walrus": 20, "seal": 4}
    assert len(lexicon.matches(here, ["walrus", "seal"], every=True, limit=50)) == 4
    assert len(lexicon.matches(here, ["walrus", "seal"], every=False, limit=50)) == 20
    for asked in pool.asked:
        steps = [*pool.plan(asked)]
        assert not [step for step in steps if step["Node Type"] == "Seq Scan"], asked
        by_lexeme = [step for step in steps if step.get("Index Name") == "indexed_by_lexeme"]
        assert by_lexeme, asked
        assert all(step["Actual Rows"] <= len(contents) for step in by_lexeme), asked


def test_a_recall_costs_one_question_for_the_counts_and_one_for_the_matches(
    store: PostgresStore, keep: Keep, pool: ListeningPool, scope: Scope, noon: datetime
) -> None:
    keep(scope, [f"walrus seal {n}" for n in range(200)])
    lexicon = Lexicon(pool)
    for _ in range(2):
        pool.asked.clear()
        statistics = lexicon.statistics(scope, ["walrus", "seal"])
        lexicon.matches(Filter(scope=scope, now=noon), ["walrus", "seal"], every=True, limit=9)
        assert [asked.statement for asked in pool.asked] == ["index_facts", "matches_every"]
        assert statistics.frequency == {"walrus": 200, "seal": 200}
    assert pool.asked[0].parameters["lexemes"] == []  # counted already


def test_a_new_term_is_known_at_once_and_old_counts_are_renewed_as_the_index_grows(
    store: PostgresStore, keep: Keep, pool: ListeningPool, scope: Scope
) -> None:
    keep(scope, [f"walrus {n}" for n in range(300)])
    lexicon = Lexicon(pool)
    assert lexicon.statistics(scope, ["walrus", "otter"]).frequency == {"walrus": 300, "otter": 0}
    keep(scope, ["walrus otter"])
    statistics = lexicon.statistics(scope, ["walrus", "otter"])
    assert (statistics.total, statistics.frequency) == (301, {"walrus": 300, "otter": 1})
    keep(scope, [f"walrus otter {n}" for n in range(5)])
    statistics = lexicon.statistics(scope, ["walrus", "otter"])
    assert (statistics.total, statistics.frequency) == (306, {"walrus": 306, "otter": 6})


def test_common_terms_are_searched_when_a_filter_leaves_too_few_of_the_rare_ones(
    store: PostgresStore, keep: Keep, scope: Scope, noon: datetime
) -> None:
    keep(scope, [f"walrus seal {n}" for n in range(30)])
    keep(scope, [f"seal {n}" for n in range(90)])
    wanted = keep(scope, ["seal of the harbour"], provenance=Provenance(session="s"))
    here = Filter(scope=scope, now=noon, session="s")
    found = store.lexical_matches(here, ["walrus", "seal"], every=False, limit=2)
    assert [match.id for match in found] == wanted


def test_a_rare_term_decides_also_under_a_filter(
    store: PostgresStore, keep: Keep, pool: ListeningPool, scope: Scope, noon: datetime
) -> None:
    keep(scope, [f"walrus seal {n}" for n in range(30)])
    keep(scope, [f"seal {n}" for n in range(90)])
    lexicon = Lexicon(pool)
    facts = Filter(scope=scope, now=noon, categories=frozenset({"facts"}))
    found = lexicon.matches(facts, ["walrus", "seal"], every=False, limit=5)
    assert len(found) == 5
    assert pool.asked[-1].parameters["lexemes"] == [mark(scope.user) + "walrus"]


def test_a_name_tells_a_lot_although_most_of_few_memories_hold_it(
    store: PostgresStore, keep: Keep, scope: Scope, noon: datetime
) -> None:
    [about_her, *_] = keep(scope, ["Caroline paints", "Caroline sings", "Melanie paints"])
    query = Query(text="Caroline sculpture", filter=Filter(scope=scope, now=noon))
    ranking, _ = LexicalLeg(store)(query)
    [confidence] = [each.confidence for each in ranking.candidates if each.id == about_her]
    assert confidence > 0.4


def test_the_lines_of_an_entry_are_found_by_each_of_their_terms_whatever_else_is_empty(
    store: PostgresStore, make: Make, scope: Scope, noon: datetime
) -> None:
    memory = make("It is what it was", tags=("arctic sea",), keywords=("big seal",))
    bare = replace(make("—"), category="facts")
    for each in (memory, bare):
        store.put(scope, each)
    for term in ("arctic", "sea", "big", "seal", "fact", "what"):
        found = store.lexical_matches(Filter(scope=scope, now=noon), [term], every=True, limit=9)
        assert memory.id in [match.id for match in found], term


def test_an_index_that_is_made_anew_holds_what_it_held(
    store: PostgresStore, scope: Scope, make: Make
) -> None:
    for number in range(3):
        store.put(scope, make(f"walrus {number}"))
        store.put(EVE, make(f"walrus and seal {number}", owner=EVE.user))
    before = [store.lexical_statistics(each, ["walrus", "seal"]) for each in (scope, EVE)]
    store.reindex()
    after = [store.lexical_statistics(each, ["walrus", "seal"]) for each in (scope, EVE)]
    assert after == before
    assert [finding for finding in store.check() if not finding.good] == []
