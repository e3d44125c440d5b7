"""The set about things that change is what its datasheet says."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from bearinmind_bench import validation
from bearinmind_bench.evaluation import Pair, load, user_of

FOLDER = Path(__file__).parents[2] / "benchmarks" / "data" / "changes"
DATA = load(FOLDER)
MEMORIES = {record["id"]: record for record in DATA.corpus}
CHANGES = [pair for pair in DATA.pairs if pair.outdates]
NEAR_MISSES = [pair for pair in DATA.pairs if not pair.outdates]
STRATA = {"now", "then", "when", "both"}
CHANGED = {"one-step", "chain", "partial", "reverted", "cancelled", "ended"}


def rows(name: str) -> list[dict[str, Any]]:
    return [*map(json.loads, (FOLDER / name).read_text("utf-8").splitlines())]


def item(id_: str) -> str:
    """What a memory is about: the name without the letter of its state."""
    return re.sub(r"[a-z]$", "", id_)


def created(id_: str) -> str:
    return str(MEMORIES[id_]["created_at"])


def test_it_is_sound_and_as_large_as_its_datasheet_says() -> None:
    datasheet = (FOLDER / "README.md").read_text("utf-8")

    assert [problem.text for problem in validation.problems(DATA) if problem.fatal] == []
    for count, noun in (
        (len(DATA.corpus), "memories"),
        (len(DATA.queries), "questions"),
        (len({item(pair.newer) for pair in CHANGES}), "changes"),
        (len(CHANGES), "pairs of neighbouring states"),
        (len(NEAR_MISSES), "pairs of near-misses"),
    ):
        assert f"{count:,} {noun}" in datasheet
    for stratum, count in Counter(query.stratum for query in DATA.queries).items():
        assert f"| {stratum} | {count} |" in datasheet


def test_it_has_the_changes_and_near_misses_that_were_asked_for() -> None:
    assert len({item(pair.newer) for pair in CHANGES}) >= 250
    assert len(NEAR_MISSES) >= 400
    assert {pair.shape for pair in CHANGES} == CHANGED
    assert not {pair.shape for pair in NEAR_MISSES} & CHANGED
    assert {pair.announced for pair in CHANGES} == {True, False}
    assert sum(not pair.announced for pair in CHANGES) > len(CHANGES) / 2


def test_every_stratum_is_in_both_splits_with_enough_questions_to_conclude() -> None:
    counts = Counter((query.stratum, query.split) for query in DATA.queries)

    assert counts.keys() == {(stratum, split) for stratum in STRATA for split in ("dev", "test")}
    assert min(counts.values()) >= 30


def test_a_topic_and_a_memory_are_in_one_split() -> None:
    splits: dict[str, set[str | None]] = {}
    for row in rows("pairs.jsonl"):
        for name in (f"topic {row['user_id']}/{row['topic']}", row["newer"], row["older"]):
            splits.setdefault(name, set()).add(row["split"])
    for row, query in zip(rows("queries.jsonl"), DATA.queries, strict=True):
        for name in (f"topic {row['group']}", *query.grades, *query.stale):
            splits.setdefault(name, set()).add(query.split)

    assert {name: found for name, found in splits.items() if len(found) > 1} == {}


def test_the_two_memories_of_a_pair_belong_to_one_user_and_the_newer_is_newer() -> None:
    def is_wrong(pair: Pair) -> bool:
        owners = {user_of(MEMORIES[pair.newer]), user_of(MEMORIES[pair.older]), pair.user}
        return len(owners) > 1 or created(pair.newer) <= created(pair.older)

    assert [pair for pair in DATA.pairs if is_wrong(pair)] == []
    assert len({frozenset((pair.newer, pair.older)) for pair in DATA.pairs}) == len(DATA.pairs)


def test_stale_memories_are_earlier_than_what_answers_and_only_asked_about_now() -> None:
    about_now = [query for query in DATA.queries if query.stale]

    assert len(about_now) >= 250
    assert {query.stratum for query in about_now} == {"now"}
    for query in about_now:
        assert not query.relevant.keys() & {*query.stale}
        assert max(map(created, query.stale)) < max(map(created, query.relevant)), query.id


def test_every_question_has_an_answer_of_its_own_user() -> None:
    for query in DATA.queries:
        assert query.relevant
        assert {user_of(MEMORIES[id_]) for id_ in (*query.grades, *query.stale)} == {query.user}
