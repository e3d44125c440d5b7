"""`bearinmind bench own compare`: what is better is adopted, and nothing else."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind.recall.query_log import QueryLog
from bearinmind_bench.own import cli as bench_own
from support.judge_server import Models

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("by_words")  # the queries and grades here are about words


def config(at_home: Path) -> Path:
    return at_home / "config" / "bearinmind" / "config.toml"


def test_too_few_judged_queries_are_refused_with_what_to_do(memories: Path, own: Run) -> None:
    own("build")

    ran = own("compare", "--set", "pool=100", "--json")

    assert ran.code == 2
    assert ran.error["code"] == "too_few_queries"
    assert "0 queries" in ran.error["message"]
    assert "30" in ran.error["message"]
    assert "bearinmind bench own judge" in ran.error["hint"]
    assert own("history", "--json").json == {"comparisons": []}


def test_what_is_better_is_adopted_and_the_file_before_is_kept(
    judged: Models, own: Run, at_home: Path
) -> None:
    file = config(at_home)
    file.parent.mkdir(parents=True)
    file.write_text("# mine\nlimit = 7  # enough\n")

    ran = own("compare", "--set", "importance_weight=0", "--adopt")

    assert ran.code == 0, ran.err
    assert "B is better than A" in ran.out
    assert "importance_weight=0 (was: not set)" in ran.out
    assert tomllib.loads(file.read_text()) == {"limit": 7, "importance_weight": 0}
    assert "# enough" in file.read_text()
    assert (file.parent / "config.toml.bak").read_text() == "# mine\nlimit = 7  # enough\n"
    [trial] = own("history", "--json").json["comparisons"]
    assert trial["verdict"] == "better"
    assert trial["adopted"] is True
    again = own("compare", "--set", "importance_weight=0", "--json")
    assert again.error["message"] == "both configurations are the same"


def test_the_answer_has_the_difference_its_interval_and_what_was_not_judged(
    judged: Models, own: Run
) -> None:
    answer = own("compare", "--set", "importance_weight=0", "--json").json

    headline = answer["figures"][0]
    assert (headline["stratum"], headline["metric"]) == ("overall", "ndcg@10")
    assert 0 < headline["low"] < headline["difference"] < headline["high"]
    assert headline["corrected_p"] < 0.05
    assert (headline["wins"], headline["losses"], headline["queries"]) == (24, 0, 30)
    assert answer["unjudged"] == {"before": 0, "after": 0}
    assert answer["adoption"] is None
    assert answer["changed"] == {"importance_weight": 0}
    assert len(answer["fingerprint"]) == 64


def test_a_null_result_is_kept_and_nothing_is_adopted(
    judged: Models, own: Run, at_home: Path
) -> None:
    ran = own("compare", "--set", "pool=100", "--adopt")

    assert ran.code == bench_own.NOT_ADOPTED
    assert "Nothing was adopted: the answer is 'cannot tell', and not 'better'." in ran.out
    assert not config(at_home).exists()
    assert "cannot tell" in own("history").out
    [trial] = own("history", "--json").json["comparisons"]
    assert trial["verdict"] == "cannot tell"
    assert trial["adopted"] is False
    assert trial["figures"][0]["difference"] == 0


def test_a_worse_setting_is_not_adopted(judged: Models, own: Run, at_home: Path) -> None:
    config(at_home).parent.mkdir(parents=True)
    config(at_home).write_text("importance_weight = 0\n")

    ran = own("compare", "--set", "importance_weight=0.3", "--adopt", "--json")

    assert ran.code == bench_own.NOT_ADOPTED
    assert json.loads(ran.out)["verdict"] == "worse"
    assert config(at_home).read_text() == "importance_weight = 0\n"


def test_the_other_side_can_be_chosen_and_is_not_adopted_over(judged: Models, own: Run) -> None:
    sides = ("--against", "importance_weight=0", "--set", "importance_weight=0.3")

    assert own("compare", *sides, "--json").json["verdict"] == "worse"
    assert "importance_weight=0.3 against importance_weight=0 " in own("history").out
    assert "--against" in own("compare", *sides, "--adopt", "--json").error["hint"]


def test_memories_that_nobody_judged_are_counted(memories: Path, own: Run, models: Models) -> None:
    own("build")
    own("judge")

    answer = own("compare", "--set", "importance_weight=0", "--json").json
    human = own("compare", "--set", "importance_weight=0").out

    assert answer["unjudged"]["before"] == 0
    assert 0 < answer["unjudged"]["after"] < answer["given"]["after"]
    assert f"{answer['unjudged']['after']} of {answer['given']['after']} in those of B" in human
    assert "Comparisons on this set before this one: 1." in human


def test_queries_that_nobody_judged_are_left_out_of_the_figures(
    judged: Models, own: Run, memories: Path, noon: datetime
) -> None:
    log = QueryLog.beside(memories, "local")
    log.append("something else altogether", noon, [])
    own("build")

    answer = own("compare", "--set", "importance_weight=0", "--json").json

    assert answer["queries_unjudged"] == 1
    assert answer["figures"][0]["queries"] == 30


def test_a_variable_that_overrules_what_was_adopted_is_pointed_out(
    judged: Models, own: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_IMPORTANCE_WEIGHT", "0.3")

    ran = own("compare", "--set", "importance_weight=0", "--adopt")

    assert ran.code == 0
    assert "BEARINMIND_IMPORTANCE_WEIGHT overrules the file" in ran.err


def test_a_file_that_cannot_be_changed_is_named_and_the_comparison_kept(
    judged: Models, own: Run, at_home: Path
) -> None:
    (config(at_home).parent).mkdir(parents=True)
    (config(at_home).parent / "config.toml.bak").mkdir()
    config(at_home).write_text("limit = 7\n")

    ran = own("compare", "--set", "importance_weight=0", "--adopt", "--json")

    assert ran.error["code"] == "invalid_setting"
    assert config(at_home).read_text() == "limit = 7\n"
    [trial] = own("history", "--json").json["comparisons"]
    assert (trial["verdict"], trial["adopted"]) == ("better", False)


def test_a_set_without_questions_cannot_be_judged(remember: Run, own: Run, models: Models) -> None:
    remember("Only this.")
    own("build")

    assert own("judge", "--json").error["code"] == "too_few_queries"
    assert own("label", "--json").error["code"] == "too_few_queries"


@pytest.mark.parametrize("command", ["judge", "label", "compare", "history"])
def test_without_a_set_the_way_to_one_is_told(own: Run, models: Models, command: str) -> None:
    ran = own(command, "--json", *(["--set", "pool=99"] if command == "compare" else []))

    assert ran.code == 2
    assert "bearinmind bench own build" in ran.error["hint"]
