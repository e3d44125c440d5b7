"""Every surface does on a server what it does on a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bearinmind.config import store_name
from bearinmind.store.postgres.embedded import EmbeddedServer
from support.bench_sets import small_set

Run = Callable[..., Any]
SECRET = "the wifi password of the Kingfisher room is kelp9salt"  # noqa: S105  made up


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, tmp_path: Path, migrated_database: Callable[[], str]) -> Path | str:
    """The store of a test, in place of the one that all others here have."""
    return tmp_path / "memories.db" if kind == "sqlite" else migrated_database()


@pytest.fixture(autouse=True)
def by_few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that takes no time to load."""
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")


def ids_of(answer: Any) -> list[str]:
    return [hit["memory"]["id"] for hit in answer["hits"]]


def test_a_memory_has_its_whole_life(run: Run, remember: Run, kind: str) -> None:
    id_ = remember("The staging database is db-stage-3.", "--tag", "infra")
    other = remember("Tea is at four.")
    answer = run("recall", "where is staging?", "--trace", "--json").json
    assert ids_of(answer) == [id_]
    assert {leg["leg"] for leg in answer["trace"]["legs"]} == {"lexical", "dense", "graph"}

    run("update", id_, "The staging database is db-stage-4.")
    assert "db-stage-4" in run("recall", "staging").out
    assert len(run("get", id_, "--json").json["earlier"]) == 1
    assert [m["id"] for m in run("list", "--json").json["memories"]] == [other, id_]
    assert run("timeline", id_).code == 0

    run("delete", id_)
    assert ids_of(run("recall", "staging", "--json").json) == []
    run("restore", id_)
    assert ids_of(run("recall", "staging", "--json").json) == [id_]
    run("delete", id_)
    purged = run("purge", id_, "--yes")
    assert "Purged 1 memory." in purged.out
    assert run("get", id_).code == 3
    # A file is overwritten at once; what a server does with its files is said, and is true.
    assert ("overwritten" in purged.err) == (kind == "postgres")
    assert "another process" not in purged.err


def test_links_lead_from_memory_to_memory(run: Run, remember: Run) -> None:
    old, new = remember("The cache is Redis."), remember("The cache is Valkey.")
    run("link", new, "supersedes", old)
    assert ids_of(run("recall", "cache", "--json").json) == [new]
    assert old in run("why", new).out
    run("link", new, "supersedes", old, "--remove")
    assert {*ids_of(run("recall", "cache", "--json").json)} == {old, new}


def test_the_graph_is_built_and_walked(run: Run, remember: Run) -> None:
    owner = remember("Dana Okafor owns the service Kestrel.")
    place = remember("Kestrel is deployed on kestrel-01.internal.")
    assert run("graph", "build").code == 0
    assert "Kestrel" in run("graph", "neighbours", "Dana Okafor").out
    way = run("graph", "path", "Dana Okafor", "kestrel-01.internal").out
    assert owner in way
    assert place in way
    assert "kestrel" in run("graph", "export", "--format", "json").out


def test_secrets_are_kept_and_given_to_their_owner(run: Run, remember: Run, kind: str) -> None:
    id_ = remember(SECRET)
    assert "kelp9salt" not in run("recall", "wifi password", "--trace").out
    assert run("secret", "get", id_).out == f"{SECRET}\n"
    assert [each["action"] for each in run("secret", "audit", "--json").json["entries"]] == ["get"]
    assert run("secret", "rotate").code == 0
    assert run("secret", "get", id_).out == f"{SECRET}\n"
    plain = remember("the gate opens with walrus")
    concealed = run("update", plain, "--sensitive").err
    assert "1 earlier version of it encrypted too" in concealed
    assert ("overwritten in the file" in concealed) == (kind == "sqlite")
    assert ("until they are overwritten" in concealed) == (kind == "postgres")


def test_an_export_of_one_kind_is_an_import_of_the_other(
    run: Run, remember: Run, kind: str, migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    other = migrated_database() if kind == "sqlite" else tmp_path / "other.db"
    ids = [remember(text) for text in ("First.", "Second.", "Third.")]
    run("update", ids[0], "First, but better.")
    run("link", ids[1], "see-also", ids[2])
    run("delete", ids[2])
    assert run("export", "all.jsonl").code == 0
    assert run("import", "all.jsonl", store=other).code == 0
    assert run("export", "again.jsonl", store=other).code == 0
    lines = [
        [json.loads(line) for line in Path(file).read_text().splitlines()]
        for file in ("all.jsonl", "again.jsonl")
    ]
    assert lines[0][1:] == lines[1][1:]  # the first one says when it was exported


def test_files_of_other_programs_are_previewed_and_imported(run: Run, tmp_path: Path) -> None:
    notes = {
        "cache.md": "The cache is Valkey, see [[queue]].",
        "queue.md": f"The queue is RabbitMQ.\n\n{SECRET}",
    }
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text)

    answers = [
        run("import", folder, *more, "--json").json
        for more in (["--dry-run"], [], [], ["--dry-run"])
    ]

    counts = ("stored", "known", "sensitive", "links_stored", "links_known")
    assert [[answer[name] for name in counts] for answer in answers] == [
        *[[2, 0, 1, 1, 0]] * 2,
        *[[0, 2, 0, 0, 1]] * 2,
    ]


def test_work_is_done_told_and_done_again_by_another_model(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.")
    remember("Something else.")
    assert run("work", "--status", "--json").json["worker_running"] is False
    assert run("work").code == 0
    assert run("stats", "--json").json["embedded"] == 2
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "minilm")
    assert run("reembed").code == 0
    assert len(run("reembed", "--status", "--json").json["spaces"]) == 2
    assert "Removed 2 embeddings" in run("reembed", "--drop-old").out


def test_doctor_and_stats_tell_where_it_is_how_large_and_on_what(
    run: Run, remember: Run, kind: str, place: Path | str
) -> None:
    remember("Something.")
    run("work")
    shown = str(store_name(str(place)))
    stats, doctor = run("stats", "--json").json, run("doctor", "--json")
    assert stats["store"] == shown
    assert stats["bytes"] > 10_000
    assert {*stats["versions"]} == ({"postgres", "pgvector"} if kind == "postgres" else set())
    assert doctor.code == 0, doctor.out
    [told] = [each["detail"] for each in doctor.json["checks"] if each["name"] == "store"]
    assert told.startswith(f"{shown}, ")
    for name, version in stats["versions"].items():
        assert f"{name} {version}" in told
        assert f"{name} {version}" in run("stats").out


def test_what_is_asked_is_kept_on_this_machine(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BEARINMIND_CAPTURE_QUERIES", "true")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    remember("Tea is at four.")
    run("recall", "when is tea?")
    [file] = tmp_path.rglob("*.queries.jsonl")
    assert json.loads(file.read_text())["text"] == "when is tea?"
    assert not file.stat().st_mode & 0o077


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
def test_a_benchmark_runs_in_a_database_of_its_own(
    run: Run, remember: Run, place: str, tmp_path: Path
) -> None:
    id_ = remember("This is not a part of the benchmark.")
    folder = small_set(tmp_path / "harbour", 20)
    found = {}
    for store in ("sqlite", place):
        out = tmp_path / "out.json"
        ran = run("bench", "run", "--data", folder, "--store", store, "--json", out)
        assert ran.code == 0, ran.err
        found[store] = json.loads(out.read_text())
    ours, theirs = found[place], found["sqlite"]
    assert ours["manifest"]["store"] == "postgres"
    assert {"postgres", "pgvector"} <= {*ours["manifest"]["versions"]}
    assert ours["sizes"]["store_bytes"] > 1_000_000
    assert ours["overall"]["ndcg@10"] == pytest.approx(theirs["overall"]["ndcg@10"], abs=0.01)
    assert ids_of(run("recall", "benchmark", "--json").json) == [id_]
    with psycopg.connect(place) as connection:
        left = connection.execute(
            "SELECT 1 FROM pg_database WHERE starts_with(datname, 'bearinmind_scratch_')"
        )
        assert left.fetchall() == []


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_the_embedded_server_is_installed_by_who_stores_and_not_by_who_looks(
    run: Run, remember: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    store = f"postgres:{folder}"
    assert "Nothing is stored yet" in run("recall", "tea", store=store).out
    assert f"there is no store at '{store}'" in run("export", store=store).err
    assert "is not there yet" in run("doctor", store=store).out
    assert not folder.exists()
    try:
        id_ = remember("Tea is at four.", store=store)
        assert ids_of(run("recall", "tea", "--json", store=store).json) == [id_]
        assert run("stats", "--json", store=store).json["store"] == store
    finally:
        EmbeddedServer(folder).stop()
    assert ids_of(run("recall", "tea", "--json", store=store).json) == [id_]  # it starts again
    EmbeddedServer(folder).stop()
