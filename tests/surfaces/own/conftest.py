"""Memories, captured queries and models for `bearinmind bench own`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind.recall.query_log import QueryLog
from support.judge_server import KEY, Models
from support.server_thread import on_thread

Run = Callable[..., Any]
NOUNS = """
    zebra yak walrus tiger sloth rhino quail panda otter newt moose llama koala jaguar ibex hippo
    gecko ferret emu dingo camel bison alpaca cobra falcon heron iguana jackal lemur magpie
""".split()  # noqa: SIM905


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    with on_thread(Models()) as server:
        monkeypatch.setenv("BEARINMIND_LLM_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("BEARINMIND_LLM_MODEL", "writer")
        monkeypatch.setenv("BEARINMIND_JUDGE_MODEL", "judge")
        monkeypatch.setenv("BEARINMIND_LLM_KEY", KEY)
        yield server


@pytest.fixture
def own(run: Run) -> Run:
    """Runs a command of `bench own`."""
    return lambda *args, **kwargs: run("bench", "own", *args, **kwargs)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what takes long to make is kept for the next test."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def memories(run: Run, place: Path, tmp_path: Path, shelf: Path, noon: datetime) -> Path:
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
        log.append(text, noon, [])
    return place


@pytest.fixture
def judged(memories: Path, own: Run, models: Models, at_home: Path, shelf: Path) -> Models:
    """A set with grades for the present settings and for one arm."""
    folder = at_home / "data" / "bearinmind" / "own"
    if not (shelf / "own").exists():
        assert own("build").code == 0
        assert own("judge", "--set", "importance_weight=0", "--json").json["missing"] == 0
        shutil.copytree(folder, shelf / "own")
    shutil.copytree(shelf / "own", folder, dirs_exist_ok=True)
    return models
