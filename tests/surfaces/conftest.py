"""Runs the real command line on real files, away from the user's own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from bearinmind.surfaces.cli import app
from support.browser import Browser, browser

COMMAND: Any = get_command(app)  # made once: making it takes longer than running it


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str
    out_bytes: bytes

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        assert not self.out
        return json.loads(self.err)["error"]


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for every test, and no settings from outside."""
    for name in [name for name in os.environ if name.startswith("BEARINMIND_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BEARINMIND_WORKER", "off")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """No embedder, for what is the same without one: a model takes a second to load."""
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "none")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the store of a test is."""
    return tmp_path / "memories.db"


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command on the test's store, or on another one."""
    monkeypatch.setattr("typer.testing._get_command", lambda _: COMMAND)

    def invoke(*args: object, stdin: str | bytes | None = None, store: Path | None = place) -> Ran:
        before = [] if store is None else ["--store", str(store)]
        result = CliRunner().invoke(app, [*before, *map(str, args)], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        return Ran(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)

    return invoke


@pytest.fixture
def remember(run: Callable[..., Ran]) -> Callable[..., str]:
    """Stores a memory and gives its id."""

    def store(content: str, *options: object, **where: Any) -> str:
        answer = run("store", content, *options, "--json", **where).json
        assert answer["outcome"] == "stored"
        return str(answer["memory"]["id"])

    return store


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser, started once."""
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def command() -> list[str]:
    """How a real process is started."""
    return [sys.executable, "-m", "bearinmind"]
