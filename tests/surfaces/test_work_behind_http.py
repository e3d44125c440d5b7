"""Background work with a model behind HTTP: a real server that refuses, fails and recovers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.embedding_server import EmbeddingServer, fails, serving

Run = Callable[..., Any]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with serving() as made:
        monkeypatch.setenv("BEARINMIND_EMBEDDER", "http:small")
        monkeypatch.setenv("BEARINMIND_EMBEDDER_URL", made.url)
        yield made


def checks(run: Run) -> dict[str, Any]:
    return {check["name"]: check for check in json.loads(run("doctor", "--json").out)["checks"]}


def test_one_refused_text_is_a_dead_letter_and_the_others_are_embedded(
    run: Run, remember: Run, server: EmbeddingServer
) -> None:
    server.refuses = lambda text: "poison" in text
    for n in range(10):
        remember(f"Memory number {n}.")
    remember("This is poison.")

    ran = run("work")

    assert ran.code == 1
    assert "Embedded 10 memories." in ran.out
    assert "1 job was given up" in ran.out
    assert "cannot embed" in ran.out
    assert "cannot embed" in run("work", "--status").out
    dead = checks(run)["work"]
    assert not dead["good"]
    assert "cannot embed" in dead["detail"]
    assert "bearinmind work --retry-dead" in dead["remedy"]

    server.refuses = lambda _: False
    again = run("work", "--retry-dead", "--json").json

    assert (again["revived"], again["finished"], again["given_up"]) == (1, 1, 0)
    assert checks(run)["work"]["good"]
    assert run("stats", "--json").json["embedded"] == 11


def test_a_server_that_fails_is_tried_again_later(
    run: Run, remember: Run, server: EmbeddingServer
) -> None:
    remember("Memory number one.", "--wait")
    server.always = fails(429, Retry_After="3600")
    stored = run("store", "Memory number two.", "--wait")
    after = run("work", "--once")

    assert stored.code == after.code == 0  # it is stored, and found by its words
    assert "not everything is embedded: 1 wait" in stored.err
    assert "2 jobs wait, the next until" in after.out
    assert "1 memory to embed, 1 to compare" in after.out
    assert not checks(run)["background"]["good"]
    assert run("stats", "--json").json["embedded"] == 1


def test_a_wrong_key_costs_no_memory_its_embedding(
    run: Run, remember: Run, server: EmbeddingServer
) -> None:
    server.dimensions = 8
    remember("Memory number one.", "--wait")
    for n in range(5):
        remember(f"Another memory, {n}.")
    server.always = fails(401, "no such key")

    ran = run("work", "--once", "--json").json

    # What is not embedded yet is not compared either.
    assert (ran["by_kind"], ran["postponed"], ran["given_up"]) == ({"extract": 5}, 10, 0)
    assert "401" in ran["last_error"]


def test_doctor_does_not_send_people_to_doctor(run: Run, server: EmbeddingServer) -> None:
    server.always = fails(404, "no such model")

    unwell = checks(run)["embedder"]

    assert not unwell["good"]
    assert "404" in unwell["detail"]
    assert "bearinmind doctor" not in unwell["remedy"]
    assert "bearinmind config" in unwell["remedy"]
