"""`bearinmind bench data`: looking after evaluation sets, and fetching them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bearinmind_bench.evaluation import load
from support.bench_sets import rows_of, small_set, write_set
from support.server_thread import on_thread

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty queries, half of them dev and half of them test."""
    return small_set(tmp_path_factory.mktemp("sets") / "harbour", 60)


# ---- data --------------------------------------------------------------------------------------


def test_a_sound_set_is_said_to_be_sound(run: Run, tmp_path: Path) -> None:
    sound = small_set(tmp_path / "sound", 240)
    assert "nothing is wrong" in run("bench", "data", "validate", sound).out
    assert run("bench", "data", "validate", sound, "--json").json == {"good": True, "problems": []}


def test_everything_that_is_wrong_is_listed(run: Run, tmp_path: Path) -> None:
    corpus, queries = rows_of(10)
    queries[0]["relevant_ids"] = ["gone"]
    queries[1]["query_id"] = queries[2]["query_id"]
    bad = write_set(tmp_path / "bad", corpus=[*corpus, corpus[0]], queries=queries)
    ran = run("bench", "data", "validate", bad)
    assert ran.code == 2
    assert "wrong: query 'q0' judges the memory 'gone', which is not in the corpus" in ran.out
    assert "wrong: the query id 'q2' stands 2 times" in ran.out
    assert "wrong: the memory id 'm0' stands 2 times" in ran.out
    assert "doubtful: " in ran.out


def test_the_fingerprint_and_the_counts_of_a_set(run: Run, folder: Path) -> None:
    fingerprint = load(folder).fingerprint
    assert run("bench", "data", "fingerprint", folder).out.strip() == fingerprint
    assert run("bench", "data", "fingerprint", folder, "--json").json == {
        "fingerprint": fingerprint
    }
    assert run("bench", "data", "stats", folder, "--json").json["memories"] == 120
    assert "dev 30, test 30" in run("bench", "data", "stats", folder).out


@pytest.mark.parametrize("command", ["validate", "fingerprint", "stats"])
def test_what_is_no_set_is_refused(run: Run, tmp_path: Path, command: str) -> None:
    ran = run("bench", "data", command, tmp_path / "nothing", "--json")
    assert ran.code == 2
    assert ran.error["code"] == "invalid_data"


# ---- download ----------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep the terminal for the tests."""


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[str]:
    """A server with a set of the BEIR collection and one that is broken."""
    place = tmp_path / "served"
    place.mkdir()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("tiny/corpus.jsonl", '{"_id": "d", "title": "", "text": "A walrus."}\n')
        archive.writestr("tiny/queries.jsonl", '{"_id": "q", "text": "walrus?"}\n')
        archive.writestr("tiny/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n")
    (place / "tiny.zip").write_bytes(made.getvalue())
    (place / "half.zip").write_bytes(made.getvalue()[: len(made.getvalue()) // 2])
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(place)))
    with on_thread(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


def test_a_set_is_fetched_and_can_be_measured_on(run: Run, publisher: str, tmp_path: Path) -> None:
    out = tmp_path / "sets"
    told = run(
        "bench", "data", "download", "beir/tiny", "--from", publisher, "--out", out, "--json"
    ).json
    assert told["folder"] == str(out / "beir-tiny")
    assert (told["memories"], told["queries"]) == (1, 1)
    assert run("bench", "run", "--data", told["folder"]).code == 0
    again = run("bench", "data", "download", "beir/tiny", "--from", publisher, "--out", out)
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("beir/missing", 1, "cannot be fetched"),
        ("beir/half", 2, "another format than expected"),
        ("nonsense", 2, "there is no set 'nonsense'"),
    ],
)
def test_what_cannot_be_fetched_leaves_nothing_behind(
    run: Run, publisher: str, tmp_path: Path, name: str, code: int, message: str
) -> None:
    out = tmp_path / "sets"
    ran = run("bench", "data", "download", name, "--from", publisher, "--out", out)
    assert ran.code == code
    assert message in ran.err
    assert "hint: " in ran.err
    assert not out.exists() or not [*out.iterdir()]


def test_the_sets_that_can_be_fetched_are_listed(run: Run) -> None:
    listed = run("bench", "data", "download", "list", "--json").json
    assert listed["scifact"]["licence"]
    assert listed["locomo-facts"]["from"].startswith("https://")
    assert "musique-hipporag" in run("bench", "data", "download", "list").out
