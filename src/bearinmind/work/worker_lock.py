"""Locks on files beside a store, of its background worker and of what syncs it.

The system releases one when its holder dies. The worker writes its errors into the same file.
Every command that stores something imports this, so it imports little itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from bearinmind.errors import StoreReadOnly

_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_PROGRAM = "bearinmind.surfaces.background"


class WorkerLock:
    """A lock that one process at a time holds; `file` is its open file, if it is held already."""

    def __init__(self, path: Path, file: int | None = None) -> None:
        self.path = path
        self._file = file

    @classmethod
    def of(cls, store: Path, work: str = "worker") -> Self:
        """The lock of a store for the worker, or for other work that one process at a time does."""
        path = store.resolve()
        return cls(path.with_name(f"{path.name}.{work}"))

    def acquire(self) -> bool:
        """Acquire the lock unless another process holds it; raises `OSError` if it cannot write."""
        if self._file is None:
            self.path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, _PRIVATE)
        if _lock(self._file):
            return True
        self._close()
        return False

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            _unlock(self._file)  # closing is not enough: standard error is the same file
            self._close()

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold it for a while, unless another process does; whether it could be taken."""
        try:
            taken = self.acquire()
        except OSError as exc:
            raise StoreReadOnly(f"{str(self.path)!r} cannot be written: {exc.strerror}") from exc
        try:
            yield taken
        finally:
            if taken:
                self.release()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def is_held(self) -> bool:
        """Whether another process holds it."""
        if not self.path.exists():
            return False
        probe = WorkerLock(self.path)
        try:
            return not probe.acquire()
        except OSError:
            return False
        finally:
            probe.release()

    def errors(self) -> str:
        """The errors of the present or the last holder."""
        try:
            return self.path.read_text("utf-8", errors="replace").strip()
        except OSError:
            return ""

    def start_worker(
        self, settings: Mapping[str, str | float], environment: Mapping[str, str]
    ) -> bool:
        """Start a worker process that holds the lock; False when another process holds it.

        The worker inherits the lock with the open file, so of many commands at once one starts a
        process. Raises `OSError` when none can be started.
        """
        if not self.acquire() or self._file is None:
            return False
        try:
            os.ftruncate(self._file, 0)  # the errors of an earlier holder
            windows = sys.platform == "win32"
            inherited = {} if windows else {"lock": self._file}
            process = subprocess.Popen(  # noqa: S603  our own program
                [sys.executable, "-m", _PROGRAM, json.dumps({**settings, **inherited})],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._file,
                stderr=self._file,
                pass_fds=() if windows else (self._file,),
                start_new_session=True,  # it outlives this process and its terminal
            )
            process.returncode = 0  # nobody waits for it, so the warning about that is void
        finally:
            self._close()
        return True


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
