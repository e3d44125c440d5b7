"""Real processes: what only the system itself can show."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def _process(
    command: list[str], *args: object, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*command, *map(str, args)], capture_output=True, check=False, timeout=60, **options
    )


def test_content_is_read_from_a_real_pipe(command: list[str], place: Path) -> None:
    stored = _process(command, "--store", place, "store", "--json", input="Über".encode())
    recalled = _process(command, "--store", place, "recall", "über", "--json")

    assert stored.returncode == 0
    assert stored.stderr == b""
    assert json.loads(recalled.stdout)["hits"][0]["memory"]["content"] == "Über"


def test_the_installed_command_is_the_same_program(place: Path) -> None:
    script = Path(sys.executable).with_name("bearinmind")

    ran = _process([str(script)], "--store", place, "list")

    assert ran.returncode == 0
    assert ran.stdout.startswith(b"Nothing is stored yet.")


def test_bytes_that_are_not_text_are_refused(command: list[str], place: Path) -> None:
    piped = _process(command, "--store", place, "store", input=b"\xff\xfe\x00")
    argument = subprocess.run(
        [*map(os.fsencode, command), b"--store", os.fsencode(place), b"store", b"caf\xe9"],
        capture_output=True,
        check=False,
        timeout=60,
    )

    for ran in (piped, argument):
        assert ran.returncode == 2
        assert ran.stderr.startswith(b"error: ")
        assert b"Traceback" not in ran.stderr
    assert not place.exists()


def test_a_narrow_encoding_is_no_reason_to_fail(
    command: list[str], run: Run, remember: Run, place: Path
) -> None:
    remember("Zoë 🦊 said so.")
    narrow = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

    human = _process(command, "--store", place, "list", env=narrow)
    machine = _process(command, "--store", place, "list", "--json", env=narrow)

    assert human.returncode == 0
    assert b"Zo? ? said so." in human.stdout
    assert json.loads(machine.stdout)["memories"][0]["content"] == "Zoë 🦊 said so."


def test_a_reader_that_leaves_early_is_no_error(
    command: list[str], run: Run, place: Path, tmp_path: Path
) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text("".join(f'{{"content": "{n} {"x" * 500}"}}\n' for n in range(400)))
    run("import", many)

    with subprocess.Popen(
        [*command, "--store", str(place), "export"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()

    assert errors == b""
    assert process.returncode == 141


def test_a_closed_output_is_no_bug(command: list[str], remember: Run, place: Path) -> None:
    remember("Something.")
    words = " ".join(map(shlex.quote, [*command, "--store", str(place), "list"]))
    ran = subprocess.run(["sh", "-c", f"{words} >&-"], capture_output=True, check=False, timeout=60)

    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("args", [["stats", "--json"], ["list"], ["export"], ["--help"]])
def test_a_full_disk_under_the_output_is_no_bug(
    command: list[str], remember: Run, place: Path, args: list[str]
) -> None:
    remember("Something.")
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*command, "--store", str(place), *args],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )

    assert ran.returncode == 2
    assert b"'standard output' cannot be used: No space left on device" in ran.stderr
    assert b"the space that is left" in ran.stderr
    assert b"bug" not in ran.stderr
    assert b"Exception" not in ran.stderr


def test_settings_in_a_folder_that_may_not_be_written_are_named(command: list[str]) -> None:
    ran = _process(
        command, "config", "set", "limit", "5", env=os.environ | {"XDG_CONFIG_HOME": "/sys"}
    )

    assert ran.returncode == 2
    assert ran.stderr.startswith(b"error: '/sys/bearinmind' cannot be used: ")
    assert b"hint: Check the path, its permissions" in ran.stderr


@pytest.mark.parametrize(("answer", "left"), [(b"y\n", 0), (b"n\n", 1)])
def test_a_purge_asks_the_person_at_the_terminal(
    command: list[str], run: Run, remember: Run, place: Path, answer: bytes, left: int
) -> None:
    run("delete", remember("Something."))
    keyboard, terminal = pty.openpty()
    os.write(keyboard, answer)

    ran = _process(command, "--store", place, "purge", "--all-deleted", stdin=terminal)
    os.close(keyboard)
    os.close(terminal)

    assert b"To be removed for good: 1 memory" in ran.stdout
    assert b"Remove them for good?" in ran.stderr
    assert run("stats", "--json").json["deleted"] == left


def test_debug_shows_where_an_internal_error_happened(place: Path) -> None:
    program = (
        "from bearinmind.app import Mind\n"
        "from bearinmind.surfaces.cli import main\n"
        "Mind.stats = lambda self: 1 / 0\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program]
    _process(command, "--store", place, "store", "x")

    quiet = _process(command, "--store", place, "stats")
    loud = _process(command, "--store", place, "--debug", "stats")

    assert quiet.returncode == loud.returncode == 70
    assert b"Traceback" not in quiet.stderr
    assert b"Traceback" in loud.stderr


def test_shells_complete_categories_and_words_of_a_vocabulary(
    command: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('categories = ["facts", "recipes"]')

    def complete(line: str, **more: str) -> list[str]:
        asking = {"_TYPER_COMPLETE_ARGS": line, "_BEARINMIND_COMPLETE": "complete_zsh"}
        script = str(Path(sys.executable).with_name("bearinmind"))
        shown = _process([script], env=os.environ | asking | more).stdout.decode()
        return [word for word in ("facts", "recipes", "supersedes", "superseded") if word in shown]

    assert complete("bearinmind store x --category re", BEARINMIND_CONFIG=str(config)) == [
        "recipes"
    ]
    assert complete("bearinmind list --state s") == ["superseded"]
    assert complete("bearinmind link a s") == ["supersedes"]


def test_json_needs_no_rich(command: list[str], place: Path) -> None:
    program = (
        "import sys; from bearinmind.surfaces.cli import app\n"
        "try: app()\n"
        "finally: print('rich.console' in sys.modules, file=sys.stderr)\n"
    )

    ran = _process([sys.executable, "-c", program], "--store", place, "store", "x", "--json")

    assert ran.returncode == 0
    assert ran.stderr.strip() == b"False"
