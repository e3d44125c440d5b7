"""Adding Bear in Mind to agents: shown, asked, kept as it was, and taken away without a trace."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind.config import state_folder
from bearinmind.surfaces.hooks import json_edit
from support.claude_code import ClaudeCode, Hooked, hooked
from support.http_server import serving

SETTINGS = """{
\t// what I like
\t"model": "opus",
\t"permissions": {"allow": ["Bash(ls:*)"]},
\t"hooks": {
\t\t"Stop": [
\t\t\t{ "hooks": [ {"type": "command", "command": "say done"} ] }, // loud
\t\t],
\t},
}
"""
FILES = {
    "cursor": (".cursor/mcp.json", '{\n    "mcpServers": {"other": {"url": "http://x"}}\n}\n'),
    "codex": (".codex/config.toml", '# mine\nmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"\n'),
    "vscode": (".config/Code/User/mcp.json", '{\r\n  // hm\r\n  "servers": {},\r\n}\r\n'),
    "gemini": (".gemini/settings.json", '{"theme": "dark"}'),
}
Run = Callable[..., Any]


@pytest.fixture
def settings(at_home: Path) -> Path:
    file = at_home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(SETTINGS)
    return file


def _install(run: Run, *options: object) -> Any:
    return run("hooks", "install", "--url", "http://127.0.0.1:9", *options)


def _parsed(path: Path) -> Any:
    text = path.read_bytes().decode()
    return tomllib.loads(text) if path.suffix == ".toml" else json_edit.parse(text).value


# ---- Claude Code -------------------------------------------------------------------------------


def test_it_shows_what_would_change_and_asks(run: Run, settings: Path) -> None:
    ran = run("hooks", "install", stdin="n\n")

    assert ran.code == 1
    assert f"+++ {settings}" in ran.out
    assert '+\t\t"UserPromptSubmit": [' in ran.out
    assert "Change this?" in ran.out
    assert settings.read_text() == SETTINGS
    assert not (state_folder() / "hooks").exists()


def test_without_a_terminal_it_says_how_to_go_on(run: Run, settings: Path) -> None:
    ran = run("hooks", "install", stdin="")

    assert ran.code == 2
    assert "no terminal is there to ask at" in ran.err
    assert "--yes" in ran.err
    assert settings.read_text() == SETTINGS


def test_whoever_agrees_gets_hooks_beside_those_that_are_there(run: Run, settings: Path) -> None:
    ran = run("hooks", "install", stdin="y\n")

    found = _parsed(settings)
    assert ran.code == 0
    assert found["model"] == "opus"
    assert found["hooks"]["Stop"][0]["hooks"][0]["command"] == "say done"
    assert [*found["hooks"]] == [
        "Stop",
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PreCompact",
    ]
    assert all(len(found["hooks"][event]) == 1 + (event == "Stop") for event in found["hooks"])
    assert "// what I like" in settings.read_text()
    assert "// loud" in settings.read_text()
    backup = Path(ran.out.partition("As it was: ")[2].split("\n")[0])
    assert backup.read_text() == SETTINGS


def test_a_second_time_changes_nothing(run: Run, settings: Path) -> None:
    first = _install(run, "--yes", "--json").json
    installed = settings.read_bytes()
    second = _install(run, "--yes", "--json").json

    assert first["changed"]
    assert not second["changed"]
    assert settings.read_bytes() == installed


def test_taking_it_away_restores_every_byte(run: Run, settings: Path) -> None:
    settings.chmod(0o640)
    _install(run, "--yes")
    ran = _install(run, "--uninstall", "--yes")

    assert ran.code == 0
    assert settings.read_bytes() == SETTINGS.encode()
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert not (state_folder() / "hooks" / "config.json").exists()


def test_a_file_that_was_not_there_is_not_there_again(run: Run, at_home: Path) -> None:
    _install(run, "--yes")
    installed = (at_home / ".claude" / "settings.json").exists()
    _install(run, "--uninstall", "--yes")

    assert installed
    assert not (at_home / ".claude" / "settings.json").exists()


def test_what_was_changed_since_stays_when_it_is_taken_away(run: Run, settings: Path) -> None:
    _install(run, "--yes")
    settings.write_text(settings.read_text().replace('"opus"', '"sonnet"'))
    ran = _install(run, "--uninstall", "--yes")

    assert "it was changed since" in ran.out
    assert settings.read_text() == SETTINGS.replace('"opus"', '"sonnet"')


def test_installing_anew_over_changes_still_leaves_nothing_behind(run: Run, settings: Path) -> None:
    _install(run, "--yes")
    settings.write_text(settings.read_text().replace('"opus"', '"sonnet"'))
    run("hooks", "install", "--yes")
    text = settings.read_text().replace("bearinmind_hook.py Stop", "bearinmind_hook.py --old Stop")
    settings.write_text(text)
    run("hooks", "install", "--yes")
    run("hooks", "install", "--uninstall", "--yes")

    assert settings.read_text() == SETTINGS.replace('"opus"', '"sonnet"')


def test_a_hook_of_ours_among_others_goes_alone(run: Run, settings: Path) -> None:
    _install(run, "--yes")
    found = _parsed(settings)
    mine = {"type": "command", "command": "mine"}
    found["hooks"]["UserPromptSubmit"][0]["hooks"].append(mine)
    settings.write_text(json.dumps(found, indent=2))
    _install(run, "--uninstall", "--yes")

    left = json.loads(settings.read_text())["hooks"]
    assert left == {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "UserPromptSubmit": [{"hooks": [mine]}],
    }


def test_what_the_hooks_are_told_is_private_and_stays_when_it_was_tuned(
    run: Run, at_home: Path, tmp_path: Path
) -> None:
    home: Hooked = hooked(run, at_home, tmp_path / "acme")
    first = home.configuration
    home.configure(deadline_ms=150)
    run("hooks", "install", "--yes")

    assert stat.S_IMODE((home.folder / "config.json").stat().st_mode) == 0o600
    assert home.configuration == first | {"deadline_ms": 150}
    assert first["url"].startswith("http://127.0.0.1:")
    assert str(tmp_path / "memories.db") in first["serve"]


def test_a_store_with_users_gets_a_key_that_lets_the_hooks_in(
    run: Run, at_home: Path, tmp_path: Path, place: Path
) -> None:
    with serving(place) as server:
        server.key("local")
        server.bearinmind.store("The turbine in hall 4 has seven blades.")
        home = hooked(run, at_home, tmp_path / "acme", url=server.url, deadline_ms=10_000)
        ran = home.claude().prompt("How many blades has the turbine in hall 4?")

    key = Path(home.configuration["key_file"])
    assert len(ran.ids) == 1
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_text().strip() not in (home.folder / "config.json").read_text()


def test_in_a_project_nothing_is_added_that_the_repository_keeps(
    run: Run, at_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme").mkdir()
    monkeypatch.chdir(tmp_path / "acme")
    run("hooks", "install", "--scope", "project", "--yes")

    local = tmp_path / "acme" / ".claude" / "settings.local.json"
    server = json.loads((tmp_path / "acme" / ".mcp.json").read_text())["mcpServers"]["bearinmind"]
    assert ClaudeCode(local, tmp_path / "acme").prompt("yes").silent
    assert server["args"][-1] == "mcp"
    assert not (at_home / ".claude").exists()


# ---- other agents ------------------------------------------------------------------------------


@pytest.mark.parametrize("client", FILES)
def test_other_agents_get_the_server_beside_what_they_have(
    run: Run, at_home: Path, place: Path, client: str
) -> None:
    name, before = FILES[client]
    file = at_home / name
    file.parent.mkdir(parents=True)
    file.write_bytes(before.encode())
    was = _parsed(file)

    assert run("hooks", "install", "--client", client, "--yes").code == 0
    now, text = _parsed(file), file.read_bytes().decode()
    key = {"codex": "mcp_servers", "vscode": "servers"}.get(client, "mcpServers")
    server = now[key].pop("bearinmind")
    again = run("hooks", "install", "--client", client, "--yes", "--json").json
    run("hooks", "install", "--client", client, "--uninstall", "--yes")

    assert server["args"] == ["-m", "bearinmind", "--store", str(place), "mcp"]
    assert {name: value for name, value in now.items() if value} == {
        name: value for name, value in was.items() if value
    }
    assert all(comment in text for comment in ("# mine", "// hm") if comment in before)
    assert not again["changed"]
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("client", FILES)
def test_other_agents_files_that_changed_since_lose_only_what_is_ours(
    run: Run, at_home: Path, client: str
) -> None:
    name, before = FILES[client]
    file = at_home / name
    file.parent.mkdir(parents=True)
    file.write_bytes(before.encode())
    run("hooks", "install", "--client", client, "--yes")
    changed = file.read_bytes() + (b"\n# new\n" if client == "codex" else b"\r\n \r\n")
    file.write_bytes(changed)
    run("hooks", "install", "--client", client, "--uninstall", "--yes")

    left = _parsed(file)
    assert "bearinmind" not in file.read_text()
    assert {k: v for k, v in left.items() if v} == {
        k: v for k, v in _parsed_text(before, file).items() if v
    }


def _parsed_text(text: str, like: Path) -> Any:
    other = like.with_name(f"other{like.suffix}")
    other.write_bytes(text.encode())
    return _parsed(other)


def test_a_server_elsewhere_is_named_with_the_file_of_its_key(
    run: Run, at_home: Path, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("bim_secret\n")
    url = "https://memory.example.org"
    run("hooks", "install", "--client", "cursor", "--url", url, "--key-file", key, "--yes")

    text = (at_home / ".cursor" / "mcp.json").read_text()
    server = json.loads(text)["mcpServers"]["bearinmind"]
    assert server["args"][-4:] == ["--server", url, "--key-file", str(key)]
    assert "bim_secret" not in text


def test_a_key_file_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    url = "https://memory.example.org"
    ran = run("mcp", "--server", url, "--key-file", tmp_path / "missing")
    installed = run("hooks", "install", "--url", url, "--key-file", tmp_path / "missing", "--yes")

    assert (ran.code, installed.code) == (3, 2)
    assert "there is no file" in ran.err
    assert "missing" in ran.err
    assert "missing" in installed.err


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{\n "a": 1\n "b": 2\n}', "line 3: this is not JSON: expected a comma or }, found"),
        (b'{"hooks": []}', "'hooks' is not an object"),
        (b'{"hooks": {"Stop": {}}}', "'hooks.Stop' is not a list"),
        (b"[]", "'the file' is not an object"),
        (b'{"a":\n"\xff"}', "line 2: this is not UTF-8"),
        (b'{"a": 1} x', "line 1: this is not JSON: expected the end of the file, found"),
    ],
)
def test_a_file_that_cannot_be_understood_is_named_and_left_alone(
    run: Run, settings: Path, content: bytes, said: str
) -> None:
    settings.write_bytes(content)
    ran = _install(run, "--yes")

    assert ran.code == 2
    assert str(settings) in ran.err
    assert said in ran.err
    assert settings.read_bytes() == content


def test_toml_that_is_none_is_named_with_its_line(run: Run, at_home: Path) -> None:
    (at_home / ".codex").mkdir()
    (at_home / ".codex" / "config.toml").write_text('a = 1\nb = "\n')
    ran = run("hooks", "install", "--client", "codex", "--yes")

    assert ran.code == 2
    assert "line 2: this is not TOML" in ran.err


def test_a_link_that_leads_away_is_not_followed(run: Run, settings: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs.json").write_text("{}")
    settings.unlink()
    settings.symlink_to(tmp_path / "theirs.json")
    ran = _install(run, "--yes")

    assert ran.code == 2
    assert "leads to" in ran.err
    assert (tmp_path / "theirs.json").read_text() == "{}"


def test_a_link_within_the_home_stays_a_link(run: Run, settings: Path, at_home: Path) -> None:
    (at_home / "dotfiles.json").write_text("{}")
    settings.unlink()
    settings.symlink_to(at_home / "dotfiles.json")
    _install(run, "--yes")

    assert settings.is_symlink()
    assert "bearinmind_hook.py" in (at_home / "dotfiles.json").read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_named(run: Run, settings: Path) -> None:
    settings.parent.chmod(0o500)
    ran = _install(run, "--yes")

    assert ran.code == 2


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory.example.org", "is not the address of a server"),
        ("https://ada:pass@memory.example.org", "'memory.example.org' is not the address"),
        ("http://memory.example.org", "would have the key sent in clear"),
    ],
)
def test_an_address_that_will_not_do_is_refused(
    run: Run, settings: Path, tmp_path: Path, url: str, said: str
) -> None:
    (tmp_path / "key").write_text("bim_secret")
    ran = run("hooks", "install", "--url", url, "--key-file", tmp_path / "key", "--yes")

    assert ran.code == 2
    assert said in ran.err
    assert "pass@" not in ran.err
    assert settings.read_text() == SETTINGS


# ---- how they are doing ------------------------------------------------------------------------


def test_status_says_what_went_wrong(run: Run, at_home: Path, tmp_path: Path) -> None:
    before = run("hooks", "status").out
    home = hooked(run, at_home, tmp_path / "acme", "--url", "http://127.0.0.1:9", deadline_ms=5_000)
    quiet = run("hooks", "status", "--json").json
    home.claude().prompt("Where is the turbine?")
    status = run("hooks", "status")

    assert "not installed" in before
    assert quiet["answers"] is False
    assert quiet["runs"] == []
    assert "1 failed (the server: ConnectionRefusedError)" in status.out


def test_doctor_speaks_only_of_the_hooks_that_lead_to_its_store(
    run: Run, at_home: Path, tmp_path: Path
) -> None:
    def checks(*options: object) -> list[dict[str, Any]]:
        found = json.loads(run(*options, "doctor", "--json").out)["checks"]
        return [check for check in found if check["name"] == "hooks"]

    home = hooked(run, at_home, tmp_path / "acme", deadline_ms=5_000)
    home.claude().prompt("Where is the turbine?")  # no server runs
    [own] = checks()
    others = checks("--store", tmp_path / "another.db")
    hooked(run, at_home, tmp_path / "acme", "--url", "http://127.0.0.1:9")

    assert not own["good"]
    assert "ConnectionRefusedError" in own["detail"]
    assert others == []
    assert checks() == []  # a server elsewhere serves another store


def test_a_hook_can_be_tried_by_hand(
    command: list[str], run: Run, at_home: Path, tmp_path: Path
) -> None:
    hooked(run, at_home, tmp_path / "acme", "--url", "http://127.0.0.1:9")
    said = {"tool_name": "mcp__bearinmind__memory_count", "tool_input": {}}
    done = subprocess.run(
        [*command, "hooks", "run", "PreToolUse"],
        input=json.dumps(said),
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert run("hooks", "run", "Nonsense").code == 2
