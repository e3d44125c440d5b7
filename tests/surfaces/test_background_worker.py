"""The worker that the command line leaves behind: one for each store, and gone again."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bearinmind.models import encoder_socket
from bearinmind.work.worker_lock import WorkerLock
from support.processes import end_workers, wait_until, workers

Run = Callable[..., Any]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture(autouse=True)
def awake(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands start a worker, which is ended with the test."""
    monkeypatch.setenv("BEARINMIND_WORKER", "auto")
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")
    monkeypatch.setenv("BEARINMIND_WORKER_IDLE_SECONDS", "600")
    yield
    end_workers(place)


def embedded(run: Run) -> int:
    return int(run("stats", "--json").json["embedded"])


def socket_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.sock")


def test_what_is_stored_is_embedded_without_anybody_waiting(
    run: Run, remember: Run, place: Path
) -> None:
    id_ = remember("Something.")
    wait_until(lambda: workers(place) != [])  # a process is seen once it runs its program
    [worker] = workers(place)
    wait_until(lambda: embedded(run) == 1)
    run("update", id_, "Something else.")
    wait_until(lambda: embedded(run) == 2)

    assert workers(place) == [worker]  # woken, not started anew
    doctor = run("doctor")
    assert doctor.code == 0
    assert "a worker is running" in doctor.out


def test_however_many_commands_store_at_once_one_worker_is_started(
    run: Run, command: list[str], place: Path
) -> None:
    run("store", "the first one makes the file", "--wait")
    many = [
        subprocess.Popen([*command, "--store", str(place), "store", f"memory {n}"])
        for n in range(6)
    ]
    seen: set[int] = set()
    while any(process.poll() is None for process in many):
        seen.update(workers(place))
        time.sleep(0.005)
    wait_until(lambda: embedded(run) == 7)

    assert {process.returncode for process in many} == {0}
    assert seen | {*workers(place)} == {*workers(place)}
    assert len(workers(place)) == 1


@pytest.mark.parametrize("settings", [{"WORKER": "off"}, {"EMBEDDER": "none", "EXTRACTOR": "none"}])
def test_no_worker_is_started_where_none_is_wanted(
    remember: Run, place: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"BEARINMIND_{name}", value)

    remember("Something.")

    assert workers(place) == []
    assert not WorkerLock.of(place).path.exists()


def test_commands_that_only_read_start_nothing(run: Run, remember: Run, place: Path) -> None:
    remember("Something.", "--wait")
    for command in ("recall something", "list", "stats", "doctor", "work --status"):
        assert run(*command.split()).code == 0

    assert workers(place) == []


def test_the_worker_leaves_when_there_is_nothing_to_do(
    run: Run, remember: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_WORKER_IDLE_SECONDS", "0.1")
    remember("Something.")
    wait_until(lambda: embedded(run) == 1)
    wait_until(lambda: not workers(place))

    assert not socket_of(place).exists()
    assert not WorkerLock.of(place).is_held
    assert stat.S_IMODE(WorkerLock.of(place).path.stat().st_mode) == 0o600
    assert WorkerLock.of(place).errors() == ""
    remember("Something else.")  # the next one starts the next worker
    wait_until(lambda: embedded(run) == 2)


def test_the_worker_lends_its_model_to_its_user_alone(run: Run, remember: Run, place: Path) -> None:
    remember("Something.")
    wait_until(lambda: embedded(run) == 1)
    [space] = run("work", "--status", "--json").json["spaces"]

    def ask(**other: object) -> Any:
        question = {"version": encoder_socket.VERSION, "space": space["key"], "text": "a query"}
        return encoder_socket.ask(socket_of(place), question | other, limit=60)

    wait_until(lambda: ask() is not None)
    assert stat.S_IMODE(socket_of(place).stat().st_mode) == 0o600
    assert len(ask()["vector"]) > 100
    assert ask(space="another") is None
    assert ask(version=encoder_socket.VERSION + 1) is None


def test_a_killed_worker_is_replaced_and_its_socket_too(
    run: Run, remember: Run, place: Path
) -> None:
    remember("Something.")
    wait_until(lambda: embedded(run) == 1 and socket_of(place).exists())
    [worker] = workers(place)
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not workers(place))

    assert socket_of(place).exists()  # a dead one, which nobody is held up by
    assert run("recall", "something").code == 0
    remember("Something else.")
    wait_until(lambda: embedded(run) == 2)
    assert workers(place) != [worker]
    wait_until(lambda: encoder_socket.ask(socket_of(place), {"version": 1, "wake": True}) == {})


def test_a_worker_that_is_told_to_end_does_so_cleanly(run: Run, remember: Run, place: Path) -> None:
    remember("Something.")
    wait_until(lambda: embedded(run) == 1 and socket_of(place).exists())
    [worker] = workers(place)
    os.kill(worker, signal.SIGTERM)
    wait_until(lambda: not workers(place))

    assert not socket_of(place).exists()
    assert WorkerLock.of(place).errors() == ""


def test_why_a_worker_cannot_work_is_kept_for_the_doctor(
    run: Run, remember: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.", "--wait")
    wait_until(lambda: not workers(place))  # that one could have done the next job, too
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "openai:text-embedding-3-small")
    remember("Something else.")
    wait_until(lambda: "needs a key" in WorkerLock.of(place).errors())
    wait_until(lambda: not workers(place))

    doctor = run("doctor", "--json")
    assert doctor.code == 5
    bad = {check["name"] for check in json.loads(doctor.out)["checks"] if not check["good"]}
    assert bad == {"embedder", "background"}


def test_a_command_says_nothing_about_its_worker(command: list[str], place: Path) -> None:
    ran = subprocess.run(
        [*command, "--store", str(place), "store", "x"],
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert ran.returncode == 0
    assert ran.stderr == b""
    assert ran.stdout.count(b"\n") == 1
