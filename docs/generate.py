# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The generated parts of the docs, printed by the cog blocks in the Markdown files.

Examples are real: each command runs in an empty folder of its own, on a real store. Only what would
differ from run to run is held still: ids, the stopwatch, and the time of "now".
"""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from unittest import mock

import typer.main
from typer.testing import CliRunner

from bearinmind import errors
from bearinmind.config import PREFIX, PROVIDER_VARIABLES, Settings
from bearinmind.models import local
from bearinmind.models.factory import EMBEDDER_FORMS, RERANKER_FORMS
from bearinmind.recall.lexical import LexicalWeights
from bearinmind.surfaces.cli import terminal
from bearinmind.surfaces.cli.main import app
from bearinmind.surfaces.failures import InternalError, meaning_of
from bearinmind.text.embedded_text import PARTS

ROOT = Path(__file__).parents[1]
WIDTH = 100  # columns of an example
NOW = "2025-11-15 09:30 UTC"  # what "now" is in the examples
STEP = 0.000_2  # seconds from one look at the stopwatch to the next

_COMMAND: Any = typer.main.get_command(app)
_MODELS: dict[Path, Any] = {}  # in memory
_SHELL = re.compile("[|<>&;$]")  # a line that has these is for a shell
_NUMBERED = re.compile(r"^(ADR )?[\d-]+\W+", re.IGNORECASE)
_STORED = re.compile(r"^Stored (\w{12}) ", re.MULTILINE)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)( \d\d:\d\d UTC)?")


class Example:
    """A folder with a store of its own, in which commands are shown at work."""

    def __init__(self, places: Mapping[str, str] | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bearinmind-docs-")
        for name, place in (places or {}).items():  # parts of the checkout that an example needs
            (ROOT / place).mkdir(exist_ok=True)  # a cache is not there at first
            (Path(self._folder.name) / name).symlink_to(ROOT / place)
        self.ids: list[str] = []  #: of what was stored, in order

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
        in_shell = _SHELL.search(command) or not command.startswith("bearinmind ")
        before, recalls, _ = command.partition(" recall ")
        if recalls and not in_shell:  # by then the background worker has done its work
            _in_here(f"{before} work", self._folder.name)
        ended, answer = (_in_shell if in_shell else _in_here)(command, self._folder.name)
        if ended != status:
            raise RuntimeError(f"{command!r} ended with {ended}:\n{answer}")
        self.ids += _STORED.findall(answer)
        return _MOMENT.sub(_still_moment, answer)


def _in_shell(command: str, folder: str) -> tuple[int, str]:
    """The exit status and output of a line of shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603  the commands stand in our own docs
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={"PATH": path, **_environment(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def _in_here(command: str, folder: str) -> tuple[int, str]:
    """The exit status and output of a `bearinmind` command, without the wait for a new process."""
    alone = mock.patch.dict(os.environ, _environment(folder), clear=True)
    with alone, contextlib.chdir(folder), _held_still(command), _made_once():
        done = CliRunner().invoke(app, shlex.split(command)[1:])
    return done.exit_code, done.output


def _environment(folder: str) -> dict[str, str]:
    return {
        "HOME": folder,
        "XDG_CONFIG_HOME": folder,
        "XDG_DATA_HOME": folder,
        "LANG": "C.UTF-8",
        "COLUMNS": str(WIDTH),
        "NO_COLOR": "1",
        "BEARINMIND_STORE": "memories.db",
        "BEARINMIND_VAULT_KEY_FILE": "vault.keys",
        "BEARINMIND_WORKER": "off",  # an example leaves no process behind
    }


@contextlib.contextmanager
def _held_still(command: str) -> Iterator[None]:
    """Ids that follow from the command, and a stopwatch that goes evenly."""
    chance = random.Random(command)  # noqa: S311  the same ids every time
    held = threading.local()  # legs work side by side: each thread has a stopwatch of its own

    def stopwatch() -> float:
        held.ticks = getattr(held, "ticks", 0) + 1
        return float(held.ticks * STEP)

    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch("secrets.randbits", chance.getrandbits))
        for name, module in [*sys.modules.items()]:
            if name.startswith("bearinmind.") and "perf_counter" in vars(module):
                patches.enter_context(mock.patch.object(module, "perf_counter", stopwatch))
        yield


@contextlib.contextmanager
def _made_once() -> Iterator[None]:
    """One command line and one copy of each model for all commands: they take longest to make."""
    load = local._load  # noqa: SLF001  nothing else about a model is left out

    def loaded(folder: Path, card: Any) -> Any:  # noqa: ANN401  types of that module alone
        return _MODELS.get(folder) or _MODELS.setdefault(folder, load(folder, card))

    with (
        mock.patch("typer.testing._get_command", return_value=_COMMAND),
        mock.patch.object(local, "_load", loaded),
        mock.patch.object(terminal, "is_terminal", return_value=True),  # lines that fit a page
    ):
        yield


def _still_moment(match: re.Match[str]) -> str:
    """The moment itself, or a fixed one if it is about now."""
    day = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    is_now = abs(datetime.now(UTC) - day) < timedelta(days=2)
    return NOW[: len(match[0])] if is_now else match[0]


def helps() -> None:
    """Print the help of every command."""
    group = _COMMAND
    help_names = group.context_settings["help_option_names"]
    root = typer.Context(
        group, info_name="bearinmind", terminal_width=WIDTH, help_option_names=help_names
    )
    for context in _contexts(root):
        shown = context.command.get_help(context)
        print(f"## `{context.command_path}`\n\n```text\n{shown}\n```\n")


def _contexts(context: typer.Context) -> Iterator[typer.Context]:
    """A command and those under it."""
    yield context
    group: Any = context.command
    for name in group.list_commands(context) if hasattr(group, "list_commands") else ():
        yield from _contexts(typer.Context(group.get_command(context, name), context, name))


def decisions() -> None:
    """Print a row for every ADR: its number, title and status."""
    print("| number | decision | status |")
    print("|---|---|---|")
    for path in sorted(Path(__file__).parent.glob("adr/0*.md")):
        title, _, status, *_ = path.read_text("utf-8").splitlines()
        title = _NUMBERED.sub("", title.removeprefix("# "))
        status = status.removeprefix("Status: ").rstrip(".")
        print(f"| [{path.name[:4]}]({path.name}) | {title} | {status} |")


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
        return "`bearinmind/memories.db` in the user's data folder"
    if name == "vault_key_file":
        return "`bearinmind/vault.keys` in the user's data folder"
    value = info.get_default(call_default_factory=True)
    if value is None or value in ({}, ()):
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
    if choices := get_args(info.annotation) if get_origin(info.annotation) is Literal else ():
        return " or ".join((", ".join(choices[:-1]), choices[-1]))
    return {
        "store": "a path, a URL, `postgres` or `postgres:FOLDER`",
        "replica": "a URL, or none",
        "server": "a URL, or none",
        "server_key": "a text, or none",
        "sync_key": "a text, or none",
        "learn_url": "a URL, or none",
        "learn_model": "a text, or none",
        "learn_key": "a text, or none",
        "server_url": "a URL, or none",
        "server_hosts": "names",
        "reports": "a path, or none",
        "oauth_issuers": "URLs",
        "oidc_client_id": "a text, or none",
        "oidc_client_secret": "a text, or none",
        "oidc_scopes": "names",
        "oidc_users": "users by claim",
        "oidc_domains": "names, or `*`",
        "oidc_groups": "names, or `*`",
        "oidc_groups_claim": "a name",
        "oidc_create": "true or false",
        "oidc_admin_groups": "names",
        "metrics_user": "the name of a user, or none",
        "telemetry": "true or false",
        "decay_days": "days above 0 by category",
        "leg_weights": "0 or more by leg",
        "lexical": "0 or more by name of a weight",
        "graph": "0 or more by name of a weight",
        "capture_queries": "true or false",
        "embedder": ", ".join(EMBEDDER_FORMS),
        "embedded_text": f"content, with any of {', '.join(PARTS)} before it, such as tags+content",
        "embedder_url": "a URL, or none",
        "embedder_key": "a text, or none",
        "embedder_per_minute": "a number above 0, or none",
        "provider_keys": f"texts by provider ({', '.join(PROVIDER_VARIABLES)})",
        "reranker": ", ".join(RERANKER_FORMS),
        "reranker_url": "a URL, or none",
        "reranker_key": "a text, or none",
        "detect_secrets": "true or false",
        "vault_key": "a text, or none",
        "vault_key_file": "a path",
        "vault_key_command": "a command line, or none",
        "vault_url": "a URL, or none",
        "vault_token": "a text, or none",
        "llm_url": "a URL, or none",
        "llm_model": "a name, or none",
        "judge_model": "a name, or none",
        "llm_key": "a text, or none",
        "trust_factors": "numbers above 0 by trust class",
    }[name]


def weights() -> None:
    """Print the weights of the lexical leg."""
    print(f"`{LexicalWeights()}`")


def _with_kinds(error: type[errors.MindError]) -> Iterator[type[errors.MindError]]:
    """An error, and below it those that are kinds of it."""
    yield error
    for kind in error.__subclasses__():
        if kind.__name__ in errors.__all__:
            yield from _with_kinds(kind)


def error_codes() -> None:
    """Print a row for every error."""
    print("| code | exit status | meaning | hint |")
    print("|---|---:|---|---|")
    for kind in _with_kinds(errors.MindError):
        meaning = inspect.cleandoc(kind.__doc__ or "")
        hint = kind.hint or ("" if kind.__subclasses__() else "told with the error")
        print(f"| `{kind.code}` | {meaning_of(kind).exit_code} | {meaning} | {hint} |")
    print(f"| `{InternalError.code}` | 70 | {InternalError.__doc__} | {InternalError.hint} |")
