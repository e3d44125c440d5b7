"""`recollect bench own` from end to end, with models that are a real server in a thread."""

from __future__ import annotations

import json
import re
import shutil
import stat
import threading
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer.main

from judging_server import Models
from recollect.capture import QueryLog
from recollect.interfaces.cli import app, bench_own

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("by_words")  # the queries and grades here are about words
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = "sk-not-to-be-seen"
NOUNS = """
    zebra yak walrus tiger sloth rhino quail panda otter newt moose llama koala jaguar ibex hippo
    gecko ferret emu dingo camel bison alpaca cobra falcon heron iguana jackal lemur magpie
""".split()  # noqa: SIM905


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    with Models() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("RECOLLECT_LLM_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("RECOLLECT_LLM_MODEL", "writer")
        monkeypatch.setenv("RECOLLECT_JUDGE_MODEL", "judge")
        monkeypatch.setenv("RECOLLECT_LLM_KEY", KEY)
        yield server
        server.shutdown()


@pytest.fixture
def own(run: Run) -> Run:
    """Runs a command of `bench own`."""
    return lambda *args, **kwargs: run("bench", "own", *args, **kwargs)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what takes long to make is kept for the next test."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def memories(run: Run, place: Path, tmp_path: Path, shelf: Path) -> Path:
    """Sixty memories in which importance misleads, and captured queries about them."""
    if not (shelf / place.name).exists():
        file = tmp_path / "memories.jsonl"
        with file.open("w") as lines:
            for number, noun in enumerate(NOUNS):
                right = {"content": f"The {noun} printer stands in the cellar.", "importance": 0}
                wrong = {"content": f"A {noun} printer was stolen by thieves one evening."}
                misleads = {"importance": int(number % 5 > 0)}
                lines.write(f"{json.dumps(right)}\n{json.dumps(wrong | misleads)}\n")
        assert run("import", file).code == 0
        shutil.copy(place, shelf)
    shutil.copy(shelf / place.name, place)
    log = QueryLog.beside(place, "local")
    for text in (*(f"{noun} location" for noun in NOUNS), "printer"):
        log.append(text, NOON, [])
    return place


@pytest.fixture
def judged(memories: Path, own: Run, models: Models, at_home: Path, shelf: Path) -> Models:
    """A set with grades for the present settings and for one arm."""
    folder = at_home / "data" / "recollect" / "own"
    if not (shelf / "own").exists():
        assert own("build").code == 0
        assert own("judge", "--set", "importance_weight=0", "--json").json["missing"] == 0
        shutil.copytree(folder, shelf / "own")
    shutil.copytree(shelf / "own", folder, dirs_exist_ok=True)
    return models


def config(at_home: Path) -> Path:
    return at_home / "config" / "recollect" / "config.toml"


# ---- build -------------------------------------------------------------------------------------


def test_a_set_is_built_in_a_private_folder_of_the_user(
    memories: Path, own: Run, at_home: Path
) -> None:
    answer = own("build", "--json").json

    folder = at_home / "data" / "recollect" / "own"
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
    assert "recollect bench own judge" in out


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


# ---- judge and label ---------------------------------------------------------------------------


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
    assert "Field required" in ran.error["message"]
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
    monkeypatch.setenv("RECOLLECT_JUDGE_MODEL", "writer")

    ran = own("judge", "--json")

    assert ran.code == 2
    assert "would judge its own work" in ran.error["message"]


def test_whoever_sends_memories_away_is_told(
    memories: Path, own: Run, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    own("build")
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("RECOLLECT_LLM_URL", f"http://0.0.0.0:{models.server_port}/v1")

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


# ---- compare -----------------------------------------------------------------------------------


def test_too_few_judged_queries_are_refused_with_what_to_do(memories: Path, own: Run) -> None:
    own("build")

    ran = own("compare", "--set", "pool=100", "--json")

    assert ran.code == 2
    assert ran.error["code"] == "too_few_queries"
    assert "0 queries" in ran.error["message"]
    assert "30" in ran.error["message"]
    assert "recollect bench own judge" in ran.error["hint"]
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
    judged: Models, own: Run, memories: Path
) -> None:
    log = QueryLog.beside(memories, "local")
    log.append("something else altogether", NOON, [])
    own("build")

    answer = own("compare", "--set", "importance_weight=0", "--json").json

    assert answer["queries_unjudged"] == 1
    assert answer["figures"][0]["queries"] == 30


def test_a_variable_that_overrules_what_was_adopted_is_pointed_out(
    judged: Models, own: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_IMPORTANCE_WEIGHT", "0.3")

    ran = own("compare", "--set", "importance_weight=0", "--adopt")

    assert ran.code == 0
    assert "RECOLLECT_IMPORTANCE_WEIGHT overrules the file" in ran.err


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
    assert "recollect bench own build" in ran.error["hint"]


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
