"""The concept graph on the command line: what changes it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("by_words")


def relation(source: str, type_: str, target: str, **fields: Any) -> str:
    return json.dumps({"source": source, "type": type_, "target": target, **fields})


@pytest.fixture
def take(run: Run) -> Callable[..., Any]:
    """Imports lines of triples."""

    def take_lines(*lines: str, **options: Any) -> Any:
        return run("graph", "import", "-", "--json", stdin="\n".join(lines), **options)

    return take_lines


def types(run: Run, concept: str, *options: str) -> list[tuple[str, str]]:
    shown = run("graph", "show", concept, *options, "--json").json
    return [(each["type"], each["target"]) for each in shown["relations"]]


# ---- import ------------------------------------------------------------------------------------


def test_relations_are_imported_once_with_their_times(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    id_ = remember("orders runs on db-1 since New Year")
    told = relation("orders", "runs on", "db-1", valid_from="2026-01-01", evidence=[id_.upper()])

    first = take(told).json
    again = take(told).json

    assert (first["relations"], first["bad"]) == (1, 0)
    assert (again["relations"], again["mentions"]) == (0, 0)
    [known] = run("graph", "show", "orders", "--json").json["relations"]
    assert known["valid_from"].startswith("2026-01-01")
    assert known["evidence"] == [id_]
    assert known["origin"] == "import"


def test_a_bad_line_is_named_and_the_others_are_taken(
    run: Run, remember: Callable[..., str], tmp_path: Path
) -> None:
    id_ = remember("orders runs on db-1")
    lines = [
        relation("orders", "runs on", "db-1", evidence=[id_]),
        "{not json",
        "",
        json.dumps({"memory": "zzzzzzzzzzzz", "triples": [["a", "is", "b"]]}),
        json.dumps({"memory": id_, "triples": [["a", "b"]]}),
        relation("orders", "uses", "Valkey"),
        json.dumps({"id": 7, "entities": ["Dana"]}),
        json.dumps({"id": id_[:4], "entities": ["Dana"]}),
    ]
    (tmp_path / "triples.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))

    ran = run("graph", "import", "triples.jsonl.gz")

    assert ran.code == 2
    assert "2 relations and 2 mentions added, 5 bad lines skipped" in ran.out
    assert "line 2: invalid_record: the line is not JSON" in ran.err
    assert "line 4: memory_not_found:" in ran.err
    assert "line 7: invalid_record: '7' is not the whole id of a memory" in ran.err
    assert f"line 8: invalid_record: '{id_[:4]}' is not the whole id" in ran.err
    assert "line 5: invalid_record: a triple is a list of source, type and target" in ran.err
    assert types(run, "orders") == [("runs on", "db-1"), ("uses", "valkey")]


def test_importing_needs_a_store_and_a_file(run: Run, remember: Callable[..., str]) -> None:
    assert run("graph", "import", "-", stdin="").code == 3
    remember("something")
    assert run("graph", "import", "missing.jsonl").code == 3


# ---- contradictions ----------------------------------------------------------------------------


def test_a_contradiction_is_found_settled_and_its_past_stays_readable(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    remember("something")
    take(relation("orders", "runs on", "db-1", valid_from="2026-01-01"))
    take(relation("orders", "runs on", "db-2", valid_from="2026-03-01"))

    [found] = run("graph", "contradictions", "--json").json["contradictions"]
    number = found["older"]["number"]
    assert found["older"]["target"] == "db-1"
    assert found["proposal"]["kind"] == "end"
    assert found["proposal"]["valid_to"].startswith("2026-03-01")
    assert f"bearinmind graph resolve {number}" in run("graph", "contradictions").out

    before = datetime.now(UTC).isoformat()
    assert run("graph", "resolve", number).code == 0

    assert run("graph", "contradictions").out == "No two relations contradict each other.\n"
    now = run("graph", "show", "orders", "--json").json["relations"]
    assert {each["target"]: each["valid_to"] for each in now} == {
        "db-1": "2026-03-01T00:00:00Z",
        "db-2": None,
    }
    past = run("graph", "show", "orders", "--as-of", before, "--json").json["relations"]
    assert {each["valid_to"] for each in past} == {None}
    around = run("graph", "neighbours", "orders", "--json").json["found"]
    assert [each["concept"]["name"] for each in around] == ["db-2"]
    earlier = run("graph", "resolve", number)
    assert earlier.code == 3
    assert "contradicts no newer one" in earlier.err


def test_what_a_superseded_memory_states_is_the_older(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    new = remember("orders runs on db-2")
    take(relation("orders", "runs on", "db-2", evidence=[new]))
    old = remember("orders runs on db-1")
    take(relation("orders", "runs on", "db-1", evidence=[old]))
    run("link", new, "supersedes", old)

    [found] = run("graph", "contradictions", "--json").json["contradictions"]

    assert found["older"]["target"] == "db-1"


def test_what_an_outdated_memory_states_contradicts_what_holds_now_and_is_ended(
    run: Run, remember: Callable[..., str]
) -> None:
    old = remember("The CI of Atlas uses Jenkins.", "--created-at", "2025-01-01")
    new = remember("The CI of Atlas uses GitHub Actions.", "--created-at", "2025-06-01")
    assert run("graph", "build").code == 0
    assert run("graph", "contradictions", "--json").json == {"contradictions": []}
    assert run("link", new, "outdates", old).code == 0

    [found] = run("graph", "contradictions", "--json").json["contradictions"]

    assert (found["older"]["target"], found["newer"]["target"]) == ("jenkins", "github actions")
    assert found["proposal"]["valid_to"].startswith("2025-06-01")
    assert run("graph", "resolve", found["older"]["number"]).code == 0
    assert run("graph", "contradictions", "--json").json == {"contradictions": []}


def test_a_relation_that_is_wrong_is_retracted(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    remember("something")
    take(relation("orders", "runs on", "db-1"), relation("orders", "uses", "Valkey"))
    [number] = [
        each["number"]
        for each in run("graph", "show", "orders", "--json").json["relations"]
        if each["type"] == "runs on"
    ]

    assert run("graph", "retract", number).code == 0

    assert types(run, "orders") == [("uses", "valkey")]
    assert run("graph", "retract", number).code == 3


# ---- as of -------------------------------------------------------------------------------------


def test_after_an_update_the_graph_of_before_is_still_there(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    id_ = remember("orders runs on db-1")
    take(relation("orders", "runs on", "db-1", evidence=[id_]))
    before = datetime.now(UTC).isoformat()

    run("update", id_, "payments runs on db-9")

    assert run("graph", "show", "orders").code == 3
    assert types(run, "orders", "--as-of", before) == [("runs on", "db-1")]
    assert run("get", id_, "--json").json["relations"] == []


def test_what_a_deleted_memory_said_is_gone_until_it_is_restored(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    id_ = remember("orders runs on db-1")
    run("work")
    take(relation("orders", "runs on", "db-1", evidence=[id_]))

    run("delete", id_)

    assert run("graph", "neighbours", "orders").code == 3
    assert run("graph", "hubs", "--json").json == {"concepts": []}
    assert run("graph", "export", "--format", "json").json["nodes"] == []
    run("restore", id_)
    assert types(run, "orders") == [("runs on", "db-1")]


# ---- merges ------------------------------------------------------------------------------------


def test_a_merge_joins_two_names_and_undoing_it_restores_both(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    one, other = remember("Postgres is slow"), remember("PostgreSQL 16 is out")
    take(
        json.dumps({"memory": one, "entities": ["Postgres"]}),
        json.dumps({"memory": other, "entities": ["PostgreSQL", "version 16"]}),
        relation("Postgres", "is", "slow", evidence=[one]),
    )
    apart = [run("graph", "show", name, "--json").json for name in ("Postgres", "PostgreSQL")]

    assert "postgres now means postgresql" in run("graph", "merge", "Postgres", "PostgreSQL").out

    joined = run("graph", "show", "postgres", "--json").json
    assert joined["concept"]["name"] == "postgresql"
    assert joined["concept"]["aliases"] == ["postgres"]
    assert {memory["id"] for memory in joined["memories"]} == {one, other}
    assert run("graph", "merge", "Postgres", "PostgreSQL").code == 4
    assert "said on the command line" in run("graph", "merges").out

    assert run("graph", "unmerge", "Postgres").code == 0

    after = [run("graph", "show", name, "--json").json for name in ("Postgres", "PostgreSQL")]
    assert after == apart
    assert run("graph", "merges").out == "No concept is merged into another.\n"
    assert "undone" in run("graph", "merges", "--all").out
    assert run("graph", "unmerge", "Postgres").code == 3


def test_a_merge_with_an_unknown_name_is_answered_with_near_ones(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    take(json.dumps({"memory": remember("x"), "entities": ["Postgres", "orders"]}))

    ran = run("graph", "merge", "Postgrs", "orders")

    assert ran.code == 3
    assert "Did you mean `Postgres`?" in ran.err


def test_names_that_may_be_one_are_shown_and_nothing_is_merged(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    one, other = remember("parse it first"), remember("then parse it again")
    take(
        json.dumps({"memory": one, "entities": ["Ilse Navrat"]}),
        json.dumps({"memory": other, "entities": ["Ilse"]}),
    )

    told = run("graph", "merges", "--likely")

    assert "ilse" in told.out
    assert "→ ilse navrat" in told.out
    assert run("graph", "merges").out == "No concept is merged into another.\n"


def test_where_no_two_concepts_look_alike_nothing_is_proposed(
    run: Run, remember: Callable[..., str], take: Run
) -> None:
    take(json.dumps({"memory": remember("they met"), "entities": ["Tony Gilroy", "Dan Gilroy"]}))

    assert run("graph", "merges", "--likely", "--near").out == "No two concepts look like one.\n"
