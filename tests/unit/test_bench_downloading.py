"""Public sets, fetched from a real server that serves them as their publishers do."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bearinmind import errors
from bearinmind_bench import validation
from bearinmind_bench.download import SOURCES, Fetched, fetch, half, source_of
from bearinmind_bench.evaluation import load
from support.server_thread import on_thread

Files = dict[str, bytes]


class Publisher:
    """A web server with some files."""

    def __init__(self) -> None:
        self.files: Files = {}
        self.cut = 0  # bytes that are promised and not sent
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = publisher.files.get(self.path.removeprefix("/sets/"))
                if self.path.startswith("/moved/"):
                    self.send_response(302)
                    self.send_header("Location", self.path.replace("/moved/", "/sets/"))
                    self.end_headers()
                    return
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write((content or b"")[: len(content or b"") - publisher.cut])

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Keep the terminal for the tests."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/sets"


@pytest.fixture(scope="module")
def server() -> Iterator[Publisher]:
    publisher = Publisher()
    with on_thread(publisher.server):
        yield publisher


@pytest.fixture
def publisher(server: Publisher) -> Publisher:
    server.files, server.cut = {}, 0
    return server


def zipped(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr("scifact/" + name.replace("__", "/").replace("_", "."), text)
    return made.getvalue()


def beir(
    corpus: str = '{"_id": "4983", "title": "Walruses", "text": "They sing.\u2028Loudly."}\n'
    '{"_id": "5836", "title": "", "text": "Seals do not."}\n',
    queries: str = '{"_id": "1", "text": "who sings?", "metadata": {}}\n'
    '{"_id": "9", "text": "of the training split"}\n',
    qrels: str = "query-id\tcorpus-id\tscore\n1\t4983\t2\n1\t5836\t0\n",
) -> bytes:
    return zipped(corpus_jsonl=corpus, queries_jsonl=queries, qrels__test_tsv=qrels)


def locomo() -> bytes:
    sample = {
        "sample_id": "conv-26",
        "conversation": {
            "speaker_a": "Ann",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I saw a walrus."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Where?"},
            ],
            "session_2_date_time": "7:55 am on 9 June, 2023",
            "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "At the harbour."}],
        },
        "observation": {
            "session_1_observation": {"Ann": [["Ann saw a walrus.", "D1:1"]]},
            "session_2_observation": {"Ann": [["It was at the harbour.", ["D2:1", "D1:2"]]]},
        },
        "qa": [
            {"question": "What did Ann see?", "evidence": ["D1:1"], "category": 4},
            {"question": "Where, and what?", "evidence": ["D1:1; D2:1"], "category": 1},
            {"question": "What did Ben see?", "evidence": ["D1:2"], "category": 5},
            {"question": "No such turn?", "evidence": ["D9:9"], "category": 2},
        ],
    }
    return json.dumps([sample, *({**sample, "sample_id": f"c{n}"} for n in range(5))]).encode()


def two_wiki() -> Files:
    corpus = [{"title": "A", "text": "a"}, {"title": "B", "text": "b"}, {"title": "A", "text": "c"}]
    queries = [
        {
            "_id": "q1",
            "question": "A or B?",
            "type": "comparison",
            "supporting_facts": [["A", 0], ["B", 1], ["Z", 0]],
        }
    ]
    return {
        "2wikimultihopqa_corpus.json": json.dumps(corpus).encode(),
        "2wikimultihopqa.json": json.dumps(queries).encode(),
    }


def musique() -> Files:
    corpus = [{"title": "A", "text": "a"}, {"title": "A", "text": "b"}]
    paragraphs = [
        {"title": "A", "paragraph_text": "b", "is_supporting": True},
        {"title": "A", "paragraph_text": "a", "is_supporting": False},
    ]
    queries = [{"id": "2hop__1_2", "question": "b?", "paragraphs": paragraphs}]
    return {
        "musique_corpus.json": json.dumps(corpus).encode(),
        "musique.json": json.dumps(queries).encode(),
    }


def fetched(publisher: Publisher, folder: Path, name: str) -> Fetched:
    return fetch(name, folder, publisher.url)


# ---- what is published -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scifact", "beir/scifact"])
def test_a_set_of_the_beir_collection(publisher: Publisher, tmp_path: Path, name: str) -> None:
    publisher.files = {"scifact.zip": beir()}
    made = fetched(publisher, tmp_path, name)
    data = load(Path(made.folder))

    assert (made.memories, made.queries) == (2, 1)
    assert made.fingerprint == data.fingerprint
    assert data.corpus[0]["content"] == "Walruses\nThey sing.\u2028Loudly."
    assert data.corpus[1]["content"] == "Seals do not."
    assert data.queries[0].grades == {"4983": 2, "5836": 0}
    assert data.queries[0].split == half("1")
    assert Path(made.folder).name == name.replace("/", "-")


def test_locomo_as_turns(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = {"locomo10.json": locomo()}
    data = load(Path(fetched(publisher, tmp_path, "locomo-turns").folder))

    assert [record["content"] for record in data.users["conv-26"]] == [
        "Ann: I saw a walrus.",
        "Ben: Where?",
        "Ann: At the harbour.",
    ]
    assert data.corpus[0]["created_at"] == "2023-05-08T13:56:00"
    queries = [query for query in data.queries if query.user == "conv-26"]
    assert [(q.stratum, q.split, dict(q.grades)) for q in queries] == [
        ("single_hop", "dev", {"0": 1}),
        ("multi_hop", "dev", {"0": 1, "2": 1}),
        ("adversarial", "dev", {}),
    ]
    assert {q.split for q in data.queries if q.user == "c4"} == {"test"}
    assert not [problem for problem in validation.problems(data) if problem.fatal]


def test_locomo_as_facts(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = {"locomo10.json": locomo()}
    data = load(Path(fetched(publisher, tmp_path, "locomo-facts").folder))
    assert [record["content"] for record in data.users["conv-26"]] == [
        "Ann saw a walrus.",
        "It was at the harbour.",
    ]
    assert dict(data.queries[1].grades) == {"0": 1, "1": 1}


def test_sets_as_hipporag_publishes_them(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = two_wiki() | musique()
    wiki = load(Path(fetched(publisher, tmp_path, "2wiki").folder))
    assert [record["content"] for record in wiki.corpus] == ["A\na", "B\nb", "A\nc"]
    assert wiki.queries[0].grades == {"0": 1, "1": 1, "2": 1}
    assert wiki.queries[0].stratum == "comparison"
    hops = load(Path(fetched(publisher, tmp_path, "musique-hipporag").folder))
    assert hops.queries[0].grades == {"1": 1}
    assert hops.queries[0].stratum == "2hop"


def test_a_publisher_may_have_moved(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = {"scifact.zip": beir()}
    moved = publisher.url.replace("/sets", "/moved")
    assert fetch("scifact", tmp_path, moved + "/").memories == 2


def test_halves_are_the_same_for_everybody_and_about_as_large() -> None:
    assert [half(id_) for id_ in ("1", "3", "q1", "conv-26-q0")] == [
        half(id_) for id_ in ("1", "3", "q1", "conv-26-q0")
    ]
    assert half("1") == "test"  # SHA-1 of "1" is 356a...ab, odd
    assert 400 < sum(half(str(number)) == "dev" for number in range(1_000)) < 600


# ---- what goes wrong ---------------------------------------------------------------------------


def left_behind(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("base", ["{}", "http://127.0.0.1:9/x", "nonsense", "ftp://127.0.0.1/x"])
def test_what_cannot_be_had_is_told_with_its_address(
    publisher: Publisher, tmp_path: Path, base: str
) -> None:
    with pytest.raises(errors.DownloadFailed, match=r"scifact\.zip cannot be fetched") as raised:
        fetch("scifact", tmp_path, base.format(publisher.url))
    assert "--from" in raised.value.hint
    assert left_behind(tmp_path) == []


def test_an_answer_that_breaks_off_is_no_answer(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files, publisher.cut = {"scifact.zip": beir()}, 50
    with pytest.raises(errors.DownloadFailed, match="cannot be fetched"):
        fetched(publisher, tmp_path, "scifact")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>not here</html>",
        beir()[: len(beir()) // 2],
        beir()[:60] + b"\0" * 20 + beir()[80:],
        zipped(other_txt="x"),
        beir(corpus='{"_id": 1}\n'),
        beir(corpus="5\n"),
        beir(corpus="{broken\n"),
        beir(queries='{"_id": "1"}\n'),
        beir(qrels="a\tb\n1\t2\n"),
        beir(qrels="query-id\tcorpus-id\tscore\n1\t4983\thigh\n"),
    ],
    ids=range(11),
)
def test_an_archive_of_another_shape_leaves_nothing_behind(
    publisher: Publisher, tmp_path: Path, content: bytes
) -> None:
    publisher.files = {"scifact.zip": content}
    with pytest.raises(errors.InvalidData, match="another format than expected"):
        fetched(publisher, tmp_path, "scifact")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1]",
        '{"a": 1}',
        '[{"sample_id": 1}]',
        '[{"sample_id": 1, "conversation": [], "qa": []}]',
        '[{"sample_id": 1, "conversation": {}, "qa": [5]}]',
        '[{"sample_id": 1, "conversation": {}, "qa": [{"category": 77, "question": "?"}]}]',
    ],
)
def test_json_of_another_shape_leaves_nothing_behind(
    publisher: Publisher, tmp_path: Path, content: str
) -> None:
    publisher.files = {"locomo10.json": content.encode()}
    with pytest.raises(errors.InvalidData, match="what was fetched"):
        fetched(publisher, tmp_path, "locomo-turns")
    assert left_behind(tmp_path) == []


def test_a_folder_that_exists_is_left_alone(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = {"scifact.zip": beir()}
    (tmp_path / "scifact").mkdir()
    (tmp_path / "scifact" / "mine").write_text("x")
    with pytest.raises(errors.InvalidInput, match="exists already"):
        fetched(publisher, tmp_path, "scifact")
    assert left_behind(tmp_path / "scifact") == ["mine"]


def test_a_place_that_cannot_be_written_is_told(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = {"scifact.zip": beir()}
    (tmp_path / "file").write_text("x")
    with pytest.raises(errors.DownloadFailed, match="cannot be made"):
        fetched(publisher, tmp_path / "file", "scifact")


@pytest.mark.parametrize("name", ["nothing", "beir/", "beir/../../etc", "other/scifact", ""])
def test_an_unknown_set_is_refused_and_the_known_ones_are_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidInput, match="there is no set") as raised:
        fetch(name, tmp_path)
    assert "locomo-facts" in raised.value.hint


def test_every_source_says_where_it_is_from_and_its_licence() -> None:
    for source in SOURCES.values():
        assert source.base.startswith("https://")
        assert source.files
        assert source.licence
    assert source_of("beir/nfcorpus").files == ("nfcorpus.zip",)
