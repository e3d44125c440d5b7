# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The generated parts of the docs, printed by the cog blocks in the Markdown files.

Examples are real: each command runs in a real shell, in an empty folder, on a real store. Only what
would differ from run to run is held still: ids, the stopwatch, and the time of "now".
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recollect import errors
from recollect.config import PREFIX, Settings
from recollect.interfaces.cli.guard import InternalError, exit_code
from recollect.interfaces.cli.main import COMMANDS
from recollect.recall.lexical import LexicalWeights

WIDTH = 100  # columns of an example
NOW = "2025-11-15 09:30 UTC"  # what "now" is in the examples
STILL = Path(__file__).with_name("still.py")

_STORED = re.compile(r"^Stored (\w{12}) ", re.MULTILINE)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)( \d\d:\d\d UTC)?")


class Example:
    """A folder with a store of its own, in which commands are shown at work."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="recollect-docs-")
        self._place = Path(self._folder.name)
        self.ids: list[str] = []  #: of what was stored, in order
        command = self._place / "bin" / "recollect"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STILL}" "$@"\n', "utf-8")
        command.chmod(0o755)
        (self._place / "work").mkdir()

    def __call__(self, *lines: str, status: int = 0) -> None:
        """Print commands and what they answer; `{0}` stands for the first id that was stored."""
        print("```console")
        for line in lines:
            command = line.format(*self.ids)
            print(f"$ {command}")
            print(self.run(command, status=status), end="")
        print("```")

    def run(self, command: str, *, status: int = 0) -> str:
        """What a command answers."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],  # noqa: S603  the commands stand in our own docs
            cwd=self._place / "work",
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != status:
            raise RuntimeError(f"{command!r} ended with {done.returncode}:\n{done.stdout}")
        self.ids += _STORED.findall(done.stdout)
        return _MOMENT.sub(_still_moment, done.stdout)

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self._place),
            "PATH": f"{self._place / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "COLUMNS": str(WIDTH),
            "NO_COLOR": "1",
            "RECOLLECT_STORE": "memories.db",
        }


def _still_moment(match: re.Match[str]) -> str:
    """The moment as it was found, unless it is about now."""
    day = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    is_now = abs(datetime.now(UTC) - day) < timedelta(days=2)
    return NOW[: len(match[0])] if is_now else match[0]


def helps() -> None:
    """Print the help of every command."""
    example = Example()
    for name in ("", *COMMANDS):
        command = f"recollect {name}".strip()
        print(f"## `{command}`\n")
        print(f"```text\n{example.run(f'{command} --help')}```\n")


def settings() -> None:
    """Print a row for every setting."""
    print("| setting | default | allowed | environment variable | meaning |")
    print("|---|---|---|---|---|")
    for name, info in Settings.model_fields.items():
        cells = (
            f"`{name}`",
            _default(name, info),
            _allowed(name, info),
            f"`{PREFIX}{name.upper()}`",
            info.description,
        )
        print(f"| {' | '.join(map(str, cells))} |")


def _default(name: str, info: Any) -> str:  # noqa: ANN401  pydantic's own type says no more
    if name == "store":
        return "`recollect/memories.db` in the user's data folder"
    value = info.get_default(call_default_factory=True)
    if value is None or value == {}:
        return "none"
    return f"`{', '.join(value)}`" if isinstance(value, tuple) else f"`{value}`"


def _allowed(name: str, info: Any) -> str:  # noqa: ANN401
    limits = {key: getattr(m, key) for m in info.metadata for key in m.__slots__}
    if "ge" in limits and "le" in limits:
        return f"{limits['ge']:,} to {limits['le']:,}"
    if "ge" in limits:
        return f"{limits['ge']:,} or more, or none"
    if "max_length" in limits:
        return f"{limits['min_length']} to {limits['max_length']} characters"
    if "min_length" in limits:
        return "at least one name"
    return {"store": "a path", "decay_days": "days above 0 by category"}[name]


def weights() -> None:
    """Print the weights of the lexical leg."""
    print(f"`{LexicalWeights()}`")


def error_codes() -> None:
    """Print a row for every error."""
    print("| code | exit status | meaning | hint |")
    print("|---|---:|---|---|")
    for kind in _tree(errors.RecollectError):
        if kind is not InternalError:
            meaning = inspect.cleandoc(kind.__doc__ or "")
            hint = kind.hint or ("" if kind.__subclasses__() else "told with the error")
            print(f"| `{kind.code}` | {exit_code(kind())} | {meaning} | {hint} |")
    print(f"| `{InternalError.code}` | 70 | {InternalError.__doc__} | {InternalError.hint} |")


def _tree(kind: type[errors.RecollectError]) -> Iterator[type[errors.RecollectError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)
