"""The evaluation sets of questions without an answer are what their datasheets say."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from bearinmind_bench import validation
from bearinmind_bench.evaluation import load

DATA = Path(__file__).parents[2] / "benchmarks" / "data"
FOLDER = DATA / "unanswerable"
SET = load(FOLDER)
STORES = SET.users


def rows(path: Path) -> list[dict[str, Any]]:
    return [*map(json.loads, path.read_text("utf-8").splitlines())]


QUERIES, PROMPTS = rows(FOLDER / "queries.jsonl"), rows(FOLDER / "prompts.jsonl")


def test_it_is_as_large_as_the_datasheet_says_and_sound() -> None:
    assert validation.problems(SET) == []
    assert Counter(query.stratum for query in SET.queries) == {
        "unrelated": 284,
        "same-topic": 286,
        "near-miss": 290,
        "answerable": 208,
    }
    assert Counter(row["stratum"] for row in PROMPTS) == {"task": 136, "remark": 150}
    assert (len(SET.corpus), len(STORES)) == (5_062, 14)


def test_only_what_is_answerable_has_relevant_memories_and_they_are_of_its_store() -> None:
    for query in SET.queries:
        assert bool(query.relevant) == (query.stratum == "answerable")
    for row in PROMPTS:
        assert bool(row["relevant_ids"]) == (row["stratum"] == "task")
    asked = [(query.user, query.relevant) for query in SET.queries]
    asked += [(row["user_id"], dict.fromkeys(row["relevant_ids"], 1)) for row in PROMPTS]
    ids = {user: {record["id"] for record in records} for user, records in STORES.items()}
    assert all(relevant.keys() <= ids[user] for user, relevant in asked)


def test_no_id_and_no_text_of_a_store_occurs_twice() -> None:
    every = [*QUERIES, *PROMPTS]
    assert len({row["query_id"] for row in every}) == len(every)
    assert len({(row["user_id"], row["text"].casefold()) for row in every}) == len(every)


def test_each_kind_is_in_both_splits_and_no_topic_or_memory_serves_both() -> None:
    every = [*QUERIES, *PROMPTS]
    counts = Counter((row["stratum"], row["split"]) for row in every)
    assert len(counts) == 12
    assert min(counts.values()) >= 60
    splits: dict[tuple[str, str], set[str]] = defaultdict(set)
    relevant = {query.id: query.relevant for query in SET.queries}
    for row in every:
        keys = [row["topic"].strip().lower(), *relevant.get(row["query_id"], ())]
        for key in [*keys, *row.get("relevant_ids", ())]:
            splits[row["user_id"], key].add(row["split"])
    assert [key for key, both in splits.items() if len(both) > 1] == []


def test_the_stores_are_those_of_the_other_sets() -> None:
    contents = {user: [x["content"] for x in records] for user, records in STORES.items()}
    agent_store = rows(DATA / "agent-store" / "corpus.jsonl")
    assert contents["agent-store"] == [record["content"] for record in agent_store]
    for file in ("corpus", "background"):
        records = rows(DATA / "changes" / f"{file}.jsonl")
        for user in dict.fromkeys(record["user_id"] for record in records):
            own = [record["content"] for record in records if record["user_id"] == user]
            assert contents[user] == own


def test_the_small_stores_are_as_their_datasheet_says() -> None:
    stores = load(DATA / "stores")
    prompts = rows(DATA / "stores" / "prompts.jsonl")
    assert not any(problem.fatal for problem in validation.problems(stores))
    assert (len(stores.corpus), len(stores.users)) == (1_451, 123)
    assert Counter(query.stratum for query in stores.queries) == {
        "plain": 370,
        "reworded": 565,
        "two": 32,
        "near-miss": 492,
        "same-topic": 246,
        "unrelated": 246,
    }
    assert Counter(row["stratum"] for row in prompts) == {"task": 246, "remark": 123}
    answered = {"plain", "reworded", "two"}
    assert all(bool(query.relevant) == (query.stratum in answered) for query in stores.queries)
    learnt_from = rows(DATA / "changes" / "stores.jsonl")
    learnt = {text for store in learnt_from for _, text in store["memories"]}
    assert len(learnt) > 4_000
    assert learnt.isdisjoint(record["content"] for record in stores.corpus)
