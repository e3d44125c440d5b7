"""What people and programs see of a recall that goes through the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bearinmind.surfaces.cli import terminal

Run = Callable[..., Any]

LABELS = "The labels are drawn by Gannet."
GANNET = "Gannet is looked after by Ilse Navrat."
ASKED = "labels"


@pytest.fixture
def led(run: Run, remember: Run, by_words: None) -> list[str]:
    """A memory, and one that it leads to by a name."""
    assert by_words is None
    made = [remember(LABELS), remember(GANNET)]
    assert run("work").code == 0
    return made


def test_a_hit_that_the_graph_found_says_by_what(run: Run, led: list[str]) -> None:
    first, second = run("recall", ASKED, "--all").out.split("\n\n")

    assert led[0] in first
    assert "via" not in first
    assert led[1] in second
    assert second.rstrip().endswith(" · via Gannet")


def test_the_trace_shows_the_leg_and_the_way_in_words(run: Run, led: list[str]) -> None:
    out = " ".join(run("recall", ASKED, "--trace").out.split())

    assert f"seeds {led[0]}, surest 0.6, concepts 1" in out
    assert "Paths id how the graph led there" in out
    assert f'{led[1]} via "Gannet": {led[0]} mentions it, this memory is about it' in out
    assert "lexical graph hit id rank score sure evid rank evid fused" in out
    assert " ms, graph " in out[out.index("time ") :]


def test_what_the_query_names_is_shown_as_it_is_written(run: Run, led: list[str]) -> None:
    out = " ".join(run("recall", "who does ILSE NAVRAT look after?", "--trace").out.split())

    assert 'named "ilse navrat"' in out
    assert led
    remembered = run("store", "Ilse Navrat sits in room four.", "--wait", "--json").json
    id_ = remembered["memory"]["id"]
    out = " ".join(run("recall", "where is ilse navrat?", "--trace").out.split())
    assert f'{id_} the query names "Ilse Navrat", this memory is about it' in out


def test_json_has_the_way_step_by_step(run: Run, led: list[str]) -> None:
    step = {"source": led[0], "concept": "gannet", "role": "subject", "target": led[1]}
    answer = run("recall", ASKED, "--all", "--trace", "--json").json

    assert [hit["path"] for hit in answer["hits"]] == [[], [step]]
    assert answer["trace"]["paths"] == {led[1]: [step]}
    graph = answer["trace"]["legs"][-1]
    assert (graph["leg"], graph["found"], graph["detail"]["seeds"]) == ("graph", 1, [led[0]])
    placing = answer["hits"][1]["placings"]["graph"]
    assert (placing["rank"], placing["score"]) == (1, placing["evidence"])


def test_why_not_tells_the_way(run: Run, led: list[str]) -> None:
    asked = ("recall", ASKED, "--limit", 1, "--why-not", led[1])
    out = " ".join(run(*asked).out.split())
    [_, graph] = run(*asked, "--json").json["positions"]

    assert "graph leg rank 1 of 1 found · sure " in out
    assert f'via "Gannet": {led[0]} mentions it, this memory is about it' in out
    assert graph["path"] == [
        {"source": led[0], "concept": "gannet", "role": "subject", "target": led[1]}
    ]


def test_what_is_not_read_yet_is_said_and_is_no_failure(
    run: Run, remember: Run, led: list[str]
) -> None:
    remember("A late boat.")
    ran = run("recall", ASKED)

    assert ran.code == 0
    assert (
        ran.err == "note: 1 memory is not read for the graph yet; words find everything already\n"
    )
    assert led


def test_before_anything_is_read_nothing_is_said_of_the_graph(
    run: Run, remember: Run, by_words: None
) -> None:
    remember(LABELS)
    ran = run("recall", ASKED)

    assert by_words is None
    assert not ran.err
    assert "off nothing is read for the graph yet" in run("recall", ASKED, "--trace").out
    assert run("recall", ASKED, "--json").json["degraded"] == []


def test_three_legs_fit_a_hundred_columns(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")
    for content in (LABELS, GANNET, "Ilse Navrat sits in room four."):
        remember(content)
    assert run("work").code == 0
    out = run("recall", ASKED, "--trace", "--focus", "facts").out

    assert max(map(len, out.splitlines())) <= 100
    table = out[out.index("Candidates") : out.index("Paths")].splitlines()
    assert table[2].split() == ["lexical", "dense", "graph"]
    assert table[3].count("rank score sure evid") == 2
