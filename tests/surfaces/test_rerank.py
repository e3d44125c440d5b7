"""Reranked answers on the command line, against a real server and with nobody there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.rerank_server import RerankServer, fails, running

Run = Callable[..., Any]

QUERY = "the walrus sings"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RerankServer]:
    """A reranker that the settings name."""
    with running() as server:
        monkeypatch.setenv("BEARINMIND_RERANKER", "tei")
        monkeypatch.setenv("BEARINMIND_RERANKER_URL", server.url)
        monkeypatch.setenv("BEARINMIND_RERANK_SECONDS", "30")
        yield server


@pytest.fixture
def ids(remember: Run) -> list[str]:
    """Three memories, of which the lexical leg and the reranker think differently."""
    contents = ("walrus walrus sings", "now the other walrus sings", "one walrus")
    return [remember(content) for content in contents]


def test_json_has_the_rerank_of_the_answer_and_of_each_hit(
    run: Run, server: RerankServer, ids: list[str]
) -> None:
    answer = run("recall", QUERY, "--json", "--trace").json

    assert [hit["memory"]["id"] for hit in answer["hits"]] == [ids[1], ids[0], ids[2]]
    moved = {hit["memory"]["id"]: hit["reranked"] for hit in answer["hits"]}
    assert {moved[ids[0]]["before"], moved[ids[1]]["before"]} == {1, 2}
    assert (moved[ids[1]]["after"], moved[ids[1]]["score"], moved[ids[1]]["blend"]) == (1, 3, 1)
    trace = answer["trace"]
    assert [item["reranked"]["after"] for item in trace["judged"]] == [1, 2, 3]
    assert trace["rerank"] == {
        "model": f"tei:{server.url}",
        "recipe": "Rerank(depth=20, seconds=30.0, weight=1.0)",
        "sent": 3,
        "withheld": 0,
        "milliseconds": trace["milliseconds"]["rerank"],
        "error": None,
    }


def test_people_see_where_a_hit_was_before_and_what_the_reranker_thought(
    run: Run, server: RerankServer, ids: list[str]
) -> None:
    out = run("recall", QUERY, "--trace").out

    assert "reranked from " in out
    table = out.partition("\nRerank")[2].partition("rerank  ")[0]
    assert sorted(ids, key=table.index) == [ids[1], ids[0], ids[2]]
    assert f"tei:{server.url} · 3 sent · " in table
    assert "rerank       Rerank(depth=20, seconds=30.0, weight=1.0)" in out


def test_without_a_reranker_nothing_speaks_of_one(run: Run, ids: list[str]) -> None:
    assert "rerank" not in run("recall", QUERY, "--trace").out.lower()
    assert run("recall", QUERY, "--json", "--trace").json["trace"]["rerank"] is None


def test_a_failing_reranker_is_said_and_the_answer_still_comes(
    run: Run, server: RerankServer, ids: list[str]
) -> None:
    server.script = [fails(401, "no such key")] * 3

    ran = run("recall", QUERY, "--trace")
    answer = run("recall", QUERY, "--json").json

    assert ran.code == 0
    assert "degraded: rerank failed: reranker_failure: tei at " in ran.err
    assert "answered 401 Unauthorized: no such key" in ran.out
    assert len(answer["hits"]) == 3
    assert len(answer["degraded"]) == 1


def test_a_reranker_that_is_wrongly_set_is_an_error_with_the_remedy(
    run: Run, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_RERANKER", "tei")

    ran = run("recall", QUERY, "--json")

    assert ran.error["code"] == "invalid_setting"
    assert "needs reranker_url" in ran.error["message"]


def test_the_key_of_a_reranker_is_never_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEARINMIND_RERANKER_KEY", "sk-very-secret-123")

    shown = run("config").out + run("config", "--json").out

    assert "reranker_key" in shown
    assert "sk-very-secret-123" not in shown
