from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that needs no model."""
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")


def spaces(run: Run) -> dict[str, dict[str, Any]]:
    found = run("work", "--status", "--json").json["spaces"]
    return {space["space"]["model"]: space for space in found}


def test_work_embeds_what_waits(run: Run, remember: Run) -> None:
    remember("Something.")
    remember("Something else.")

    assert run("stats", "--json").json["embedded"] == 0
    assert "Embedded 2 memories. Read 2 for the graph." in run("work").out
    answer = run("work", "--json").json
    assert (answer["finished"], answer["postponed"], answer["given_up"]) == (0, 0, 0)
    [space] = answer["spaces"]
    assert (space["state"], space["embedded"], space["waiting"]) == ("active", 2, 0)
    stats = run("stats", "--json").json
    assert (stats["embedded"], stats["embedded_by"]) == (2, space["space"]["model"])
    assert "embedded" in run("stats").out


def test_before_the_first_worker_it_is_shown_what_waits(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.")
    remember("Something else.")

    waits = "Nothing is embedded yet; 2 memories wait: `bearinmind work` "
    assert run("work", "--status").out == f"{waits}embeds them.\n"
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "none")
    assert run("work", "--status").out == f"{waits}begins.\n"


def test_work_shows_how_things_stand_and_changes_nothing(run: Run, remember: Run) -> None:
    remember("Something.")
    run("work")
    remember("Something else.")

    shown = run("work", "--status")
    answer = run("work", "--status", "--json").json

    assert shown.code == 0
    assert "active" in shown.out
    assert "not running" in shown.out
    assert "1 memory to compare" in shown.out
    assert answer["worker_running"] is False
    waiting = {count["kind"]: count["jobs"] for count in answer["queue"]}
    assert waiting == {"embed": 1, "extract": 1, "compare": 1}
    assert answer["next_due"] is not None


def test_storing_and_importing_can_wait(run: Run, remember: Run, tmp_path: Path) -> None:
    remember("Something.", "--wait")
    many = tmp_path / "many.jsonl"
    many.write_text("".join(f'{{"content": "memory {n}"}}\n' for n in range(5)))

    assert run("stats", "--json").json["embedded"] == 1
    assert run("import", many, "--wait").code == 0
    assert run("stats", "--json").json["embedded"] == 6


def test_without_an_embedder_nothing_is_done(run: Run, remember: Run, monkeypatch: Any) -> None:
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "none")
    remember("Something.", "--wait")

    assert run("work").code == 0
    assert "recall goes by words alone" in run("doctor").out
    assert spaces(run) == {}


def test_embeddings_that_are_not_asked_are_not_said_to_answer(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.", "--wait")
    assert "answers" in embeddings(run)

    monkeypatch.setenv("BEARINMIND_EMBEDDER", "none")

    assert "answers" not in embeddings(run)
    assert embeddings(run).startswith("not asked: hash (space ")
    assert "1 embedded" in embeddings(run)


def embeddings(run: Run) -> str:
    """What doctor says about them."""
    checks = run("doctor", "--json").json["checks"]
    [detail] = [check["detail"] for check in checks if check["name"] == "embeddings"]
    return str(detail)


def test_work_and_reembed_need_a_store(run: Run, place: Path) -> None:
    for command in ("work", "reembed"):
        ran = run(command)
        assert ran.code == 3
        assert "there is no store" in ran.err
    assert not place.exists()


@pytest.mark.parametrize(
    "flags", [("work", "--once", "--watch"), ("reembed", "--status", "--drop-old")]
)
def test_flags_that_contradict_each_other_are_refused(run: Run, remember: Run, flags: Any) -> None:
    remember("Something.")

    assert run(*flags).code == 2


def test_an_embedder_that_cannot_be_made_is_named(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.")
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "openai:text-embedding-3-small")

    for command in ("work", "reembed"):
        ran = run(command)
        assert ran.code == 2
        assert "needs a key" in ran.err
    doctor = run("doctor", "--json")
    assert doctor.code == 5
    [bad] = [check for check in json.loads(doctor.out)["checks"] if not check["good"]]
    assert bad["name"] == "embedder"
    assert "OPENAI_API_KEY" in bad["remedy"]


def test_another_embedder_takes_over_and_the_old_embeddings_can_be_dropped(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        remember(f"Memory number {n}.")
    run("work")
    [old] = spaces(run)
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "minilm")
    assert "not what is configured now" in run("doctor").out

    ran = run("reembed")

    assert ran.code == 0
    assert "now answers: 5 embeddings" in ran.out
    assert "--drop-old" in ran.out
    assert spaces(run)[old]["state"] == "retired"
    assert "answers already" in run("reembed").out
    assert run("reembed", "--drop-old", "--json").json == {"dropped": 5}
    assert old not in spaces(run)


def test_a_reembedding_that_is_interrupted_goes_on_where_it_was(
    run: Run,
    command: list[str],
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text("".join(f'{{"content": "{n} {"word " * 120}"}}\n' for n in range(90)))
    run("import", many, "--wait")
    [old] = spaces(run)
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "minilm")
    process = subprocess.Popen(
        [*command, "--store", str(place), "reembed"], stderr=subprocess.PIPE, text=True
    )
    _wait_until(
        lambda: any(s["state"] == "filling" and s["embedded"] for s in spaces(run).values())
    )
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "`bearinmind reembed` goes on from here" in errors
    assert "Traceback" not in errors
    between = spaces(run)
    [new] = {*between} - {old}
    assert between[old]["state"] == "active"
    assert 0 < between[new]["embedded"] < 90
    assert run("work", "--status", "--json").json["queue"][0]["state"] == "waiting"

    again = run("reembed", "--json").json

    assert again["finished"] == 90 - between[new]["embedded"]
    assert spaces(run)[new]["state"] == "active"


def _wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_worker_that_watches_ends_cleanly_when_it_is_told_to(
    run: Run, remember: Run, command: list[str], place: Path
) -> None:
    remember("Something.")
    process = subprocess.Popen(
        [*command, "--store", str(place), "work", "--watch", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_until(lambda: run("stats", "--json").json["embedded"] == 1)
    assert run("work", "--status", "--json").json["worker_running"] is True
    refused = run("work", "--watch")
    remember("Something else.")
    _wait_until(lambda: run("stats", "--json").json["embedded"] == 2)
    _wait_until(lambda: run("work", "--status", "--json").json["queue"] == [])
    process.terminate()
    out, errors = process.communicate(timeout=60)

    assert refused.code == 2
    assert "another worker is at work" in refused.err
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert json.loads(out)["by_kind"] == {"embed": 2, "extract": 2, "compare": 2}
    assert not place.with_name(place.name + ".sock").exists()
