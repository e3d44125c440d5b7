"""Which turns a model has read, so that no turn is paid for twice. Nothing of a turn is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bearinmind.cache_file import CacheFile, Layout
from bearinmind.learn.turns import Message
from bearinmind.statements import statements_of

_MOST_BYTES = 4 * 1024 * 1024  # some ten thousand turns
_LAYOUT = Layout(
    what="turns",
    statements=statements_of(
        files("bearinmind.learn").joinpath("sql", "turns.sql").read_text("utf-8")
    ),
    version=1,
    making=("drop_turns", "create_turns"),
)


class SeenTurns:
    """The file, for one model. Threads and processes may share it."""

    def __init__(self, file: Path, reader: str) -> None:
        self._reader = reader
        self._file = CacheFile(file, _LAYOUT, most_bytes=_MOST_BYTES)

    def __contains__(self, turn: Sequence[Message]) -> bool:
        key = self._key(turn)
        return key in self._file.find([key])

    def add(self, turn: Sequence[Message]) -> None:
        """Note that a turn was read."""
        self._file.keep({self._key(turn): b""})

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _key(self, turn: Sequence[Message]) -> bytes:
        said = "\0".join([self._reader, *(f"{each.role} {each.text}" for each in turn)])
        return hashlib.sha256(said.encode(errors="surrogatepass")).digest()
