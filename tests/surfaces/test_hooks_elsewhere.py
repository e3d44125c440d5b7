"""Agents whose settings are not where they usually are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind.config import state_folder

Run = Callable[..., Any]
AGENTS = [
    ("claude", "CLAUDE_CONFIG_DIR", "settings.json", ".claude"),
    ("codex", "CODEX_HOME", "config.toml", ".codex"),
]


@pytest.mark.parametrize(("client", "variable", "name", "usual"), AGENTS)
def test_what_an_agent_reads_is_changed_and_restored_where_its_variable_says(
    run: Run,
    at_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    variable: str,
    name: str,
    usual: str,
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))

    ran = run("hooks", "install", "--client", client, "--yes")
    added = (tmp_path / "elsewhere" / name).read_text()
    run("hooks", "install", "--client", client, "--yes", "--uninstall")

    assert ran.code == 0, ran.err
    assert "bearinmind" in added
    assert not (tmp_path / "elsewhere" / name).exists()
    assert not (at_home / usual).exists()


def test_the_hooks_keep_their_configuration_when_another_agent_loses_the_server(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    config = state_folder() / "hooks" / "config.json"
    run("hooks", "install", "--yes")
    run("hooks", "install", "--client", "codex", "--yes")

    run("hooks", "install", "--client", "codex", "--yes", "--uninstall")
    assert config.exists()
    run("hooks", "install", "--yes", "--uninstall")
    assert not config.exists()
