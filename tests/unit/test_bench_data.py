"""Evaluation sets: what is read, what it means, and what is wrong with it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind import errors
from bearinmind_bench import validation
from bearinmind_bench.evaluation import EvaluationSet, load
from support.bench_sets import Row, small_set, write_set

CORPUS: list[Row] = [{"id": id_, "content": f"content of {id_}"} for id_ in "abc"]
QUERY: Row = {"query_id": "q", "text": "what?"}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a set; a corpus of three memories and one query unless others are given."""

    def make(**files: Any) -> Path:
        plain = {"corpus": CORPUS, "queries": [QUERY]}
        return write_set(tmp_path / "set", **(plain | files))

    return make


def grades(data: EvaluationSet, query: int = 0) -> dict[str, int]:
    return dict(data.queries[query].grades)


def fatal(data: EvaluationSet) -> list[str]:
    return [problem.text for problem in validation.problems(data) if problem.fatal]


def doubtful(data: EvaluationSet) -> str:
    return "\n".join(p.text for p in validation.problems(data) if not p.fatal)


# ---- files -------------------------------------------------------------------------------------


def test_compressed_and_plain_are_the_same_set(tmp_path: Path) -> None:
    files: dict[str, Any] = {"corpus": CORPUS, "queries": [QUERY | {"relevant_ids": ["a"]}]}
    plain = load(write_set(tmp_path / "one" / "set", **files))
    packed = load(write_set(tmp_path / "two" / "set", compress=True, **files))
    assert plain == packed
    assert len(plain.fingerprint) == 64


def test_the_fingerprint_is_that_of_the_content_and_not_of_blank_lines(write: Write) -> None:
    first = load(write(corpus='{"id": 1, "content": "x"}\n')).fingerprint
    assert load(write(corpus='\n{"id": 1, "content": "x"}\r\n\n')).fingerprint == first
    assert load(write(corpus='{"id": 1, "content": "y"}\n')).fingerprint != first


def test_the_fingerprint_tells_the_files_apart(tmp_path: Path) -> None:
    """The same line as a judgement or as an unanswerable query is not the same set."""
    row: Row = {"query_id": "r", "text": "?", "relevant_ids": []}
    files: dict[str, Any] = {"corpus": CORPUS, "queries": [QUERY]}
    one = load(write_set(tmp_path / "one", **files, qrels=[row]))
    two = load(write_set(tmp_path / "two", **files, queries_unanswerable=[row]))
    assert one.fingerprint != two.fingerprint


def test_ids_may_be_numbers_or_text(write: Write) -> None:
    data = load(
        write(
            corpus=[{"id": 1, "content": "x"}, {"id": 0, "content": "y"}],
            queries=[{"query_id": 7, "text": "?", "relevant_ids": ["1", 0]}],
        )
    )
    assert [record["id"] for record in data.corpus] == ["1", "0"]
    assert data.queries[0].id == "7"
    assert grades(data) == {"1": 1, "0": 1}
    assert fatal(data) == []


def test_minimal_fields_are_enough(write: Write) -> None:
    query = load(write()).queries[0]
    assert (query.user, query.split, query.as_of, query.relevant) == ("local", None, None, {})
    assert query.stratum == "all queries"


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    folder = write_set(tmp_path, corpus=CORPUS, queries=[QUERY])
    file = folder / "corpus.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert len(load(folder).corpus) == 3


def test_a_folder_without_a_corpus_inside_a_set_is_a_later_version_of_it(write: Write) -> None:
    folder = write(qrels=[{"query_id": "q", "grades": {"a": 1, "b": 0}}])
    first = load(folder)
    later = write_set(
        folder / "version-2",
        queries=[{"query_id": "r", "text": "and?"}],
        qrels=[{"query_id": "q", "grades": {"b": 2}}, {"query_id": "r", "grades": {"c": 3}}],
    )

    data = load(later)

    assert data.name == "set-version-2"
    assert data.corpus == first.corpus
    assert [dict(query.grades) for query in data.queries] == [{"a": 1, "b": 2}, {"c": 3}]
    assert load(folder) == first != data


@pytest.mark.parametrize("name", ["corpus", "queries"])
def test_a_missing_file_is_named(write: Write, name: str) -> None:
    folder = write()
    (folder / f"{name}.jsonl").unlink()
    with pytest.raises(errors.InvalidData, match=f"has no {name}.jsonl"):
        load(folder)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for path in (tmp_path / "missing", file):
        with pytest.raises(errors.InvalidData, match="is not a folder"):
            load(path)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"corpus": '{"id": 1, "content": "x"}\n\n{bad\n'}, "corpus.jsonl line 3 is not JSON"),
        ({"queries": "[1, 2]\n"}, "queries.jsonl line 1 is not a JSON object"),
        ({"queries": '{"query_id": "q", "text": "?"}\n7'}, "queries.jsonl line 2 is not a JSON"),
        ({"qrels": "{} {}\n"}, "qrels.jsonl line 1 is not JSON"),
        ({"corpus": [{"id": "a"}]}, "corpus line 1 needs an id and a content"),
        ({"corpus": [{"content": "a"}]}, "corpus line 1 needs an id and a content"),
        ({"corpus": [{"id": "", "content": "a"}]}, "corpus line 1 needs an id"),
        ({"corpus": [*CORPUS, {"id": "a", "content": 5}]}, "corpus line 4 needs an id"),
        ({"corpus": [{"id": "a", "content": "x\ud800"}]}, "corpus line 1 holds half a character"),
        ({"queries": [QUERY, {"query_id": "r"}]}, "queries line 2 needs a query_id and a text"),
        ({"queries": [{"text": "?"}]}, "queries line 1 needs a query_id and a text"),
        ({"queries": [QUERY | {"as_of": "soon"}]}, "'soon' is not a time in ISO 8601"),
        ({"qrels": [{"relevant_ids": ["a"]}]}, "qrels line 1 has no query_id"),
    ],
)
def test_a_row_that_cannot_be_understood_is_named_by_file_and_line(
    write: Write, files: dict[str, Any], told: str
) -> None:
    with pytest.raises(errors.InvalidData) as raised:
        load(write(**files))
    assert told in raised.value.message


def test_bytes_that_are_no_text_are_named_by_line(write: Write) -> None:
    folder = write()
    (folder / "corpus.jsonl").write_bytes(
        b'{"id": 1, "content": "x"}\n{"id": 2, "content": "\xff"}'
    )
    with pytest.raises(errors.InvalidData, match=r"corpus.jsonl line 2 is not JSON"):
        load(folder)


def test_a_damaged_archive_is_refused(write: Write) -> None:
    folder = write()
    (folder / "corpus.jsonl").unlink()
    whole = gzip.compress(b"".join(b'{"id": %d, "content": "x%d"}\n' % (n, n) for n in range(900)))
    for damaged in (whole[: len(whole) // 2], b"not gzip", whole[:200] + b"\0" * 90 + whole[290:]):
        (folder / "corpus.jsonl.gz").write_bytes(damaged)
        with pytest.raises(errors.InvalidData, match=r"corpus\.jsonl\.gz"):
            load(folder)


# ---- judgements --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"relevant_ids": ["a", "b"]}, {"a": 1, "b": 1}),
        ({"relevant_ids": ["a", "b"], "grades": [3, 1]}, {"a": 3, "b": 1}),
        ({"relevant_ids": ["a", "b"], "grades": [2.0, 0]}, {"a": 2, "b": 0}),
        ({"relevant_ids": ["a"], "grades": {"a": 2, "c": 0}}, {"a": 2, "c": 0}),
        ({"grades": {"b": 1}}, {"b": 1}),
        ({"relevant_ids": [], "grades": []}, {}),
        ({"relevant_ids": None, "grades": None}, {}),
    ],
)
@pytest.mark.parametrize("file", ["queries", "qrels"])
def test_grades_are_a_list_or_a_table(
    write: Write, row: Row, expected: dict[str, int], file: str
) -> None:
    files = (
        {"queries": [QUERY | row]} if file == "queries" else {"qrels": [{"query_id": "q"} | row]}
    )
    assert grades(load(write(**files))) == expected


@pytest.mark.parametrize("name", ["memory_id", "corpus_id", "doc_id", "id"])
@pytest.mark.parametrize("grade", ["grade", "relevance", "score"])
def test_judgements_may_stand_in_a_row_each(write: Write, name: str, grade: str) -> None:
    rows = [{"query_id": "q", name: "a", grade: 2}, {"query_id": "q", name: "b", grade: 0}]
    data = load(write(qrels=[*rows, {"query_id": "q", name: "c"}]))
    assert grades(data) == {"a": 2, "b": 0, "c": 1}
    assert data.queries[0].relevant == {"a": 2, "c": 1}
    assert data.top_grade == 2


def test_an_id_of_the_row_itself_is_no_judgement(write: Write) -> None:
    data = load(
        write(
            queries=[QUERY | {"id": "b", "score": 3, "relevant_ids": ["a"]}],
            qrels=[{"id": 17, "query_id": "q", "memory_id": "c", "grade": 1}],
        )
    )
    assert grades(data) == {"c": 1}
    assert grades(load(write(queries=[QUERY | {"id": "b"}], qrels=[]))) == {}


def test_qrels_are_authoritative(write: Write) -> None:
    queries = [
        QUERY | {"relevant_ids": ["a"]},
        {"query_id": "r", "text": "?", "relevant_ids": ["b"]},
    ]
    data = load(write(queries=queries, qrels=[{"query_id": "q", "relevant_ids": ["c"]}]))
    assert grades(data, 0) == {"c": 1}
    assert grades(data, 1) == {"b": 1}  # not judged there: its own word counts


def test_qrels_may_say_that_nothing_is_relevant(write: Write) -> None:
    queries = [QUERY | {"relevant_ids": ["a"]}]
    data = load(write(queries=queries, qrels=[{"query_id": "q", "relevant_ids": []}]))
    assert data.queries[0].relevant == {}


def test_unanswerable_queries_may_have_a_file_of_their_own(write: Write) -> None:
    data = load(
        write(
            queries=[QUERY | {"relevant_ids": ["a"]}],
            queries_unanswerable=[{"query_id": "u", "text": "who?", "split": "dev"}],
        )
    )
    assert [(query.id, bool(query.relevant)) for query in data.queries] == [
        ("q", True),
        ("u", False),
    ]
    assert validation.statistics(data)["unanswerable"] == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"relevant_ids": ["a", "b"], "grades": [1]}, "1 grades for 2 relevant_ids"),
        ({"relevant_ids": ["a"], "grades": [1.5]}, "the grade 1.5 is not a whole number"),
        ({"relevant_ids": ["a"], "grades": ["high"]}, "the grade 'high' is not a whole number"),
        ({"relevant_ids": ["a"], "grades": [True]}, "the grade True is not a whole number"),
        ({"grades": {"a": float("nan")}}, "the grade nan is not a whole number"),
        ({"grades": {"a": float("inf")}}, "the grade inf is not a whole number"),
        ({"grades": {"a": None}}, "the grade None is not a whole number"),
        ({"relevant_ids": "a"}, "relevant_ids is 'a', not a list"),
        ({"relevant_ids": 5}, "relevant_ids is 5, not a list"),
        ({"relevant_ids": ["a"], "grades": 2}, "grades is 2, not a list"),
    ],
)
def test_a_judgement_that_cannot_be_understood_is_named(write: Write, row: Row, told: str) -> None:
    with pytest.raises(errors.InvalidData) as raised:
        load(write(queries=[QUERY | row]))
    assert f"queries line 1: {told}" in raised.value.message
    with pytest.raises(errors.InvalidData, match="qrels line 2"):
        load(write(queries=[QUERY], qrels=[{"query_id": "q"}, {"query_id": "q"} | row]))


# ---- splits ------------------------------------------------------------------------------------


def test_a_split_has_its_own_queries(tmp_path: Path) -> None:
    data = load(small_set(tmp_path, 10))
    assert len(data.of_split("dev")) == len(data.of_split("test")) == 5
    assert len(data.of_split("all")) == 10
    with pytest.raises(errors.InvalidData, match="in the split 'train'") as raised:
        data.of_split("train")
    assert "dev, test" in raised.value.hint


def test_times_of_queries_are_read_with_and_without_a_zone(write: Write) -> None:
    queries = [
        QUERY | {"query_id": number, "as_of": text}
        for number, text in enumerate(["2025-06-01", "2025-06-01T02:00:00+02:00"])
    ]
    plain, zoned = (query.as_of for query in load(write(queries=queries)).queries)
    assert plain == datetime(2025, 6, 1)  # noqa: DTZ001  the zone is added where it is asked
    assert zoned == datetime(2025, 6, 1, tzinfo=UTC)


# ---- problems ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"corpus": ""}, "the corpus is empty"),
        ({"corpus": [*CORPUS, CORPUS[0]]}, "the memory id 'a' stands 2 times"),
        (
            {"corpus": [{"id": 1, "content": "x"}, {"id": "1", "content": "y"}]},
            "'1' stands 2 times",
        ),
        ({"queries": [QUERY, QUERY]}, "the query id 'q' stands 2 times"),
        (
            {"queries": [QUERY | {"relevant_ids": ["a", "zz"]}]},
            "query 'q' judges the memory 'zz', which is not in the corpus",
        ),
        (
            {"qrels": [{"query_id": "q", "grades": {"gone": 0}}]},
            "query 'q' judges the memory 'gone', which is not in the corpus",
        ),
        (
            {"corpus": [{"id": "n", "content": "x", "supersedes": ["old"]}]},
            "memory 'n' supersedes 'old', which is not in the corpus",
        ),
        (
            {"corpus": [{"id": "n", "content": "x", "supersedes": 5}]},
            "memory 'n' supersedes '5', which is not in the corpus",
        ),
        (
            {"corpus": [{"id": "n", "content": "x", "created_at": "today"}]},
            "memory 'n': 'today' is not a time",
        ),
        ({"queries": [QUERY | {"text": " \t"}]}, "query 'q' is empty"),
        ({"queries": [QUERY | {"grades": {"a": -1}}]}, "query 'q' has a grade below 0"),
        ({"queries": [QUERY | {"stratum": "overall"}]}, "query 'q' has the stratum 'overall'"),
        *(
            (
                {"corpus": [{"id": "n", "content": "x", "importance": value}]},
                f"memory 'n' has the importance {value!r}",
            )
            for value in ("high", 7, -0.1, [1], True, float("nan"))
        ),
    ],
)
def test_what_makes_figures_wrong_is_fatal(write: Write, files: dict[str, Any], told: str) -> None:
    data = load(write(**files))
    assert told in "\n".join(fatal(data))
    with pytest.raises(errors.InvalidData, match="cannot be measured on"):
        validation.refuse_unsound(data)


def test_an_error_names_a_few_problems_and_counts_the_others(write: Write) -> None:
    data = load(write(queries=[QUERY | {"relevant_ids": [f"x{n}" for n in range(9)]}]))
    with pytest.raises(errors.InvalidData, match="and 6 more"):
        validation.refuse_unsound(data)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"queries": [QUERY | {"relevant_ids": ["a"]}]}, "all queries has 1 answerable queries"),
        ({}, "importance is the same everywhere"),
        ({"queries": [QUERY | {"user_id": "ben"}]}, "the user 'ben' asks and has no memories"),
        (
            {"queries": [QUERY | {"user_id": "ben", "relevant_ids": ["a"]}]},
            "query 'q' of 'ben' needs 'a' of another user",
        ),
        ({"qrels": [{"query_id": "z", "relevant_ids": ["a"]}]}, "1 judged queries do not exist"),
        (
            {"corpus": [*CORPUS, {"id": "d", "content": "Content  of a"}]},
            "1 memories say the same as another one",
        ),
        (
            {
                "queries": [
                    QUERY | {"split": "dev"},
                    {"query_id": "r", "text": "WHAT?", "split": "test"},
                ]
            },
            "1 questions stand in more than one split",
        ),
    ],
)
def test_what_an_author_should_know_is_told_and_not_fatal(
    write: Write, files: dict[str, Any], told: str
) -> None:
    data = load(write(**files))
    assert told in doubtful(data)
    assert fatal(data) == []
    validation.refuse_unsound(data)


def test_a_sound_set_has_no_problems(tmp_path: Path) -> None:
    assert validation.problems(load(small_set(tmp_path, 240))) == []


def test_statistics_count_what_is_there(tmp_path: Path) -> None:
    counted = validation.statistics(load(small_set(tmp_path / "mine", 10)))
    assert counted["name"] == "mine"
    assert (counted["memories"], counted["queries"], counted["users"]) == (20, 10, 1)
    assert counted["splits"] == {"dev": 5, "test": 5}
    assert counted["strata"] == {"where": 5, "who": 5}
    assert counted["relevant_per_query"] == 1.0


def test_statistics_of_nothing_are_no_problem(write: Write) -> None:
    assert validation.statistics(load(write(corpus="", queries="")))["memories"] == 0
