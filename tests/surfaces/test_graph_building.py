"""The graph is built by the commands and workers that people have, on a real file."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.work.status import EXTRACT
from support.processes import end_workers, wait_until, workers

Run = Callable[..., Any]
ROUNDS = int(os.environ.get("BEARINMIND_CRASH_ROUNDS", "6"))


@pytest.fixture(autouse=True)
def _by_words(by_words: None) -> None:
    """The graph needs no embedder."""


def waiting(run: Run) -> int:
    return int(run("stats", "--json").json["graph"]["waiting"])


def edges(path: Path) -> set[tuple[str, str, str]]:
    """Every mention in a store: the content of the memory, the role and the concept."""
    with Mind.open(path, worker="off") as memory:
        found = [*memory._parts.store.all_mentions(memory._filter({}))]
        return {(memory.get(m.id).content, str(m.role), str(m.concept)) for m in found}


# ---- commands ----------------------------------------------------------------------------------


def test_the_graph_is_built_without_an_embedder(run: Run, remember: Run) -> None:
    remember("Sluice: a proxy by Ilse Navrat")
    remember("my sluice is broken")

    assert "Read 2 memories for the graph." in run("work").out
    assert "all is read" in run("work", "--status").out
    graph = run("stats", "--json").json["graph"]
    assert graph["extractor"].startswith("rules")
    assert graph["concepts"] >= 2
    assert "concepts" in run("stats").out


def test_storing_and_importing_can_wait_for_the_reading(
    run: Run, remember: Run, tmp_path: Path
) -> None:
    remember("Sluice: a proxy", "--wait")
    many = tmp_path / "many.jsonl"
    many.write_text("".join(f'{{"content": "Weir {n}: a thing"}}\n' for n in range(5)))
    before = run("stats", "--json").json["graph"]

    assert run("import", many, "--wait").code == 0
    after = run("stats", "--json").json["graph"]
    assert before["concepts"] < after["concepts"]
    assert after["waiting"] == 0


def test_doctor_tells_who_reads_and_what_waits(run: Run, remember: Run) -> None:
    remember("Sluice: a proxy", "--wait")
    remember("Weir: another")

    checks = {check["name"]: check for check in run("doctor", "--json").json["checks"]}
    assert "1 to read" in checks["extractor"]["detail"]
    assert "texts stay here" in checks["extractor"]["detail"]
    assert "1 to read for the graph" in checks["background"]["detail"]


def test_build_reads_what_is_missing_and_again_everything(run: Run, remember: Run) -> None:
    for n in range(3):
        remember(f"Weir {n}: a thing")

    assert "3 memories to read by rules" in run("graph", "build", "--dry-run").out
    assert "Read 3 memories for the graph" in run("graph", "build").out
    assert run("graph", "build", "--json").json["finished"] == 0
    assert run("graph", "build", "--again", "--json").json["finished"] == 3
    assert run("graph", "build", "--dry-run", "--json").json["versions"] == 0
    assert run("graph", "build", "--dry-run", "--again", "--json").json["versions"] == 3


def test_build_leaves_embedding_to_others(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")
    remember("Sluice: a proxy", "--wait")
    remember("Weir: another")
    run("graph", "build")

    left = run("work", "--status", "--json").json["queue"]
    assert [count["kind"] for count in left] == ["compare", "embed"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"EXTRACTOR": "none"}, "no memory is read for the graph"),
        ({"EXTRACTOR": "llm"}, "needs llm_url"),
    ],
)
def test_build_says_what_it_needs(
    run: Run,
    remember: Run,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    told: str,
) -> None:
    remember("Sluice: a proxy")
    for name, value in settings.items():
        monkeypatch.setenv(f"BEARINMIND_{name}", value)

    for options in ((), ("--again",), ("--dry-run",)):
        ran = run("graph", "build", *options)
        assert ran.code == 2
        assert told in ran.err


def test_a_dry_run_with_a_chat_model_tells_the_price_and_asks_nothing(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens at that address: a request would fail."""
    remember("Sluice: a proxy by Ilse Navrat")
    for name, value in (
        ("EXTRACTOR", "llm"),
        ("LLM_URL", "http://127.0.0.1:9/v1"),
        ("LLM_MODEL", "small"),
        ("LLM_DAILY_TOKENS", "5000"),
    ):
        monkeypatch.setenv(f"BEARINMIND_{name}", value)

    plan = run("graph", "build", "--dry-run", "--json").json

    assert (plan["versions"], plan["estimate"]["requests"]) == (1, 1)
    assert plan["estimate"]["prompt_tokens"] > 0
    assert plan["budget"] == {"spent": 0, "limit": 5_000}
    shown = run("graph", "build", "--dry-run").out
    assert "1 request" in shown
    assert "0 of 5,000 tokens are spent" in shown
    assert "0 of 5,000 tokens are spent today" in run("doctor").out


def test_a_chat_model_that_is_away_keeps_nobody_from_embedding(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("EMBEDDER", "hash"),
        ("EXTRACTOR", "llm"),
        ("LLM_URL", "http://127.0.0.1:9/v1"),
        ("LLM_MODEL", "small"),
    ):
        monkeypatch.setenv(f"BEARINMIND_{name}", value)
    remember("Sluice: a proxy")

    ran = run("work", "--once", "--json").json

    assert ran["by_kind"] == {"compare": 1, "embed": 1}
    assert ran["postponed"] == 1
    assert "1 memory to read for the graph" in run("work", "--once").out


def test_a_spent_budget_rests_the_reading_alone(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("EMBEDDER", "hash"),
        ("EXTRACTOR", "llm"),
        ("LLM_URL", "http://127.0.0.1:9/v1"),
        ("LLM_MODEL", "small"),
        ("LLM_DAILY_TOKENS", "10"),
    ):
        monkeypatch.setenv(f"BEARINMIND_{name}", value)
    remember("Sluice: a proxy")

    ran = run("work")

    assert ran.code == 0
    assert "Embedded 1 memory." in ran.out
    assert "1 memory to read for the graph" in ran.out
    assert "may use 10 tokens a day (llm_daily_tokens)" in ran.out


def test_nothing_sensitive_or_deleted_is_read(run: Run, remember: Run, place: Path) -> None:
    remember("Sluice: a proxy", "--wait")
    remember("Vault: the code is 1234", "--sensitive")
    gone = remember("Weir: gone")
    run("delete", gone)
    run("work")

    assert edges(place) == {("Sluice: a proxy", "subject", "sluice")}
    assert waiting(run) == 0


# ---- workers -----------------------------------------------------------------------------------


@pytest.fixture
def awake(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands start a worker, which is ended with the test."""
    monkeypatch.setenv("BEARINMIND_WORKER", "auto")
    monkeypatch.setenv("BEARINMIND_WORKER_IDLE_SECONDS", "600")
    yield
    end_workers(place)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_the_worker_that_a_command_leaves_behind_reads(
    run: Run, remember: Run, place: Path, awake: None
) -> None:
    remember("my sluice is broken")
    wait_until(lambda: run("stats", "--json").json["graph"]["extractor"] and waiting(run) == 0)
    remember("Sluice: a proxy")
    wait_until(lambda: ("my sluice is broken", "name", "sluice") in edges(place))

    assert len(workers(place)) == 1


def test_the_thread_of_a_program_reads(place: Path) -> None:
    with Mind.open(place, worker="auto", embedder="none") as memory:
        memory.store("my sluice is broken")
        memory.store("Sluice: a proxy")
        wait_until(lambda: memory.graph.counts().mentions == 2)

    assert ("my sluice is broken", "name", "sluice") in edges(place)


# ---- kill -9 -----------------------------------------------------------------------------------

#: Reads in small claims, and says so after each.
CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from bearinmind.graph.extractors import ConfiguredExtractor
from bearinmind.graph.rules import Rules
from bearinmind.store.sqlite import SqliteStore
from bearinmind.work.handlers import Extracting
from bearinmind.work.status import EXTRACT
from bearinmind.work.worker import Worker

class Few(Rules):
    batch = 3

store = SqliteStore(Path(sys.argv[1]))
def clock():
    return datetime.now(UTC)
reading = Extracting(store=store, extractor=ConfiguredExtractor(Few), clock=clock)
Worker(store, {EXTRACT: reading}, clock=clock).finish(lambda _: print("read", flush=True))
"""

NAMES = ["Sluice", "Weir", "Lock Keeper", "Tide Gate", "Quay", "Barge Canal", "Mole", "Groyne"]
CONTENTS = [
    *(f"{name}: number {n} of what is built" for n, name in enumerate(NAMES)),
    *(
        f"note {n}: the {NAMES[n % 8].lower()} and the {NAMES[n * 3 % 8].lower()} were looked at"
        for n in range(max(40, 15 * ROUNDS))  # more than is claimed: a claim of the dead lasts long
    ),
]


def _stored(path: Path, chance: random.Random) -> None:
    with Mind.open(path, worker="off") as memory:
        for content in chance.sample(CONTENTS, len(CONTENTS)):
            memory.store(content)


def _run(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(child: subprocess.Popen[str]) -> None:
    _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, "")


@pytest.fixture
def undisturbed(tmp_path: Path) -> set[tuple[str, str, str]]:
    """The graph that one worker builds without being killed."""
    path = tmp_path / "undisturbed.db"
    _stored(path, random.Random(1))
    _ended(_run(path))
    return edges(path)


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_killed_at_any_moment_workers_leave_the_same_graph(
    place: Path, undisturbed: set[tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(20_261_115)
    _stored(place, chance)
    for _ in range(ROUNDS):
        child = _run(place)
        assert child.stdout is not None
        assert child.stderr is not None
        for _ in range(chance.randint(0, 4)):
            child.stdout.readline()
        time.sleep(chance.uniform(0, 0.01))  # somewhere inside a claim, a look-up or a write
        child.kill()
        assert child.stderr.read() == ""
        child.wait()
        child.stdout.close()
        child.stderr.close()
    monkeypatch.setattr("bearinmind.work.worker.SOON", 0.0)
    with Mind.open(place, worker="off") as memory:
        assert all(finding.good for finding in memory.check()), memory.check()
    _run_later(place)

    assert edges(place) == undisturbed
    with Mind.open(place, worker="off") as memory:
        assert all(finding.good for finding in memory.check()), memory.check()


def _run_later(path: Path) -> None:
    """Finish at a moment at which every claim of a dead worker has run out."""
    later = CHILD.replace("return datetime.now(UTC)", "return datetime.now(UTC) + LATER").replace(
        "import UTC, datetime", "import UTC, datetime, timedelta\nLATER = timedelta(minutes=10)"
    )
    done = subprocess.run(
        [sys.executable, "-c", later, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_two_workers_at_once_leave_the_same_graph(
    place: Path, undisturbed: set[tuple[str, str, str]]
) -> None:
    _stored(place, random.Random(3))
    both = [_run(place), _run(place)]
    for child in both:
        _ended(child)

    assert edges(place) == undisturbed
    with Mind.open(place, worker="off") as memory:
        assert memory.work.status().of_kind(EXTRACT).waiting == 0
