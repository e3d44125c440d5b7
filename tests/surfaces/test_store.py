from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_storing_prints_the_outcome_and_the_id(run: Run) -> None:
    ran = run("store", "The build server is ci-04.")

    assert ran.code == 0
    assert ran.out.startswith("Stored ")
    assert "The build server is ci-04." in ran.out


def test_storing_the_same_again_says_that_it_is_known(run: Run, remember: Run) -> None:
    id_ = remember("The build server is ci-04.")

    human = run("store", "The build server is ci-04.")
    machine = run("store", "The build server is ci-04.", "--json").json

    assert human.out.startswith(f"Already known {id_}")
    assert machine["outcome"] == "already_known"
    assert machine["memory"]["id"] == id_
    assert human.err == ""


def test_what_is_given_with_a_known_text_is_not_lost_in_silence(run: Run, remember: Run) -> None:
    id_ = remember("The build server is ci-04.")
    tagged = run("store", "The build server is ci-04.", "--tag", "ci", "--trust", "user")
    assert f"Its other fields stay: `bearinmind update {id_}` changes them." in tagged.err
    assert run("get", id_, "--json").json["memory"]["tags"] == []


def test_every_option_reaches_the_memory(run: Run, remember: Run) -> None:
    old = remember("Deploys go out at six.")
    options = {
        "--category": "decision",
        "--importance": "0.9",
        "--created-at": "2026-01-02",
        "--valid-from": "2026-01-03T10:00:00Z",
        "--valid-to": "2036-01-03T10:00:00+02:00",
        "--agent": "coder",
        "--session": "s1",
        "--project": "orders",
        "--source": "https://example.org",
        "--trust": "external",
        "--supersedes": old,
    }
    flat = [item for pair in options.items() for item in pair]
    words = ["--tag", "a,b", "--tag", "c", "--keyword", "release train, rollout"]

    memory = run("store", "Deploys go out at seven.", *flat, *words, "--json").json["memory"]

    assert memory | {"id": "", "updated_at": ""} == {
        "id": "",
        "owner": "local",
        "content": "Deploys go out at seven.",
        "category": "decisions",
        "tags": ["a", "b", "c"],
        "keywords": ["release train", "rollout"],
        "importance": 0.9,
        "sensitive": False,
        "created_at": "2026-01-02T00:00:00Z",
        "updated_at": "",
        "deleted_at": None,
        "valid_from": "2026-01-03T10:00:00Z",
        "valid_to": "2036-01-03T08:00:00Z",
        "provenance": {
            "agent": "coder",
            "session": "s1",
            "project": "orders",
            "source": "https://example.org",
            "trust": "external",
        },
        "version": 1,
    }
    assert (
        run("get", old, "--json").json["state"] == "live"
    )  # external: a claim, until a person decides


@pytest.mark.parametrize("args", [["-"], []])
def test_content_may_be_piped_in(run: Run, args: list[str]) -> None:
    answer = run("store", *args, "--json", stdin="Piped: café\n").json

    assert answer["memory"]["content"] == "Piped: café"


def test_content_may_come_from_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "text.md"
    file.write_bytes(b"\xef\xbb\xbfFrom a file.\r\nTwo lines.\n")

    answer = run("store", "--file", file, "--json").json

    assert answer["memory"]["content"] == "From a file.\nTwo lines."


def test_memories_belong_to_a_user(run: Run, remember: Run) -> None:
    remember("Only mine.")

    others = run("--user", "ann", "list", "--json").json

    assert others["memories"] == []
    assert len(run("list", "--json").json["memories"]) == 1


def test_the_store_is_made_where_the_settings_say(run: Run, at_home: Path) -> None:
    assert run("store", "At home.", store=None).code == 0

    assert (at_home / "data" / "bearinmind" / "memories.db").exists()
