"""Sweeps: many settings on development queries, and never on those that are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bearinmind import config, errors
from bearinmind_bench.evaluation import load
from bearinmind_bench.inference import Verdict
from bearinmind_bench.sweep import SHIPPED, Arm, arms_of, assignments, read_arms, sweep
from support.bench_sets import rows_of, small_set, write_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty development queries and forty for the report."""
    return small_set(tmp_path_factory.mktemp("set"), 80)


# ---- arms --------------------------------------------------------------------------------------


def settings_of(arms: list[Arm]) -> list[dict[str, Any]]:
    return [dict(arm.settings) for arm in arms]


def test_one_setting_is_varied_at_a_time() -> None:
    arms = arms_of(["lexical.b=0.3,0.5", "pool=20"])
    assert settings_of(arms) == [{"lexical": {"b": 0.3}}, {"lexical": {"b": 0.5}}, {"pool": 20}]
    assert [arm.name for arm in arms] == ["lexical.b=0.3", "lexical.b=0.5", "pool=20"]


def test_a_grid_has_every_combination() -> None:
    arms = arms_of(["lexical.b=0.3,0.5", "lexical.k1=1,2", "fusion=rrf"], grid=True)
    assert settings_of(arms) == [
        {"lexical": {"b": b, "k1": k1}, "fusion": "rrf"} for b in (0.3, 0.5) for k1 in (1, 2)
    ]
    assert arms[0].name == "lexical.b=0.3, lexical.k1=1, fusion=rrf"


def test_commas_inside_of_a_table_or_list_belong_to_it() -> None:
    arms = arms_of(["lexical={b=0.3,k1=1},{b=0.5}", 'categories=["x","y"],["z"]'])
    assert settings_of(arms) == [
        {"lexical": {"b": 0.3, "k1": 1}},
        {"lexical": {"b": 0.5}},
        {"categories": ["x", "y"]},
        {"categories": ["z"]},
    ]


@pytest.mark.parametrize("text", ["pool", "=5", " = 5"])
def test_what_varies_nothing_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidSetting, match="sets nothing"):
        arms_of([text])


def test_arms_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "arms.toml"
    file.write_text(
        '[[arm]]\nname = "deep"\nsettings = { pool = 200 }\n'
        '[[arm]]\nname = "short"\nsettings = { lexical = { b = 0.9 } }\n'
    )
    assert read_arms(file) == [
        Arm(name="deep", settings={"pool": 200}),
        Arm(name="short", settings={"lexical": {"b": 0.9}}),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "[[arm]]\nname='x'\n", "arm = 5", "[arm]\nname='x'\n", "[[arm]]\nsettings={}", "[[["],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "arms.toml"
    file.write_text(text)
    with pytest.raises(errors.InvalidData, match=r"arms\.toml"):
        read_arms(file)
    with pytest.raises(errors.FileMissing):
        read_arms(tmp_path / "missing.toml")


# ---- assignments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["pool=100"], {"pool": 100}),
        ([" pool = 100 "], {"pool": 100}),
        (["fusion=rrf"], {"fusion": "rrf"}),
        (["importance_weight=0.0"], {"importance_weight": 0.0}),
        (["capture_queries=true"], {"capture_queries": True}),
        (["lexical.b=0.9", "lexical.k1=2"], {"lexical": {"b": 0.9, "k1": 2}}),
        (["lexical={b=0.9}", "lexical.k1=2"], {"lexical": {"b": 0.9, "k1": 2}}),
        (["lexical=5", "lexical.k1=2"], {"lexical": {"k1": 2}}),
        (["llm_model=a=b"], {"llm_model": "a=b"}),
        (["user="], {"user": ""}),
        ([], {}),
    ],
)
def test_an_assignment_is_read_as_toml_would(texts: list[str], expected: dict[str, Any]) -> None:
    assert assignments(texts) == expected


def test_checked_values_come_from_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEARINMIND_POOL", "77")
    assert config.checked({"limit": 3}).pool == 50
    with pytest.raises(errors.InvalidSetting, match=r"limit = 0 \(from option\)"):
        config.checked({"limit": 0})


# ---- sweeps ------------------------------------------------------------------------------------


def test_every_arm_stands_beside_what_is_shipped(folder: Path) -> None:
    arms = arms_of(["importance_weight=0.3,1.0"])
    shipped, same, worse = sweep(load(folder), arms)

    assert shipped.arm.name == SHIPPED
    assert shipped.compared is None
    assert same.result.overall == shipped.result.overall
    assert same.compared is not None
    assert same.compared.verdict is Verdict.CANNOT_TELL
    assert worse.compared is not None
    assert worse.compared.difference.mean < 0
    assert worse.compared.difference.before == pytest.approx(shipped.result.overall["ndcg@10"])
    assert worse.result.manifest.settings == {"importance_weight": 1.0}


def test_arms_are_corrected_for_their_number(folder: Path) -> None:
    one = sweep(load(folder), arms_of(["importance_weight=1.0"]))[1].compared
    many = sweep(load(folder), arms_of(["importance_weight=1.0", "pool=50,51,52"]))[1].compared
    assert one is not None
    assert many is not None
    assert many.difference == one.difference
    assert many.corrected_p == pytest.approx(min(1.0, 4 * one.corrected_p))


def test_only_development_queries_are_asked(folder: Path) -> None:
    for swept in sweep(load(folder), arms_of(["pool=60"])):
        assert {row.split for row in swept.result.rows} == {"dev"}


@pytest.mark.parametrize("split", ["test", "all"])
def test_the_test_split_is_refused_under_any_name(folder: Path, split: str) -> None:
    with pytest.raises(errors.InvalidInput, match="test split") as raised:
        sweep(load(folder), arms_of(["pool=60"]), split=split)
    assert "Sweep on dev" in raised.value.hint


def test_a_set_without_splits_is_swept_whole(tmp_path: Path) -> None:
    corpus, queries = rows_of(30)
    plain = [{key: value for key, value in row.items() if key != "split"} for row in queries]
    data = load(write_set(tmp_path, corpus=corpus, queries=plain))
    for split in ("dev", "all"):
        swept = sweep(data, arms_of(["pool=60"]), split=split)
        assert swept[0].result.overall["queries"] == 30


def test_a_sweep_on_too_few_queries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.TooFewQueries, match="29 answerable"):
        sweep(load(small_set(tmp_path, 58)), arms_of(["pool=60"]))


def test_a_bad_arm_is_refused_before_anything_is_measured(folder: Path) -> None:
    done: list[int] = []
    with pytest.raises(errors.InvalidSetting, match="pool = 0"):
        sweep(load(folder), arms_of(["pool=60,0"]), progress=done.append)
    assert done == []


def test_another_metric_may_decide(folder: Path) -> None:
    swept = sweep(load(folder), arms_of(["importance_weight=1.0"]), metric="recall@1")
    assert swept[1].compared is not None
    assert swept[1].compared.metric == "recall@1"
