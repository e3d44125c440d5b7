"""`bearinmind bench own` from end to end, with models that are a real server in a thread."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from bearinmind.surfaces.cli import app
from support.judge_server import KEY, Models

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("by_words")  # the queries and grades here are about words


# ---- build -------------------------------------------------------------------------------------


def test_a_set_is_built_in_a_private_folder_of_the_user(
    memories: Path, own: Run, at_home: Path
) -> None:
    answer = own("build", "--json").json

    folder = at_home / "data" / "bearinmind" / "own"
    assert answer["folder"] == str(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert answer["memories"] == 60
    sources = {made["source"]: made for made in answer["sources"]}
    assert sources["captured"]["queries"] == 31
    assert sources["links"]["why_none"].startswith("no two live memories are linked")
    assert answer["relevant_known"] == 0


def test_people_are_told_what_each_source_gave_and_what_is_next(memories: Path, own: Run) -> None:
    out = own("build", "--out", "here").out

    assert "60 memories and 31 queries in here" in out
    assert re.search(r"captured +31\n", out)
    assert re.search(r"keywords +0 +no memory has keywords", out)
    assert "bearinmind bench own judge" in out


def test_without_a_store_there_is_nothing_to_build_from(own: Run) -> None:
    ran = own("build", "--json")

    assert ran.code == 3
    assert ran.error["code"] == "memory_not_found"


def test_a_model_is_asked_only_when_told_to(memories: Path, own: Run, models: Models) -> None:
    own("build")

    needed = own("build", "--dry-run", "--json").json

    assert models.asked == []
    assert needed["calls"] == 60
    assert 5_000 < needed["tokens"] < 20_000
    assert own("build", "--dry-run", "--llm-calls", 7, "--json").json["calls"] == 7


def test_a_model_writes_no_more_questions_than_it_may_be_called(
    memories: Path, own: Run, models: Models
) -> None:
    made = own("build", "--llm", "--llm-calls", 5, "--json").json

    assert len(models.asked) == 5
    assert made["generators"] == ["writer"]
    [llm] = [source for source in made["sources"] if source["source"] == "llm"]
    assert llm["queries"] == 1  # it always asks the same, for five memories
    assert made["relevant_known"] == 1


def test_questions_that_were_written_are_not_asked_for_again(
    memories: Path, own: Run, models: Models
) -> None:
    own("build", "--llm", "--llm-calls", 40)
    own("build", "--llm", "--llm-calls", 40)
    made = own("build", "--json").json

    assert len(models.asked) == len({*models.asked}) == 60
    assert made["generators"] == ["writer"]


def test_a_question_in_the_memorys_words_is_rejected(
    memories: Path, own: Run, models: Models
) -> None:
    models.question = "Which printers are there?"

    made = own("build", "--llm", "--llm-calls", 5, "--json").json

    [llm] = [source for source in made["sources"] if source["source"] == "llm"]
    assert llm["queries"] == 0
    assert llm["rejected"] == {"uses the memory's own words": 5}


def test_no_model_is_configured_says_what_to_set(memories: Path, own: Run) -> None:
    ran = own("build", "--llm", "--json")

    assert ran.code == 2
    assert "llm_url is not set" in ran.error["message"]


def test_a_failing_model_keeps_what_it_wrote_and_says_no_key(
    memories: Path, own: Run, models: Models
) -> None:
    models.refuse_after = 3
    ran = own("build", "--llm", "--json")
    models.refuse_after = 10_000
    again = own("build", "--llm", "--llm-calls", 100, "--json")

    assert ran.code == 1
    assert ran.error["code"] == "model_failure"
    assert "401" in ran.error["message"]
    assert again.code == 0
    assert len(models.asked) == 61
    assert KEY not in ran.err + ran.out + again.err + again.out


# ---- help --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["build", "judge", "label", "compare", "history"])
def test_every_command_explains_itself_and_each_of_its_options(own: Run, name: str) -> None:
    group: Any = typer.main.get_command(app)
    command = group.commands["bench"].commands["own"].commands[name]

    assert [param.name for param in command.params if not param.help] == []
    assert any("--json" in param.opts for param in command.params)
    ran = own(name, "--help")
    assert ran.code == 0
    assert command.help.splitlines()[0] in ran.out
