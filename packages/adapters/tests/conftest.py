"""A memory to adapt: a file of this process, and the client of a server over it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind import Client, Mind


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the files of whoever runs it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home/data"))
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    """An empty memory, recalled by words and by meaning."""
    with Mind.open(tmp_path / "memories.db", worker="off") as opened:
        yield opened


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """The client of a real server."""
    command = [sys.executable, "-m", "bearinmind", "--store", str(tmp_path / "served.db")]
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", "--json"],
        env={**os.environ, "BEARINMIND_EMBEDDER": "none"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        with Client(json.loads(process.stdout.readline())["url"]) as connected:
            yield connected
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
