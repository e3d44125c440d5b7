"""Runs of the product itself: what is stored, what is asked, and what is written down."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.types import LinkKind
from bearinmind_bench import metrics
from bearinmind_bench.evaluation import load
from bearinmind_bench.results import Result
from bearinmind_bench.runner import Plan, run, run_arms
from support.bench_sets import Row, measure, ranked, small_set, words, write_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty queries, half of them dev and half of them test."""
    return small_set(tmp_path_factory.mktemp("sets") / "harbour")


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return measure(folder)


def without_times(value: Any) -> Any:
    """A result without what no two runs have in common."""
    timed = {
        *("milliseconds", "milliseconds_p50", "latency", "seconds", "memories_per_second"),
        *("created_at", "peak_memory_bytes", "store_bytes"),
    }
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in timed}
    if isinstance(value, list | tuple):
        return [without_times(item) for item in value]
    return value


# ---- what is asked -----------------------------------------------------------------------------


def test_an_answer_never_holds_a_memory_of_another_user(tmp_path: Path) -> None:
    corpus = [
        {"id": f"{user}{number}", "content": f"walrus {user} {number}", "user_id": user}
        for user in ("ada", "ben", 7)
        for number in range(5)
    ]
    queries: list[Row] = [
        {"query_id": user, "text": "walrus", "user_id": user, "relevant_ids": [f"{user}0"]}
        for user in ("ada", "ben", "7")
    ]
    result = measure(write_set(tmp_path, corpus=corpus, queries=queries))
    for row in result.rows:
        assert {*row.ranked} == {f"{row.user}{number}" for number in range(5)}
    assert result.sizes.users == 3
    assert result.faults == ()


def test_the_same_words_of_two_users_are_two_memories(tmp_path: Path) -> None:
    corpus: list[Row] = [
        {"id": user, "content": "the walrus sings", "user_id": user} for user in ("ada", "ben")
    ]
    queries: list[Row] = [{"text": "walrus", "user_id": user} for user in ("ben", "ada")]
    assert ranked(tmp_path, corpus, *queries) == [("ben",), ("ada",)]


def test_a_user_without_memories_gets_none(tmp_path: Path) -> None:
    corpus: list[Row] = [{"id": 1, "content": "walrus", "user_id": "ada"}]
    assert ranked(tmp_path, corpus, {"text": "walrus", "user_id": "eve"}) == [()]


def test_a_moment_is_honoured(tmp_path: Path) -> None:
    corpus: list[Row] = [
        {"id": "early", "content": "walrus early", "created_at": "2025-01-01T00:00:00"},
        {"id": "zoned", "content": "walrus zoned", "created_at": "2025-03-01T00:00:00+02:00"},
        {"id": "late", "content": "walrus late", "created_at": "2026-01-01"},
    ]
    moments = ["2025-02-01", "2025-02-28T21:59:59Z", "2025-02-28T22:00:00+00:00", "2026-02-01"]
    found = ranked(tmp_path, corpus, *({"text": "walrus", "as_of": moment} for moment in moments))
    assert [{*answer} for answer in found] == [
        {"early"},
        {"early"},
        {"early", "zoned"},
        {"early", "zoned", "late"},
    ]


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock shows another hour than that of whoever made the set."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_a_time_without_a_zone_is_the_same_moment_on_every_machine(tmp_path: Path) -> None:
    corpus: list[Row] = [{"id": 1, "content": "walrus", "created_at": "2025-03-01T12:00:00"}]
    moments = ["2025-03-01T11:59:59Z", "2025-03-01T12:00:00Z", "2025-03-01T12:00:00"]
    found = ranked(tmp_path, corpus, *({"text": "walrus", "as_of": moment} for moment in moments))
    assert found == [(), ("1",), ("1",)]


@pytest.mark.parametrize("superseded", [["old"], "old"])
def test_a_newer_memory_stands_in_the_place_of_the_older(tmp_path: Path, superseded: Any) -> None:
    corpus: list[Row] = [
        {"id": "old", "content": "the walrus lives in bay three", "created_at": "2025-01-01"},
        {
            "id": "new",
            "content": "the seal lives in bay four",
            "created_at": "2025-02-01",
            "supersedes": superseded,
        },
    ]
    asked: Row = {"text": "where is the walrus?"}
    assert ranked(tmp_path, corpus, asked) == [("new",)]
    assert ranked(tmp_path, corpus, asked | {"as_of": "2025-01-15"}) == [("old",)]


WALRUS_MOVES: list[Row] = [
    {"id": "old", "content": "the walrus lives in bay three", "created_at": "2025-01-01"},
    {
        "id": "new",
        "content": "the walrus lives in bay four",
        "created_at": "2025-05-01",
        "supersedes": ["old"],
    },
]


def test_links_that_are_withheld_are_not_stored_and_counted(tmp_path: Path) -> None:
    asked = [{"query_id": 1, "text": "where does the walrus live?", "relevant_ids": ["new"]}]
    data = write_set(tmp_path / "set", corpus=WALRUS_MOVES, queries=asked)
    given, withheld = measure(data), measure(data, withhold=frozenset({LinkKind.SUPERSEDES}))

    assert given.rows[0].ranked == ("new",)
    assert {*withheld.rows[0].ranked} == {"old", "new"}
    assert "1 supersedes links were withheld" in withheld.manifest.adaptations


def test_what_is_stale_is_measured_only_where_a_question_says_so(tmp_path: Path) -> None:
    corpus = [{key: row[key] for key in row if key != "supersedes"} for row in WALRUS_MOVES]
    asked = [
        {"query_id": 1, "text": "walrus four", "relevant_ids": ["new"], "stale_ids": ["old"]},
        # Asked about the past, it stands where a question about now would be answered wrongly.
        {
            "query_id": 2,
            "text": "where did the walrus live before?",
            "relevant_ids": ["new"],
            "stale_ids": ["old"],
        },
        {"query_id": 3, "text": "walrus", "relevant_ids": ["old", "new"]},
    ]
    pairs = [{"newer": "new", "older": "old", "label": "outdates", "shape": "one-step"}]
    result = measure(write_set(tmp_path / "set", corpus=corpus, queries=asked, pairs=pairs))

    assert result.overall["queries"] == 3
    assert result.overall["current_first"] == result.overall["stale_above_current"] == 0.5
    assert "current_first" not in result.rows[2].metrics
    assert result.rows[0].stale == ("old",)
    assert result.pairs is not None
    assert (result.pairs.changes_found.pairs, result.pairs.changes_found.share) == (1, 1.0)


def test_equal_scores_are_in_the_order_of_the_corpus(tmp_path: Path) -> None:
    names = words(19)
    corpus: list[Row] = [{"id": name, "content": f"walrus {name}"} for name in names]
    assert ranked(tmp_path, corpus, {"text": "walrus"}) == [tuple(names)]


def test_twenty_memories_are_asked_for(tmp_path: Path) -> None:
    corpus: list[Row] = [{"id": number, "content": f"walrus {number}"} for number in range(70)]
    (answer,) = ranked(tmp_path, corpus, {"text": "walrus"})
    assert len(answer) == metrics.DEPTH == 20


def test_only_the_queries_of_a_split_are_asked(folder: Path) -> None:
    dev, test = measure(folder, "dev"), measure(folder, "test")
    assert [row.split for row in dev.rows] == ["dev"] * 20
    assert not {row.query_id for row in dev.rows} & {row.query_id for row in test.rows}
    assert dev.manifest.split == "dev"
    with pytest.raises(errors.InvalidData, match="'train'"):
        measure(folder, "train")


# ---- the result --------------------------------------------------------------------------------


def test_a_result_survives_its_file(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "result.json"
    result.write(path)
    assert Result.read(path) == result


def test_what_is_no_result_is_refused(tmp_path: Path, result: Result) -> None:
    file = tmp_path / "other.json"
    with pytest.raises(errors.FileMissing):
        Result.read(file)
    newer = result.model_dump_json().replace('"format":1', '"format":2')
    for text in ("", "{", "[]", '{"format": 1}', "\ud800", newer):
        file.write_bytes(text.encode(errors="surrogatepass"))
        with pytest.raises(errors.InvalidData, match=r"other\.json"):
            Result.read(file)
    with pytest.raises(errors.InvalidData):
        Result.read(tmp_path)


def test_the_manifest_says_what_is_needed_to_run_it_again(folder: Path, result: Result) -> None:
    manifest = result.manifest
    assert manifest.fingerprint == load(folder).fingerprint
    assert manifest.data == "harbour"
    assert manifest.revision is None or len(manifest.revision) >= 12
    assert len(manifest.code) == 64
    assert {"python", "sqlite", "numpy", "pystemmer"} <= {*manifest.versions}
    assert {*manifest.seeds} == {"bootstrap", "permutation", "resamples"}
    assert (manifest.retriever, manifest.store, manifest.depth) == ("bearinmind", "sqlite", 20)
    assert manifest.settings == {}
    assert manifest.recipe["legs"] == "lexical, dense, graph"
    assert manifest.recipe["fusion"] == "Calibrated(weights={})"
    assert "importance=0.3" in manifest.recipe["adjustments"]


def test_every_query_has_a_row_with_the_ranks_that_its_legs_gave(
    folder: Path, result: Result
) -> None:
    data = load(folder)
    assert [row.query_id for row in result.rows] == [query.id for query in data.queries]
    for row in result.rows:
        assert row.metrics == metrics.score(row.ranked, row.grades)
        assert {*row.legs["lexical"]} == {*row.ranked}  # it found the relevant ones, too
        assert min(row.legs["lexical"].values()) == 1
        assert 0 < (row.confidence or 0) <= 1
        assert row.milliseconds > 0


def test_the_figures_are_the_means_of_the_rows(result: Result) -> None:
    for name, mean in result.overall.items():
        if name != "queries":
            values = [row.metrics[name] for row in result.rows]
            assert mean == pytest.approx(sum(values) / len(values))
            low, high = result.intervals["overall"][name]
            assert low <= mean <= high
    assert result.overall["queries"] == 40
    assert {name: means["queries"] for name, means in result.strata.items()} == {
        "where": 20,
        "who": 20,
    }
    assert result.unanswerable is None
    assert (result.warnings, result.faults) == ((), ())


def test_what_a_leg_brought_is_counted(result: Result) -> None:
    leg = result.legs["lexical"]
    assert leg.found == leg.alone == leg.first_ten == 40
    assert leg.placed_alone == sum(len(row.ranked[:10]) for row in result.rows)
    assert leg.milliseconds_p50 > 0


def test_sizes_and_times_are_those_of_the_run(folder: Path, result: Result) -> None:
    contents = [record["content"] for record in load(folder).corpus]
    assert result.sizes.memories == len(contents) == 80
    assert result.sizes.content_bytes == sum(map(len, contents))
    assert (result.sizes.store_bytes or 0) > result.sizes.content_bytes
    assert result.latency.p50 <= result.latency.p90 <= result.latency.p99 <= result.latency.max
    assert result.ingest.seconds > 0
    assert (result.ingest.merged, result.ingest.refused) == (0, 0)


def test_the_same_run_gives_the_same_figures(folder: Path, result: Result) -> None:
    again = measure(folder)
    assert without_times(again.model_dump()) == without_times(result.model_dump())


def test_progress_comes_to_all_the_steps(folder: Path) -> None:
    plan = Plan(data=load(folder), split="dev")
    done: list[int] = []
    run(plan, done.append)
    assert sum(done) == plan.steps == 80 + 20


# ---- settings ----------------------------------------------------------------------------------


def test_a_setting_changes_the_recipe_and_is_written_down(folder: Path, result: Result) -> None:
    changed = measure(folder, settings={"lexical": {"b": 0.9}, "fusion": "rrf", "rrf_k": 7})
    assert changed.manifest.settings == {"lexical": {"b": 0.9}, "fusion": "rrf", "rrf_k": 7}
    assert changed.manifest.recipe["fusion"] == "ReciprocalRank(k=7, weights={})"
    assert changed.manifest.recipe != result.manifest.recipe


def test_a_weight_of_the_lexical_leg_reaches_the_ranking(folder: Path, result: Result) -> None:
    changed = measure(folder, settings={"lexical": {"b": 5.0, "adjacent": 0.0}})
    assert [row.ranked for row in changed.rows] != [row.ranked for row in result.rows]


def test_settings_that_write_otherwise_are_measured_as_if_alone(folder: Path) -> None:
    """Neither the concepts nor the vectors that other settings have left are there for them."""
    alone = {"embedder": "none", "extractor": "none"}
    done: list[int] = []
    plan = Plan(data=load(folder))
    *_, beside = run_arms(
        plan, [{"embedder": "none"}, {"embedder": "none", "pool": 9}, alone], done.append
    )
    assert without_times(beside.model_dump()) == without_times(
        measure(folder, settings=alone).model_dump()
    )
    assert sum(done) == 80 + 3 * 40


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"no_such": 1}, "there is no setting 'no_such'"),
        ({"pool": 0}, "pool = 0"),
        ({"fusion": "sum"}, "fusion = 'sum'"),
        ({"lexical": {"bb": 1}}, "lexical names bb, not a lexical weight"),
        ({"lexical": {"b": -1}}, "lexical.b = -1"),
        ({"leg_weights": {"smell": 1}}, "leg_weights names smell, not a leg"),
        ({"leg_weights": {"lexical": 0, "dense": 0}}, "turns every leg off"),
        ({"leg_weights": {"lexical": 0}, "embedder": "none"}, "turns every leg off"),
        ({"user": "eve"}, "a run cannot change 'user'"),
        ({"store": "x.db"}, "a run cannot change 'store'"),
        ({"llm_key": "secret"}, "a run cannot change 'llm_key'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    folder: Path, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(errors.InvalidSetting) as raised:
        measure(folder, settings=settings)
    assert told in raised.value.message
    assert "secret" not in raised.value.message


def test_nothing_of_the_machines_own_configuration_takes_part(
    folder: Path, result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("importance_weight = 1.0\nlimit = 1\nnear_duplicates = 0.5\n")
    monkeypatch.setenv("BEARINMIND_CONFIG", str(file))
    monkeypatch.setenv("BEARINMIND_FUSION", "rrf")
    monkeypatch.setenv("BEARINMIND_USER", "somebody")
    again = measure(folder)
    assert again.manifest.recipe == result.manifest.recipe
    assert [row.ranked for row in again.rows] == [row.ranked for row in result.rows]


def test_an_unknown_store_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(errors.InvalidSetting, match="no kind of store 'oracle'") as raised:
        measure(folder, store="oracle")
    assert "sqlite" in raised.value.hint


def test_a_shallow_pool_still_fills_an_answer(folder: Path, result: Result) -> None:
    shallow = measure(folder, settings={"pool": 1})
    assert [len(row.ranked) for row in shallow.rows] == [len(row.ranked) for row in result.rows]
