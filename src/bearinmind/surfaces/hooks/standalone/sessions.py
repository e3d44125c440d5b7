"""What is kept about an agent's session: what it was given, what it stored, what it needs again."""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .settings import HookSettings

_KEPT_SECONDS = 30 * 24 * 3_600  # a session may be resumed after a while
_LONGEST_NAME = 100


class Session:
    """The files of one session. Several hooks may use them at once."""

    def __init__(self, settings: HookSettings, id: str) -> None:
        self._folder = os.path.join(settings.folder, "sessions")
        self._path = os.path.join(self._folder, _file_name(id))

    # ---- memories that it was given ------------------------------------------------------------

    def injected(self) -> list[dict[str, Any]]:
        """What it was given: ids, distinctive words of each, and how long its transcript was."""
        return [*_lines(self._path + ".given")]

    def claim(self, memories: Iterable[dict[str, Any]]) -> list[str]:
        """Note that memories are given to it; the ids of those that were not given before."""
        with self._opened(".given", os.O_RDWR | os.O_APPEND, "r+b") as file:
            _lock(file.fileno())
            content = file.read()
            before = {each["id"] for each in _parsed(content.splitlines())}
            new = [each for each in memories if each["id"] not in before]
            if content and not content.endswith(b"\n"):
                file.write(b"\n")  # a writer was interrupted
            file.write(b"".join(json.dumps(each).encode() + b"\n" for each in new))
        return [each["id"] for each in new]

    def forget(self) -> None:
        """Remove what is kept: the context of the session was emptied."""
        for ending in (".given", ".stored", ".kept"):
            _remove(self._path + ending)

    # ---- memories that it stored ---------------------------------------------------------------

    def stored(self) -> list[str]:
        """The ids of what was stored in it, oldest first."""
        return [each["id"] for each in _lines(self._path + ".stored")]

    def add_stored(self, ids: Iterable[str]) -> None:
        """Note what was stored in it."""
        text = "".join(json.dumps({"id": id_}) + "\n" for id_ in ids)
        if text:
            with self._opened(".stored", os.O_WRONLY | os.O_APPEND, "wb") as file:
                file.write(text.encode())

    # ---- what it needs again after a compaction ------------------------------------------------

    def keep(self, ids: list[str]) -> None:
        """Keep the ids of memories that it needs again."""
        self._replace(".kept", json.dumps(ids))

    def take_kept(self) -> list[str]:
        """Return these ids, and keep them no longer."""
        try:
            os.replace(self._path + ".kept", self._path + ".taken")
            with open(self._path + ".taken", encoding="utf-8") as file:
                return [each for each in json.load(file) if isinstance(each, str)]
        except (OSError, ValueError):
            return []

    # ---- how far its transcript was read -------------------------------------------------------

    def take_turn(self) -> None:
        """Wait until no other process reads its transcript, and lock it until this process ends."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        _lock(os.open(self._path + ".turn", os.O_RDWR | os.O_CREAT, 0o600))

    def offset(self) -> int:
        """How many bytes of its transcript were learned from."""
        try:
            with open(self._path + ".offset", encoding="ascii") as file:
                return int(file.read(30))
        except (OSError, ValueError):
            return 0

    def set_offset(self, offset: int) -> None:
        """Keep how many bytes of its transcript were learned from."""
        self._replace(".offset", str(offset))

    def _replace(self, ending: str, text: str) -> None:
        """Replace a file, whole or not at all."""
        new = f"{ending}.{os.getpid()}"
        with self._opened(new, os.O_WRONLY | os.O_TRUNC, "wb") as file:
            file.write(text.encode())
        os.replace(self._path + new, self._path + ending)

    def _opened(self, ending: str, how: int, mode: str) -> Any:  # noqa: ANN401  a file of bytes
        """A file of its own, which is made if it is not there, for its user alone."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        return open(os.open(self._path + ending, how | os.O_CREAT, 0o600), mode)


def clean(settings: HookSettings) -> None:
    """Remove the files of sessions that nobody will resume."""
    oldest = time.time() - _KEPT_SECONDS
    with os.scandir(os.path.join(settings.folder, "sessions")) as files:
        for each in files:
            if each.stat().st_mtime < oldest:
                _remove(each.path)


def _file_name(id: str) -> str:
    """The name of a session's files: its id, or a safe name that is made of it."""
    plain = id.replace("-", "").replace("_", "")
    if plain.isascii() and plain.isalnum() and len(id) <= _LONGEST_NAME:
        return id
    return "x" + id.encode("utf-8", "surrogatepass").hex()[: 2 * _LONGEST_NAME]


def _lines(path: str) -> Iterable[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            yield from _parsed(file)
    except OSError:
        return


def _parsed(lines: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    """Lines of JSON; a line that was not written to its end is left out."""
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            yield entry


def _lock(file: int) -> None:
    """Lock a file, and wait for other processes that have locked it."""
    try:
        import fcntl  # noqa: PLC0415  not on every system
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass
