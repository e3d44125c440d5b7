"""What decides about pairs and neighbours: the scripts in benchmarks measure what they say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import arms
import neighbours
from bearinmind.models.local import HashEmbedder, PairedEmbedder
from bearinmind.types import Memory, MemoryId, Provenance, UserId
from bearinmind_bench.summary import means, strata
from support.bench_runs import made_row
from support.bench_sets import Row, measure, small_set, write_set

MONDAY = datetime(2025, 3, 3, 9, tzinfo=UTC)


def memory(name: str, *tags: str, owner: str = "ada", at: datetime = MONDAY) -> Memory:
    return Memory(
        id=MemoryId(name),
        owner=UserId(owner),
        content=f"content of {name}",
        category="facts",
        tags=tags,
        keywords=(),
        importance=0.5,
        sensitive=False,
        created_at=at,
        updated_at=at,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(),
        version=1,
    )


def names(memories: list[Memory]) -> dict[str, list[str | None]]:
    """By memory: who stands before and after it."""
    found = neighbours.neighbours(memories)
    return {id_: [other.id if other else None for other in pair] for id_, pair in found.items()}


# ---- who stands beside whom --------------------------------------------------------------------


def test_neighbours_are_those_before_and_after_in_the_same_session() -> None:
    talk = [memory("a", "session_1"), memory("b", "session_2"), memory("c", "ben", "session_1")]

    assert names([*talk, memory("d", "session_1")]) == {
        "a": [None, "c"],
        "b": [None, None],
        "c": ["a", "d"],
        "d": ["c", None],
    }


def test_without_a_session_the_same_day_counts_and_never_another_user() -> None:
    later, tuesday = MONDAY + timedelta(hours=3), MONDAY + timedelta(days=1)
    held = [memory("a"), memory("b", at=later), memory("c", at=tuesday), memory("d", owner="ben")]

    assert names(held) == {
        "a": [None, "b"],
        "b": ["a", None],
        "c": [None, None],
        "d": [None, None],
    }


# ---- how vectors are mixed ---------------------------------------------------------------------


def unit(*numbers: float) -> neighbours.Vector:
    vector = np.array(numbers, np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def test_a_mixed_vector_leans_to_the_mean_of_its_neighbours_and_has_length_1() -> None:
    held = [memory("a"), memory("b"), memory("c"), memory("d", owner="ben")]
    own = {m.id: v for m, v in zip(held, np.eye(4, dtype=np.float32), strict=True)}

    mixed = neighbours.mixed(own, neighbours.neighbours(held), 0.2)

    assert mixed[held[0].id] == pytest.approx(unit(0.8, 0.2, 0, 0))
    assert mixed[held[1].id] == pytest.approx(unit(0.1, 0.8, 0.1, 0))
    assert mixed[held[3].id] == pytest.approx(unit(0, 0, 0, 1))


# ---- what is measured is what is shipped -------------------------------------------------------


def figures(rows: arms.Rows) -> dict[str, float]:
    return means(strata(rows)["overall"])


def test_no_weight_measures_what_a_run_of_the_benchmark_does(tmp_path: Path) -> None:
    folder = small_set(tmp_path / "harbour")
    without_graph = {"leg_weights": {"graph": 0}}
    settings = {"embedder": "hash", "embedded_text": "content", **without_graph}
    run = measure(folder, split="dev", settings=settings)

    found = neighbours.measure(folder, HashEmbedder())

    assert figures(found["weight 0.0"]) == pytest.approx(run.overall)
    assert [row.query_id for row in found["weight 0.5"]] == [row.query_id for row in run.rows]


def test_a_weight_finds_an_answer_by_what_was_said_before_it(tmp_path: Path) -> None:
    """The query shares its words with the memory before the one that answers it."""
    talk = [("zebra", "yes gladly"), ("kiwi", "no never"), ("otter", "on friday")]
    corpus: list[Row] = [
        {"id": f"{at}{who}", "content": text, "tags": f"session_{at}"}
        for at, (subject, answer) in enumerate(talk)
        for who, text in (("q", f"will {subject} come"), ("a", answer))
    ]
    queries: list[Row] = [
        {"query_id": subject, "text": f"{subject} come", "relevant_ids": [f"{at}a"]}
        for at, (subject, _) in enumerate(talk)
    ]
    folder = write_set(tmp_path / "talk", corpus=corpus, queries=queries)

    found = neighbours.measure(folder, HashEmbedder())

    assert figures(found["weight 0.0"])["recall@5"] < figures(found["weight 0.5"])["recall@5"]


def test_arms_share_one_corpus_and_each_has_its_own_space(tmp_path: Path) -> None:
    """A pair of one embedder with itself is that embedder, whatever the share."""
    with arms.filled(small_set(tmp_path / "harbour")) as (data, stored):
        alone = arms.ask(data, stored, HashEmbedder())
        paired = [
            arms.ask(data, stored, PairedEmbedder(HashEmbedder(), HashEmbedder(), share=share))
            for share in (0.0, 0.3, 1.0)
        ]
        [left] = stored.store.spaces()

    assert all(figures(rows) == pytest.approx(figures(alone)) for rows in paired)
    assert left.space.dimensions == 2 * HashEmbedder().space.dimensions


def test_the_table_tells_each_arm_from_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    numbered = [(number, ("where", "who")[number % 2]) for number in range(120)]
    good, bad = ([made_row(*each, skill=skill) for each in numbered] for skill in (1.5, -1.5))

    arms.show("harbour", {"good": good, "same": good, "bad": bad}, by_stratum=True)

    overall, first, same, last, *others = filter(None, capsys.readouterr().out.splitlines())
    assert overall.startswith("harbour, overall")
    assert f"{means(good)['ndcg@10']:.4f}" in first
    assert same.count("cannot tell") == len(arms.METRICS)
    assert last.count("worse") == len(arms.METRICS)
    assert [line.split()[1] for line in others[::4]] == ["where", "who"]
