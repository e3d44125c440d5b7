"""The post of a store's background worker: one process at a time holds it.

It is a lock on a file beside the store, so it is free again the moment its holder dies. What the
holder complains about is written into the same file. Standard library only: every command that
stores something looks here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_PROGRAM = "bearinmind.surfaces.background"


class WorkerLock:
    """A store's post, taken or not. `leave` it to let another process take it."""

    def __init__(self, path: Path, file: int | None = None) -> None:
        self.path = path
        self._file = file

    @classmethod
    def of(cls, store: Path) -> Self:
        """The post of the store whose things lie beside a path."""
        place = store.resolve()
        return cls(place.with_name(f"{place.name}.worker"))

    def take(self) -> bool:
        """Take it, unless another process has it.

        Raises:
            OSError: its file cannot be made, as beside a store that is read only.
        """
        if self._file is None:
            self.path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, _PRIVATE)
        if _lock(self._file):
            return True
        self._close()
        return False

    def leave(self) -> None:
        """Let another process take it."""
        if self._file is not None:
            _unlock(self._file)  # closing is not enough: standard error is the same file
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def is_taken(self) -> bool:
        """Whether another process has it."""
        if not self.path.exists():
            return False
        probe = WorkerLock(self.path)
        try:
            return not probe.take()
        except OSError:
            return False
        finally:
            probe.leave()

    def complaints(self) -> str:
        """What the present or the last holder wrote."""
        try:
            return self.path.read_text("utf-8", errors="replace").strip()
        except OSError:
            return ""

    def send(
        self, settings: Mapping[str, str | float], environment: Mapping[str, str] | None = None
    ) -> bool:
        """Start a process of its own that takes the post; False when somebody has it.

        The settings are for `interfaces.background`, as are these variables: nobody else may read
        them. The lock is handed over with the open file:
        however many commands do this at once, one process is started.

        Raises:
            OSError: no process can be started, or the post's file cannot be made.
        """
        if not self.take():
            return False
        try:
            self._start(settings, environment or {})
        finally:
            self._close()
        return True

    def _start(self, settings: Mapping[str, str | float], environment: Mapping[str, str]) -> None:
        file = self._file
        if file is None:
            raise ValueError("a post must be taken before it is handed over")
        os.ftruncate(file, 0)  # what an earlier holder wrote
        kept = {} if sys.platform == "win32" else {"lock": file}
        process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-m", _PROGRAM, json.dumps({**settings, **kept})],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            pass_fds=() if sys.platform == "win32" else (file,),
            start_new_session=True,  # it outlives this process and its terminal
        )
        process.returncode = 0  # nobody waits for it, and nobody need be warned of that


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
