from __future__ import annotations

from pathlib import Path

import pytest

from bearinmind.config import Settings
from bearinmind.errors import InvalidSetting
from bearinmind_bench.own import trial
from bearinmind_bench.product import settings_for

PLAIN = trial.present(Settings())


def test_the_present_settings_are_those_that_differ_from_the_shipped_ones() -> None:
    present = trial.present(
        Settings(pool=70, store=Path("elsewhere.db"), user="ada", llm_model="m", limit=3)
    )

    assert present.settings == {"pool": 70}
    assert PLAIN.settings == {}


def test_categories_come_along_because_others_name_them() -> None:
    settings = Settings(categories=("facts", "recipes"), decay_days={"recipes": 9})

    assert settings_for("ada", {}, trial.present(settings).settings).decay_days == {"recipes": 9}


def test_an_arm_changes_the_base() -> None:
    base = trial.present(Settings(pool=70, importance_weight=0.5))

    arm = trial.arm(base, ["importance_weight=0", "fusion=rrf"])

    assert arm.settings == {"pool": 70, "importance_weight": 0, "fusion": "rrf"}
    assert arm.changed == {"importance_weight": 0, "fusion": "rrf"}
    assert arm.name == "importance_weight=0, fusion=rrf"


def test_one_entry_of_a_table_leaves_the_others_and_a_whole_table_does_not() -> None:
    base = trial.present(Settings(decay_days={"facts": 10, "people": 20}))

    entry = trial.arm(base, ["decay_days.facts=5", "decay_days.projects=6"])
    table = trial.arm(base, ["decay_days={facts = 5}"])

    assert entry.settings["decay_days"] == {"facts": 5, "people": 20, "projects": 6}
    assert table.settings["decay_days"] == {"facts": 5}


def test_arms_are_the_base_the_changes_and_each_text() -> None:
    found = trial.arms(
        PLAIN, ["pool=70"], ["importance_weight=0, pool=100", "decay_days={facts=1,people=2}"]
    )

    assert [arm.settings for arm in found] == [
        {},
        {"pool": 70},
        {"importance_weight": 0, "pool": 100},
        {"decay_days": {"facts": 1, "people": 2}},
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pool", "'pool' sets nothing"),
        ("pool=-1", "pool = -1"),
        ("speed=9", "there is no setting 'speed'"),
        ("user=bob", "user cannot be measured"),
        ("trust_factors={user=2}", "trust_factors cannot be measured"),
    ],
)
def test_what_cannot_be_set_or_measured_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidSetting, match=problem):
        trial.arm(PLAIN, [text])


def test_what_is_not_measured_is_a_setting() -> None:
    assert set(trial.UNMEASURED) <= set(Settings.model_fields)
