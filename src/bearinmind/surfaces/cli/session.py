"""What a command works with: the settings, the store and the way out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

import pydantic_core
import typer

from bearinmind.app import Mind
from bearinmind.config import Configuration, Settings
from bearinmind.errors import FileMissing, MemoryNotFound
from bearinmind.store_name import StoreName
from bearinmind.surfaces.cli import lazy
from bearinmind.work.kinds import EMBED, EXTRACT

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_EMPTY_HINT = (
    "`bearinmind store TEXT` keeps the first memory; `bearinmind demo` shows how it works."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Globals:
    """The options before the command."""

    store: str | None = None
    user: str | None = None
    config: Path | None = None
    debug: bool = False


class Session:
    """One run of one command."""

    def __init__(self, options: Globals, *, as_json: bool) -> None:
        self.as_json = as_json
        self._options = options

    @classmethod
    def of(cls, ctx: typer.Context, *, as_json: bool) -> Self:
        """The session of a command."""
        return cls(ctx.ensure_object(Globals), as_json=as_json)

    # ---- the settings and the store ------------------------------------------------------------

    @cached_property
    def configuration(self) -> Configuration:
        """The settings and where each came from."""
        options = {"store": self._options.store, "user": self._options.user}
        return Configuration.load(options, file=self._options.config)

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.configuration.settings

    @property
    def place(self) -> StoreName:
        """Where the store is, or would be."""
        return self.settings.store

    @property
    def named_config(self) -> Path | None:
        """The configuration file that was named before the command, if one was."""
        return self._options.config

    @property
    def config_file(self) -> Path:
        """Where the configuration file is looked for."""
        return self.configuration.file

    def open(self) -> Mind:
        """The store; it is made if there is none."""
        return Mind.build(self.settings)

    def find(self) -> Mind | None:
        """The store, if there is one."""
        try:
            return Mind.build(self.settings, create=False, borrow=True)
        except FileMissing:
            return None

    def existing(self) -> Mind:
        """The store, for a command that names one of its memories.

        Raises:
            MemoryNotFound: there is no store.
        """
        app = self.find()
        if app is None:
            raise MemoryNotFound(f"nothing is stored yet in {str(self.place)!r}", hint=_EMPTY_HINT)
        return app

    def see_to_work(self) -> None:
        """Have what was stored embedded and read in the background; waits for nothing."""
        lazy.background.ensure(self.settings, self._options.config)

    def wait_for_work(self, app: Mind) -> None:
        """Embed and read here and now what waits for it, and say what could not be."""
        with lazy.progress.counting("background work", unit="jobs") as advance:
            status = app.work.wait(progress=advance)
        for kind, done, instead in (
            (EMBED, "embedded", "recall finds them by their words"),
            (EXTRACT, "read for the graph", "recall finds them, but not by way of others"),
        ):
            left = status.of_kind(kind)
            if left.waiting or left.dead:
                off = status.meaning_off if kind == EMBED else None
                self.note(
                    f"not everything is {done}: {left.waiting:,} wait, {left.dead:,} were given up"
                    f" ({off.reason if off else left.last_error}); {instead}"
                )

    # ---- the way out ---------------------------------------------------------------------------

    def reply(self, data: object, human: Callable[[], Iterable[RenderableType]]) -> None:
        """Print the answer, for a machine or for a person."""
        if self.as_json:
            write_json(data, sys.stdout)
        else:
            self.show(human())

    def say(self, data: object, sentence: str) -> None:
        """Print the answer, which is one sentence for a person."""
        self.reply(data, lambda: [lazy.render.data(sentence)])

    def reply_rows(
        self,
        data: object,
        rows: Sized,
        table: Callable[[], RenderableType],
        without: str,
    ) -> None:
        """Print rows; for a person as a table, or a sentence when there are none."""
        self.reply(data, lambda: [table() if rows else lazy.render.data(without)])

    def reply_empty(self, data: object) -> None:
        """Print that there is nothing yet."""
        if self.as_json:
            write_json(data, sys.stdout)
        else:
            typer.echo(f"Nothing is stored yet. {_EMPTY_HINT}")

    def show(self, renderables: Iterable[RenderableType]) -> None:
        """Print for a person, on standard output."""
        console = make_console(sys.stdout)
        if console.is_terminal:
            for renderable in renderables:
                console.print(renderable)
            return
        with console.capture() as captured:
            for renderable in renderables:
                console.print(renderable)
        # Columns are filled up with spaces, which only a terminal needs.
        lines = [line.rstrip() for line in captured.get().splitlines()]
        sys.stdout.write("".join(f"{line}\n" for line in lines))

    def note(self, text: str) -> None:
        """Say something beside the answer, on standard error."""
        typer.echo(text, err=True)


def make_console(stream: TextIO) -> Console:
    """Output that wraps to the terminal, is plain elsewhere, and takes nothing for markup."""
    from rich.console import Console  # noqa: PLC0415  only people need it

    return Console(file=stream, markup=False, highlight=False, emoji=False)


def write_json(data: object, stream: TextIO) -> None:
    """Print one JSON document on one line, in UTF-8 whatever the terminal's encoding."""
    stream.flush()
    stream.buffer.write(pydantic_core.to_json(data, inf_nan_mode="null") + b"\n")
    stream.flush()
