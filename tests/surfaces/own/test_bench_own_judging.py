"""`bearinmind bench own judge` and `label`, with models that are a real server in a thread."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.judge_server import Models

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("by_words")  # the queries and grades here are about words


def test_a_judge_grades_every_pooled_pair_once(memories: Path, own: Run, models: Models) -> None:
    own("build")

    needed = own("judge", "--dry-run", "--json").json
    first = own("judge", "--json").json
    second = own("judge", "--json").json

    assert needed["calls"] == first["graded"] == len(models.asked) == first["pooled"] == 70
    assert needed["tokens"] > 5_000
    assert first["holes"] == first["missing"] == second["graded"] == 0


def test_an_interrupted_judge_goes_on_where_it_was(
    memories: Path, own: Run, models: Models
) -> None:
    own("build")
    models.refuse_after = 20
    failed = own("judge", "--json")
    models.refuse_after = 10_000
    some = own("judge", "--limit", 10, "--json").json
    rest = own("judge", "--json").json

    assert failed.code == 1
    assert some["graded"] == 10
    assert some["missing"] == some["holes"] == some["pooled"] - 30
    assert rest["graded"] == rest["pooled"] - 30
    assert len({*models.asked}) == rest["pooled"]


def test_an_answer_that_is_no_grade_is_counted_and_asked_for_again(
    memories: Path, own: Run, models: Models
) -> None:
    own("build")
    models.nonsense = 3

    first = own("judge", "--json").json
    again = own("judge", "--json").json

    assert (first["graded"], first["unusable"], first["missing"]) == (67, 3, 3)
    assert (again["graded"], again["missing"], again["holes"]) == (3, 0, 0)


@pytest.mark.parametrize("command", [("judge",), ("build", "--llm")])
def test_a_model_that_never_answers_properly_is_given_up(
    memories: Path, own: Run, models: Models, command: tuple[str, ...]
) -> None:
    own("build")
    models.nonsense = 1_000

    ran = own(*command, "--json")

    assert ran.code == 1
    assert ran.error["code"] == "model_failure"
    assert "5 unusable answers in a row" in ran.error["message"]
    assert "it is missing" in ran.error["message"]
    assert len(models.asked) == 5


def test_arms_widen_the_pool(memories: Path, own: Run, models: Models) -> None:
    own("build")
    alone = own("judge", "--dry-run", "--json").json["pooled"]

    arms = ("--arm", "importance_weight=0,pool=100", "--arm", "lexical.b=0")
    wider = own("judge", *arms, "--dry-run", "--json").json["pooled"]
    later = own("judge", "--dry-run", "--json").json["pooled"]

    assert alone < wider == later


def test_a_model_does_not_judge_its_own_questions(
    memories: Path, own: Run, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    own("build", "--llm", "--llm-calls", 3)
    monkeypatch.setenv("BEARINMIND_JUDGE_MODEL", "writer")

    ran = own("judge", "--json")

    assert ran.code == 2
    assert "would judge its own work" in ran.error["message"]


def test_whoever_sends_memories_away_is_told(
    memories: Path, own: Run, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    own("build")
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("BEARINMIND_LLM_URL", f"http://0.0.0.0:{models.server_port}/v1")

    ran = own("judge", "--limit", 1)

    assert ran.code == 0
    assert f"memories leave this machine: they are sent to http://0.0.0.0:{models.server_port}" in (
        ran.err
    )


def test_the_user_grades_through_a_pipe_and_sees_the_agreement(judged: Models, own: Run) -> None:
    ran = own("label", stdin="3\n0\nx\nu\n1\ns\nq\n")
    answer = own("label", "--json", stdin="0\n2\n").json

    assert "question: " in ran.out
    assert "2 graded, 1 skipped" in ran.out
    assert "judge and you: " in ran.out
    assert "linear-weighted kappa" in ran.out
    assert answer["graded"] == 2
    assert answer["agreement"][0]["judge"] == "judge"
    assert answer["agreement"][0]["pairs"] == 4


def test_without_a_judge_the_users_own_grades_are_enough(
    memories: Path, own: Run, at_home: Path
) -> None:
    own("build")
    shown = own("label", stdin="s\n" * 1_000).out
    pairs = re.findall(r"question: (\w+).*\nmemory:   (.*)\n", shown)
    grades = ["3" if f"The {noun} " in memory else "0" for noun, memory in pairs]

    done = own("label", "--json", stdin="\n".join(grades)).json
    ran = own("compare", "--set", "importance_weight=0", "--json")

    assert done["left"] == 0
    assert done["agreement"] == []
    assert ran.json["figures"][0]["queries"] == 30
