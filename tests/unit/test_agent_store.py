"""The evaluation set that ships with Bear in Mind is what its datasheet says."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import Stemmer

from bearinmind.text import analysis
from bearinmind_bench import validation
from bearinmind_bench.evaluation import EvaluationQuery, load

FOLDER = Path(__file__).parents[2] / "benchmarks" / "data" / "agent-store"
VERSION_2 = FOLDER / "version-2"
#: Version 2 holds whatever version 1 does, so what is true of its rows is true of both.
FIRST, DATA = load(FOLDER), load(VERSION_2)
MEMORIES = {record["id"]: record for record in DATA.corpus}
ROWS: dict[str, dict[str, Any]] = {
    row["query_id"]: row
    for folder in (FOLDER, VERSION_2)
    for row in map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())
}
PROMPTS: list[dict[str, Any]] = [
    *map(json.loads, (FOLDER / "prompts.jsonl").read_text("utf-8").splitlines())
]
#: Words that carry no topic, besides the function words of the analysis.
EMPTY_WORDS = frozenset(
    """
    above again against all anybody anyone anything aren because before below between both
    currently d day days didn doesn don done down during each else ever every everything few first
    further get gets getting give given go goes going got here isn itself just keep kept know known
    last let like ll long m made make makes many may might month more most much must need needs
    never new no nor not nothing now off old once one only other out own per put re really s same
    say says shall somebody someone something still t take takes thing things through time times
    two under until us use used uses using ve very want wants wasn way week within without won year
    years yet
    """.split()  # noqa: SIM905
)
STEM = Stemmer.Stemmer("english").stemWord


def content_stems(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    empty = analysis.FUNCTION_WORDS | EMPTY_WORDS
    return {STEM(word) for word in words if word not in empty and len(word) > 1}


def stems_of(id_: str) -> set[str]:
    record = MEMORIES[id_]
    return content_stems(
        f"{record['content']} {record['tags']} {record['expanded_keywords']}".replace(",", " ")
    )


def stratum(name: str) -> list[EvaluationQuery]:
    return [query for query in DATA.queries if query.stratum == name]


def best(query: EvaluationQuery) -> list[str]:
    return [id_ for id_, grade in query.grades.items() if grade == 3]


def test_it_is_large_enough_and_sound() -> None:
    assert len(DATA.corpus) >= 800
    assert len(DATA.queries) >= 400
    assert validation.problems(DATA) == []
    assert {grade for query in DATA.queries for grade in query.grades.values()} == {0, 1, 2, 3}


def test_each_stratum_is_in_both_splits_with_enough_queries_to_conclude() -> None:
    counts = Counter((query.stratum, query.split) for query in DATA.queries)

    assert len(counts) == 12
    assert min(counts.values()) >= 30


def test_version_2_adds_questions_and_judgements_and_changes_none() -> None:
    later = {query.id: query for query in DATA.queries}

    assert DATA.name == "agent-store-version-2"
    assert DATA.corpus == FIRST.corpus
    for query in FIRST.queries:
        same = later[query.id]
        assert (same.text, same.split, same.as_of) == (query.text, query.split, query.as_of)
        assert query.grades.items() <= same.grades.items()


def test_version_2_has_fifty_test_questions_of_each_stratum() -> None:
    counts = Counter(query.stratum for query in DATA.of_split("test"))

    assert len(counts) == 6
    assert min(counts.values()) >= 50


@pytest.mark.parametrize(("name", "pairs"), [("passes", 8_297), ("passes-peers", 1_673)])
def test_the_two_passes_of_judging_are_kept_with_what_came_of_them(name: str, pairs: int) -> None:
    rows = [*map(json.loads, (VERSION_2 / f"{name}.jsonl").read_text("utf-8").splitlines())]
    grades = {query.id: query.grades for query in DATA.queries}

    assert sum(len(row["pool"]) for row in rows) == pairs
    for row in rows:
        assert {*row["pool"]} <= grades[row["query_id"]].keys()
        assert {*row["first"], *row["second"]} <= {*row["pool"]}
        for id_ in {*row["pool"]} - {*row.get("controls", ())}:
            passes = {row["first"].get(id_, 0), row["second"].get(id_, 0)}
            assert grades[row["query_id"]][id_] in passes


def test_no_memory_that_answers_serves_both_splits() -> None:
    splits: dict[str, set[str | None]] = {}
    for query in DATA.queries:
        for id_, grade in query.grades.items():
            if grade >= 2:
                splits.setdefault(id_, set()).add(query.split)

    assert [id_ for id_, found in splits.items() if len(found) > 1] == []


def test_a_paraphrase_shares_no_content_word_with_a_memory_that_answers() -> None:
    shared = {
        (query.id, id_): both
        for query in stratum("paraphrase")
        for id_, grade in query.relevant.items()
        if grade > 1 and (both := content_stems(query.text) & stems_of(id_))
    }

    assert shared == {}


def test_a_bridge_question_shares_no_word_with_its_answer_and_does_not_name_the_bridge() -> None:
    for query in stratum("multi_hop_bridge"):
        bridge, via = ROWS[query.id]["bridge"].lower(), ROWS[query.id]["via"]
        assert bridge not in query.text.lower()
        assert content_stems(query.text) & stems_of(via)
        assert bridge in json.dumps(MEMORIES[via], ensure_ascii=False).lower()
        for id_ in best(query):
            assert not content_stems(query.text) & stems_of(id_), query.id
            assert bridge in json.dumps(MEMORIES[id_], ensure_ascii=False).lower()


def test_a_set_question_needs_more_than_one_memory() -> None:
    assert all(
        sum(grade >= 2 for grade in query.grades.values()) >= 2
        for query in stratum("multi_hop_set")
    )


def test_what_was_so_at_a_moment_had_been_stored_by_then() -> None:
    asked = [query for query in DATA.queries if query.as_of]

    assert len(asked) >= 20
    for query in asked:
        assert query.as_of is not None
        for id_ in best(query):
            assert MEMORIES[id_]["created_at"] < query.as_of.isoformat()


def test_what_supersedes_is_newer() -> None:
    chains = [(record, old) for record in DATA.corpus for old in record.get("supersedes", ())]

    assert len(chains) >= 40
    assert [r["id"] for r, old in chains if r["created_at"] <= MEMORIES[old]["created_at"]] == []


def test_importance_tells_what_is_asked_from_what_is_not() -> None:
    answering = {id_ for query in DATA.queries for id_ in query.relevant}
    asked = [r["importance"] for r in DATA.corpus if r["id"] in answering]
    unasked = [r["importance"] for r in DATA.corpus if r["id"] not in answering]

    assert sum(asked) / len(asked) > sum(unasked) / len(unasked) + 0.1


def test_only_an_unanswerable_question_has_no_relevant_memory() -> None:
    assert all(not query.relevant for query in stratum("unanswerable"))
    assert all(query.relevant for query in DATA.queries if query.stratum != "unanswerable")


def test_the_prompts_are_labelled_with_memories_that_exist() -> None:
    assert len({row["query_id"] for row in PROMPTS}) == len(PROMPTS)
    assert len({row["text"] for row in PROMPTS}) == len(PROMPTS)
    for row in PROMPTS:
        assert row["relevant_ids"] if row["stratum"] == "task" else not row["relevant_ids"]
        assert {*row["relevant_ids"]} <= {*MEMORIES}


def test_each_kind_of_prompt_is_in_both_splits_and_no_memory_serves_both() -> None:
    kinds = Counter((row["stratum"], row["split"]) for row in PROMPTS)
    assert kinds.keys() == {
        (stratum, split)
        for stratum in ("task", "unanswerable", "unrelated", "short")
        for split in ("dev", "test")
    }
    assert min(kinds.values()) >= 19
    serving = {
        split: {id_ for row in PROMPTS if row["split"] == split for id_ in row["relevant_ids"]}
        for split in ("dev", "test")
    }
    assert not serving["dev"] & serving["test"]
