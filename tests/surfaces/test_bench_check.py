"""`bearinmind bench check` from the command line: published figures again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind_bench.evaluation import load
from bearinmind_bench.results import Result
from support.bench_sets import measure, small_set, write_set

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty queries, half of them dev and half of them test."""
    return small_set(tmp_path_factory.mktemp("sets") / "harbour", 60)


@pytest.fixture(scope="module")
def measured(folder: Path) -> Result:
    """The product by words alone."""
    return measure(folder, settings={"embedder": "none"})


@pytest.fixture
def published(folder: Path, measured: Result, tmp_path: Path) -> Path:
    """A file with the figures of the product and of a run that it beats."""
    figures = measured.overall
    file = tmp_path / "rows.toml"
    file.write_text(
        f"""
[[condition]]
name = "product"
data = "harbour"
split = "all"
settings = {{ embedder = "none" }}
fingerprint = "{load(folder).fingerprint}"
expected = {{ "ndcg@10" = {figures["ndcg@10"]:.4f}, queries = 60 }}

[[condition]]
name = "silent"
data = "harbour"
split = "all"
settings = {{ budget_bytes = 1, embedder = "none" }}
against = "product"
expected = {{ mrr = 0.0 }}
verdict = "better"
"""
    )
    return file


def test_publishing_writes_what_is_measured_into_the_file(
    run: Run, folder: Path, published: Path
) -> None:
    text = published.read_text()
    published.write_text("# a comment that stays\n" + text.replace("mrr = 0.0", "mrr = 0.9"))
    assert run("bench", "check", published, "--data", folder.parent, "--update").code == 0
    assert published.read_text().startswith("# a comment that stays\n")
    assert run("bench", "check", published, "--data", folder.parent).code == 0


def test_what_is_as_published_passes(run: Run, folder: Path, published: Path) -> None:
    ran = run("bench", "check", published, "--data", folder.parent)
    assert ran.code == 0
    assert ran.out.count("as published") == 2
    assert "better" in ran.out
    only = run("bench", "check", published, "--data", folder.parent, "--only", "silent", "--json")
    names = [row["condition"]["name"] for row in only.json["conditions"]]
    assert names == ["product", "silent"]
    assert only.json["together"]["bearinmind"]["verdict"] == "better"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("queries = 60", "queries = 59", "queries is 60.0000, published 59.0000"),
        ("mrr = 0.0", "mrr = 0.9", "mrr is 0.0000, published 0.9000"),
        ('verdict = "better"', 'verdict = "worse"', "the verdict is 'better', published 'worse'"),
        ('fingerprint = "', 'fingerprint = "00', "the data is another"),
    ],
)
def test_what_differs_from_what_is_published_fails_and_is_named(
    run: Run,
    folder: Path,
    published: Path,
    tmp_path: Path,
    before: str,
    after: str,
    message: str,
) -> None:
    text = published.read_text()
    assert before in text
    published.write_text(text.replace(before, after))
    kept = tmp_path / "kept" / "results.json"
    ran = run("bench", "check", published, "--data", folder.parent, "--results", kept, "--json")
    assert ran.code == 1
    told = json.loads(ran.out)
    rows = told["conditions"]
    assert message in json.dumps([row["differences"] for row in rows])
    assert json.loads(kept.read_text()) == told
    assert rows[0]["result"]["overall"]["queries"] == 60
    assert "rows" not in rows[0]["result"]


def test_missing_data_fails_unless_it_may_be_missing(
    run: Run, published: Path, tmp_path: Path
) -> None:
    ran = run("bench", "check", published, "--data", tmp_path)
    assert ran.code == 1
    assert "the data 'harbour' is not at hand" in ran.out
    assert run("bench", "check", published, "--data", tmp_path, "--missing-ok").code == 0


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["missing.toml"], 3, "there is no file"),
        (["rows.toml", "--only", "nonsense"], 2, "no condition is named so"),
        (["rows.toml", "--results", "/proc/no/such.json"], 5, "cannot be written"),
    ],
)
def test_a_check_that_cannot_be_is_refused(
    run: Run, published: Path, tmp_path: Path, args: list[str], code: int, message: str
) -> None:
    ran = run("bench", "check", *args, "--data", tmp_path)
    assert ran.code == code
    assert message in ran.err


def test_a_set_without_answerable_queries_can_be_checked(run: Run, tmp_path: Path) -> None:
    write_set(
        tmp_path / "none",
        corpus=[{"id": 1, "content": "walrus"}],
        queries=[{"query_id": 1, "text": "seal"}],
    )
    (tmp_path / "rows.toml").write_text(
        '[[condition]]\nname = "x"\ndata = "none"\nsplit = "all"\nexpected = { queries = 0 }\n'
        'settings = { embedder = "none" }\n'
    )
    assert run("bench", "check", tmp_path / "rows.toml", "--data", tmp_path).code == 0
