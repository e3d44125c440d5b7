"""How a corpus comes into a store: the product's own import, and what had to be done for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bearinmind import errors
from support.bench_sets import Row, measure, ranked, write_set


def notes(folder: Path, corpus: list[Row]) -> str:
    """What had to be done to store a corpus."""
    queries: list[Row] = [{"query_id": "q", "text": "walrus"}]
    made = write_set(folder, corpus=corpus, queries=queries)
    return "; ".join(measure(made).manifest.adaptations)


def test_long_contents_lift_the_bound_and_say_so(tmp_path: Path) -> None:
    long = "walrus " + "and so on " * 500
    assert "content_limit lifted from 1,400 for 1 longer memories" in notes(
        tmp_path, [{"id": 1, "content": long}, {"id": 2, "content": "walrus"}]
    )
    assert {*ranked(tmp_path, [{"id": 1, "content": long}], {"text": "walrus"})} == {("1",)}


def test_a_plain_corpus_is_stored_as_it_is(tmp_path: Path) -> None:
    assert notes(tmp_path, [{"id": 1, "content": "walrus"}]) == ""


def test_unknown_categories_are_added_and_named(tmp_path: Path) -> None:
    corpus: list[Row] = [
        {"id": 1, "content": "walrus one", "category": "zoo"},
        {"id": 2, "content": "walrus two", "category": "facts"},
        {"id": 3, "content": "walrus three", "category": "animals"},
        {"id": 4, "content": "walrus four", "category": None},
    ]
    assert notes(tmp_path, corpus) == "categories added: zoo, animals"
    assert len(ranked(tmp_path, corpus, {"text": "walrus"})[0]) == 4


@pytest.mark.parametrize("field", ["tags", "expanded_keywords", "keywords"])
@pytest.mark.parametrize("value", ["seal, otter", ["seal", "otter"], "seal,otter,,", [" seal "]])
def test_tags_and_keywords_are_a_list_or_a_text(tmp_path: Path, field: str, value: Any) -> None:
    corpus: list[Row] = [{"id": "m", "content": "walrus", field: value}]
    assert ranked(tmp_path, corpus, {"text": "seal"}) == [("m",)]


def test_too_many_tags_and_keywords_are_left_out_and_counted(tmp_path: Path) -> None:
    told = notes(
        tmp_path,
        [
            {
                "id": 1,
                "content": "walrus",
                "tags": [f"tag{n}" for n in range(100)] + ["x" * 500],
                "expanded_keywords": [f"word{n}" for n in range(1_000)],
            }
        ],
    )
    assert "tags were left out: too long or too many" in told
    assert "keywords were left out: too long or too many" in told


def test_a_long_phrase_becomes_its_words(tmp_path: Path) -> None:
    corpus: list[Row] = [{"id": 1, "content": "x", "keywords": ["walrus " * 60]}]
    assert ranked(tmp_path, corpus, {"text": "walrus"}) == [("1",)]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"content": "  "}, "1 memories were refused: empty_content"),
        ({"content": "a\0b"}, "1 memories were refused: invalid_text"),
        ({"content": "x", "created_at": "9000-01-01"}, "1 memories were refused: invalid_time"),
        ({"content": "walrus"}, "1 memories say the same as another one and were merged"),
    ],
)
def test_what_cannot_be_stored_is_counted_and_said(tmp_path: Path, row: Row, told: str) -> None:
    assert told in notes(tmp_path, [{"id": 1, "content": "walrus"}, {"id": 2} | row])


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": 2, "content": "seal", "supersedes": [2]}, "self_link"),
        ({"id": 2, "content": "walrus", "supersedes": [1]}, "memory_not_found"),  # merged into 1
        ({"id": 2, "content": "seal", "supersedes": [1], "user_id": "eve"}, "memory_not_found"),
    ],
)
def test_a_link_that_cannot_be_kept_is_counted_and_said(
    tmp_path: Path, row: Row, told: str
) -> None:
    said = notes(tmp_path, [{"id": 1, "content": "walrus"}, row])
    assert f"1 supersedes links were left out: {told}" in said


@pytest.mark.parametrize("row", [{"category": "c" * 65}, {"user_id": "u" * 129}])
def test_what_no_setting_allows_is_refused_in_words(tmp_path: Path, row: Row) -> None:
    with pytest.raises(errors.InvalidSetting, match="characters or less"):
        notes(tmp_path, [{"id": 1, "content": "walrus"} | row])


def test_an_unsound_set_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    bad = write_set(
        tmp_path,
        corpus=[{"id": 1, "content": "x"}],
        queries=[{"query_id": "q", "text": "x", "relevant_ids": ["missing"]}],
    )
    with pytest.raises(errors.InvalidData, match="'missing', which is not in the corpus"):
        measure(bad)
