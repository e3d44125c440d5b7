"""`bearinmind bench` from the command line, on sets that it has never seen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind_bench.evaluation import load
from bearinmind_bench.results import Result
from support.bench_sets import measure, small_set, write_set

Run = Callable[..., Any]
#: What is tested here is the same without a model, which would take a second to load.
BY_WORDS = ["--set", "embedder=none"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty queries, half of them dev and half of them test."""
    return small_set(tmp_path_factory.mktemp("sets") / "harbour", 60)


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The product by words alone, and with a prior that is too strong."""
    place = tmp_path_factory.mktemp("results")
    by_words = {"embedder": "none"}
    measure(folder, settings=by_words).write(place / "shipped.json")
    measure(folder, settings=by_words | {"importance_weight": 1.0}).write(place / "prior.json")
    return place / "shipped.json", place / "prior.json"


# ---- run ---------------------------------------------------------------------------------------


def test_a_set_with_the_least_that_it_needs_goes_all_the_way(run: Run, tmp_path: Path) -> None:
    minimal = write_set(
        tmp_path / "never seen before",
        corpus=[{"id": 1, "content": "The walrus sings."}, {"id": 2, "content": "The seal naps."}],
        queries=[{"query_id": 1, "text": "who sings?", "relevant_ids": [1]}],
    )
    assert run("bench", "data", "validate", minimal).code == 0
    ran = run("bench", "run", "--data", minimal, "--json", tmp_path / "out.json")
    assert ran.code == 0
    assert "bearinmind on never seen before, split all" in ran.out
    assert "overall" in ran.out
    assert Result.read(tmp_path / "out.json").overall["mrr"] == 1.0


def test_a_result_can_be_printed_alone(run: Run, folder: Path) -> None:
    printed = run("bench", "run", "--data", folder, *BY_WORDS, "--json", "-").json

    assert printed["manifest"]["retriever"] == "bearinmind"
    assert printed["overall"]["queries"] == len(printed["rows"])


def test_a_run_shows_its_figures_and_writes_the_whole_result(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "er" / "out.json"
    ran = run("bench", "run", "--data", folder, *BY_WORDS, "--split", "test", "--json", out)
    result = Result.read(out)
    assert ran.code == 0
    assert f"{result.overall['ndcg@10']:.3f}".lstrip("0") in ran.out
    for stratum in ("overall", "where", "who"):
        assert stratum in ran.out
    assert "recall p50" in ran.out
    assert len(result.rows) == 30
    assert result.manifest.fingerprint == load(folder).fingerprint


def test_a_setting_is_changed_for_one_run(run: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    changes = [*BY_WORDS, "--set", "lexical.b=0.9", "--set", "lexical.k1=1", "--set", "fusion=rrf"]
    assert run("bench", "run", "--data", folder, *changes, "--json", out).code == 0
    manifest = Result.read(out).manifest
    lexical = {"b": 0.9, "k1": 1}
    assert manifest.settings == {"embedder": "none", "lexical": lexical, "fusion": "rrf"}
    assert manifest.recipe["fusion"] == "ReciprocalRank(k=60, weights={})"


def test_the_users_own_configuration_and_store_take_no_part(
    run: Run, folder: Path, tmp_path: Path, at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = ["bench", "run", "--data", folder, *BY_WORDS, "--json"]
    run(*measured, tmp_path / "before.json")
    file = at_home / "config" / "bearinmind" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("importance_weight = 1.0\nfusion = 'rrf'\nnear_duplicates = 0.5\n")
    monkeypatch.setenv("BEARINMIND_LEXICAL", "{b = 3.0}")
    ran = run(*measured, tmp_path / "after.json", store=None)

    assert ran.code == 0
    before, after = Result.read(tmp_path / "before.json"), Result.read(tmp_path / "after.json")
    assert before.overall == after.overall
    assert before.manifest.recipe == after.manifest.recipe
    assert not [*at_home.rglob("*.db")]


def test_what_was_done_to_store_a_corpus_is_told(run: Run, tmp_path: Path) -> None:
    made = write_set(
        tmp_path / "long",
        corpus=[
            {"id": 1, "content": "walrus " * 300},
            {"id": 2, "content": "seal", "category": "z"},
        ],
        queries=[
            {"query_id": 1, "text": "walrus", "relevant_ids": [1]},
            {"query_id": 2, "text": "x"},
        ],
    )
    ran = run("bench", "run", "--data", made, *BY_WORDS)
    assert "note: content_limit lifted from 1,400 for 1 longer memories" in ran.err
    assert "note: categories added: z" in ran.err
    assert "unanswerable: 1 queries, 0% get an answer; told apart 1.000" in ran.out


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--store", "oracle"], 2, "there is no kind of store 'oracle'"),
        (["--split", "train"], 2, "in the split 'train'"),
        (["--set", "pool=0"], 2, "pool = 0"),
        (["--set", "pool"], 2, "'pool' sets nothing"),
        (["--set", "user=eve"], 2, "a run cannot change 'user'"),
        (["--set", "lexical=5", "--set", "pool=3"], 2, "lexical = 5"),
        (["--retriever", "nonsense"], 2, "neither a baseline nor module:Class"),
        (["--retriever", "no_such_module:X"], 2, "cannot be imported"),
        (["--retriever", "fts5-porter", "--set", "pool=9"], 2, "settings are the product's"),
        ([*BY_WORDS, "--json", "/proc/no/such.json"], 5, "cannot be written"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line_and_a_hint(
    run: Run, folder: Path, args: list[str], code: int, message: str
) -> None:
    ran = run("bench", "run", "--data", folder, *args)
    assert ran.code == code
    assert message in ran.err
    assert "hint: " in ran.err


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no corpus.jsonl"),
        ({"corpus": "{}\n", "queries": ""}, "corpus line 1 needs an id and a content"),
        ({"corpus": "{", "queries": ""}, "corpus.jsonl line 1 is not JSON"),
        ({"corpus": "", "queries": ""}, "no query of bad is in the split 'all'"),
        (
            {"corpus": "", "queries": '{"query_id": 1, "text": "?"}'},
            "the corpus is empty",
        ),
    ],
)
def test_bad_data_is_told_in_one_line_and_a_hint(
    run: Run, tmp_path: Path, files: dict[str, Any], message: str
) -> None:
    ran = run("bench", "run", "--data", write_set(tmp_path / "bad", **files))
    assert ran.code == 2
    assert message in ran.err
    assert "hint: " in ran.err


# ---- retrievers --------------------------------------------------------------------------------

MODULE = """
class Newest:
    def __init__(self, corpus):
        self.ids = [record["id"] for record in corpus][::-1]

    def retrieve(self, query, k):
        return [(id_, 1 / rank) for rank, id_ in enumerate(self.ids[:k], start=1)]

class Wrong(Newest):
    def retrieve(self, query, k):
        return [{"id": "m1"}]

class Failing(Newest):
    def retrieve(self, query, k):
        return 1 / 0

class Unmakeable(Newest):
    def __init__(self, corpus):
        raise RuntimeError("no model")
"""


def in_a_process(folder: Path, here: Path, retriever: str) -> subprocess.CompletedProcess[str]:
    """As a user does it: a file in the current folder, which is not on the path by itself."""
    (here / "mine.py").write_text(MODULE)
    command = ["bearinmind", "bench", "run", "--data", str(folder), "--retriever", retriever]
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": search}
    return subprocess.run(
        [*command, "--json", "out.json"],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_class_of_the_current_folder_is_measured(folder: Path, tmp_path: Path) -> None:
    ran = in_a_process(folder, tmp_path, "mine:Newest")
    assert ran.returncode == 0, ran.stderr
    result = Result.read(tmp_path / "out.json")
    assert result.manifest.retriever == "mine:Newest"
    assert result.rows[0].ranked[0] == load(folder).corpus[-1]["id"]
    assert result.rows[0].confidence == 1.0


def test_an_answer_of_another_shape_is_shown(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "wrong_retriever.py").write_text(MODULE)
    ran = run("bench", "run", "--data", folder, "--retriever", "wrong_retriever:Wrong")
    assert ran.code == 2
    assert "wrong_retriever:Wrong gave back {'id': 'm1'}" in ran.err
    assert "pairs of id and score" in ran.err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Failing", "failed on query 'q0': ZeroDivisionError: division by zero"),
        ("Unmakeable", "RuntimeError: no model"),
    ],
)
def test_an_exception_inside_of_a_retriever_is_the_retrievers(
    run: Run,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    told: str,
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "failing_retriever.py").write_text(MODULE)
    ran = run("bench", "run", "--data", folder, "--retriever", f"failing_retriever:{name}")
    assert ran.code == 2
    assert told in ran.err
    assert "This is a bug" not in ran.err


# ---- compare -----------------------------------------------------------------------------------


def test_a_comparison_begins_with_its_verdict(run: Run, results: tuple[Path, Path]) -> None:
    shipped, prior = results
    for pair, verdict in (
        ((shipped, prior), "worse: ndcg@10 -0."),
        ((prior, shipped), "better: ndcg@10 +0."),
        ((prior, prior), "cannot tell: ndcg@10 +0.0000"),
    ):
        ran = run("bench", "compare", *pair, "--metric", "ndcg@10")
        assert ran.code == 0
        assert ran.out.startswith(verdict)


def test_a_comparison_for_machines(run: Run, results: tuple[Path, Path]) -> None:
    told = run("bench", "compare", *results, "--metric", "mrr", "--json").json
    assert told["metric"] == "mrr"
    assert told["verdict"] in ("worse", "cannot tell")
    assert (told["minimum_queries"], told["resamples"]) == (30, 10_000)
    (overall,) = (row for row in told["rows"] if row["stratum"] == "overall")
    assert overall["difference"] == pytest.approx(overall["after"] - overall["before"])
    assert overall["low"] <= overall["difference"] <= overall["high"]
    assert overall["queries"] == 60


def test_what_cannot_be_compared_is_refused(
    run: Run, results: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    shipped, prior = results
    other = tmp_path / "other.json"
    by_words = {"embedder": "none"}
    measure(small_set(tmp_path / "other", 40), settings=by_words).write(other)
    half = tmp_path / "half.json"
    measure(folder, "test", settings=by_words).write(half)
    (tmp_path / "list.json").write_text("[]")

    for args, code, name in (
        ((shipped, other), 4, "incomparable_results"),
        ((shipped, half), 4, "incomparable_results"),
        ((shipped, prior, "--minimum", 61), 2, "too_few_queries"),
        ((shipped, prior, "--metric", "nonsense"), 2, "invalid_data"),
        ((shipped, tmp_path / "missing.json"), 3, "file_missing"),
        ((shipped, tmp_path / "list.json"), 2, "invalid_data"),
    ):
        ran = run("bench", "compare", *args, "--json")
        assert (ran.code, ran.error["code"]) == (code, name)
        assert ran.error["hint"]


# ---- sweep -------------------------------------------------------------------------------------


def test_a_sweep_shows_every_arm_beside_what_is_shipped(run: Run, folder: Path) -> None:
    vary = ["--vary", "importance_weight=0.0,1.0"]
    ran = run("bench", "sweep", "--data", folder, *BY_WORDS, *vary)
    assert ran.code == 0
    assert "as shipped" in ran.out
    assert "importance_weight=1.0" in ran.out
    assert "harbour" in ran.out


def test_a_sweep_for_machines_from_a_file_over_two_sets(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    arms = tmp_path / "arms.toml"
    arms.write_text('[[arm]]\nname = "no prior"\nsettings = { importance_weight = 0.0 }\n')
    twin = small_set(tmp_path / "harbour", 62)  # another set of the same name
    sets = ["--data", folder, "--data", twin]
    told = run("bench", "sweep", *sets, *BY_WORDS, "--arms", arms, "--json").json

    assert [*told] == ["harbour", str(twin)]
    for rows, queries in zip(told.values(), (30, 31), strict=True):
        assert [row["arm"] for row in rows] == ["as shipped", "no prior"]
        assert rows[0]["compared"] is None
        assert rows[1]["compared"]["queries"] == rows[1]["overall"]["queries"] == queries
        assert rows[1]["settings"] == {"importance_weight": 0.0}


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ([], 2, "nothing is varied"),
        (["--vary", "pool=60", "--split", "test"], 2, "the test split"),
        (["--vary", "pool=60", "--split", "all"], 2, "the test split"),
        (["--vary", "nonsense=1"], 2, "there is no setting 'nonsense'"),
        (["--vary", "pool=60", "--metric", "nonsense"], 2, "not a metric"),
        (["--arms", "missing.toml"], 3, "there is no file"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(
    run: Run, folder: Path, args: list[str], code: int, message: str
) -> None:
    ran = run("bench", "sweep", "--data", folder, *args)
    assert ran.code == code
    assert message in ran.err
