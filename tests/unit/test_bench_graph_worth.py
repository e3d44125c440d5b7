"""What benchmarks/graph.py counts, compares and keeps is what the answers say."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import graph
import graph_results
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.results import QueryRow
from graph_results import Asked
from research.graph_shapes import RANKS_ALONE, SHAPES, SHIPPED, WITHOUT
from support.bench_sets import Row, small_set, write_set

Legs = Mapping[str, Mapping[str, int]]


@pytest.fixture
def embedders() -> Iterator[EmbeddersOfRun]:
    made = EmbeddersOfRun()
    yield made
    made.close()


def answered(number: int, ranked: Sequence[str], metric: float = 1.0, **legs: Any) -> QueryRow:
    """An answer to a query for which r1 and r2 are relevant."""
    found: Legs = legs or {"lexical": {id_: rank for rank, id_ in enumerate(ranked, start=1)}}
    return QueryRow(
        query_id=f"q{number}",
        stratum="bridge",
        split="dev",
        user="local",
        grades={"r1": 1, "r2": 1},
        ranked=tuple(ranked),
        legs=found,
        confidence=1.0,
        milliseconds=1.0,
        metrics={"recall@5": metric, "recall@10": metric, "ndcg@10": metric},
    )


def asked(*metrics: float) -> Asked:
    rows = [answered(number, ["r1"], metric) for number, metric in enumerate(metrics)]
    return Asked(rows, [1.0] * len(rows))


# ---- what the graph alone brought --------------------------------------------------------------


def test_what_came_and_left_and_what_only_the_graph_proposed_is_counted() -> None:
    before = Asked([answered(1, ["r1", "x", "y"])], [0.0])
    after = answered(
        1,
        ["r2", "new", "x", "y", "z", "r1"],
        lexical={"r1": 1, "x": 2, "y": 3},
        dense={"z": 9},
        graph={"r2": 1, "new": 2, "x": 3, "far": 30},
    )

    brought = graph_results.worth(before, Asked([after], [2.0]))["brought"]

    alone = {"relevant": 1, "others": 1}
    assert brought["overall"] == brought["bridge"]
    assert brought["overall"]["5"] == {"alone": alone, "gained": 1, "lost": 1}
    assert brought["overall"]["10"] == {"alone": alone, "gained": 1, "lost": 0}


# ---- what is compared, and corrected together --------------------------------------------------


def test_every_arm_is_compared_with_each_base_but_itself() -> None:
    arms = {WITHOUT: asked(0.5, 0.5), SHIPPED: asked(1.0, 0.5), "other": asked(0.5, 1.0)}

    found = graph_results.compared(arms, [WITHOUT, SHIPPED])

    assert {name: [*arm["against"]] for name, arm in found.items()} == {
        WITHOUT: [SHIPPED],
        SHIPPED: [WITHOUT],
        "other": [WITHOUT, SHIPPED],
    }
    assert {row["stratum"] for row in found["other"]["against"][SHIPPED]} == {"overall"}
    rows = found["other"]["against"][WITHOUT]
    assert {(row["stratum"], row["metric"]) for row in rows} == {
        ("overall", "recall@5"),
        ("overall", "ndcg@10"),
        ("bridge", "ndcg@10"),
    }
    assert rows[0] | {"low": 0, "high": 0, "p": 0} == {
        "stratum": "overall",
        "metric": "recall@5",
        "queries": 2,
        "difference": 0.25,
        "low": 0,
        "high": 0,
        "p": 0,
        "wins": 1,
        "losses": 0,
    }


def kept(path: Path, data: str, after: Sequence[float]) -> dict[str, Any]:
    """The overall row of each set once this one is kept, too."""
    arms = {"base": asked(*[0.5] * len(after)), "other": asked(*after)}
    found = {"arms": graph_results.compared(arms, ["base"])}
    graph_results.keep(path, "shapes", data, found)
    sets = json.loads(path.read_text("utf-8"))["shapes"]
    return {name: each["arms"]["other"]["against"]["base"][0] for name, each in sets.items()}


def test_another_set_makes_every_verdict_harder(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    ahead = [0.6] * 40 + [0.4] * 19  # p is about .01

    alone = kept(path, "first", ahead)["first"]
    together = kept(path, "second", [0.6] * 22 + [0.4] * 18)

    assert alone["corrected_p"] == alone["p"]
    assert together["first"]["corrected_p"] == pytest.approx(2 * alone["p"])
    assert together["second"]["verdict"] == "cannot tell"
    assert kept(path, "second", [0.6] * 8 + [0.4] * 32)["second"]["verdict"] == "worse"
    assert kept(path, "third", [1.0] * 29)["third"]["verdict"] == "too few queries"


# ---- the parts ---------------------------------------------------------------------------------


def test_with_and_without_are_the_product_with_the_leg_on_and_off(
    tmp_path: Path, embedders: EmbeddersOfRun
) -> None:
    found = graph.worth(small_set(tmp_path / "harbour"), "dev", embedders)

    assert [*found["arms"]] == [WITHOUT, SHIPPED]
    assert found["split"] == "dev"
    assert found["arms"][SHIPPED]["means"]["overall"]["queries"] == 20
    assert found["memories"] == 80
    assert found["holds"].keys() == {"concepts", "mentions", "relations"}


def test_every_shape_is_measured_beside_the_same_two_and_what_it_adds_to(
    tmp_path: Path, embedders: EmbeddersOfRun
) -> None:
    found = graph.shapes(small_set(tmp_path / "harbour", 4), "dev", embedders)["arms"]

    assert [*found] == [shape.name for shape in SHAPES]
    assert {*found["over relations alone"]["against"]} == {WITHOUT, SHIPPED}
    by_ranks = found["PageRank as a leg of RRF"]["against"]
    assert {*by_ranks} == {WITHOUT, SHIPPED, RANKS_ALONE}


def test_given_triples_are_imported_and_a_missing_extractor_is_said_to_be(
    tmp_path: Path, embedders: EmbeddersOfRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus: list[Row] = [
        {"id": 0, "content": "labels are drawn by the gannet"},
        {"id": 1, "content": "leave to restart it is given by ilse navrat"},
    ]
    queries: list[Row] = [{"query_id": "q", "text": "who draws labels", "relevant_ids": [0, 1]}]
    folder = write_set(tmp_path / "set", corpus=corpus, queries=queries)
    lines = [
        {"id": 0, "entities": ["Gannet"], "triples": [["labels", "drawn by", "Gannet"]]},
        {"id": 1, "entities": ["Gannet"], "triples": [["Gannet", "restarted by", "Ilse Navrat"]]},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / graph.TRIPLES).write_bytes(gzip.compress(text.encode()))
    monkeypatch.setitem(sys.modules, "spacy", None)  # as where it is not installed

    found = graph.extractors(folder, "dev", embedders)

    given = found["building"]["given triples"]
    assert given["imported"] == {"relations": 2, "mentions": 4}
    assert given["holds"] == {"concepts": 3, "mentions": 4, "relations": 2}
    assert "spacy" in found["building"]["rules and spaCy"]["missing"].lower()
    arm = found["arms"][f"given triples: {SHIPPED}"]
    assert arm["means"]["overall"]["recall@5"] == 1.0
    assert found["arms"][WITHOUT]["means"]["overall"]["recall@5"] == 0.5
